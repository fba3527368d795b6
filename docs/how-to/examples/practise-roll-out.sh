. ./practise.sh
new_world '{"name": "practise-roll-out", "preset": "demo", "clock": {"mode": "frozen"}}'

# A template of a prepared VM.
source=$(vm template-source)
task=$(hp POST $templates -d "{\"templateName\": \"web\", \"templateVersionSpec\": {\"versionSource\":
  {\"\$objectType\": \"vmm.v4.content.TemplateVmReference\", \"extId\": \"$source\"}}}" | ended)
succeeded <<< "$task"
template=$templates/$(jq -r '.entitiesAffected[0].extId' <<< "$task")
active() { hp GET "$template" | jq -r .data.templateVersionSpec.extId; }
first=$(active)

# Three VMs of it, OFF. Their disks are layers on the disks of the version.
cluster=$(hp GET "$vms/$source" | jq -r .data.cluster.extId)
act "$template" deploy "{\"clusterReference\": \"$cluster\", \"numberOfVms\": 3}" | succeeded
list | grep '^web-[0-9] OFF'

# A patch: change a temporary VM, then keep its disks as the next version.
task=$(act "$template" initiate-guest-update "{\"versionId\": \"$first\"}")
temporary=$vms/$(jq -r '.entitiesAffected[1].extId' <<< "$task")
act "$temporary" power-on | succeeded
wait_for PT10M
act "$template" complete-guest-update '{"versionName": "patched", "versionDescription": "Updates of the week"}' | succeeded
[ "$(active)" != "$first" ]

# One VM of the new version first. It is not good: the old version becomes the active one again.
act "$template" deploy "{\"clusterReference\": \"$cluster\", \"numberOfVms\": 1,
  \"overrideVmConfigMap\": {\"0\": {\"name\": \"canary\"}}}" | succeeded
act "$template" publish "{\"versionId\": \"$first\"}" | succeeded
[ "$(active)" = "$first" ]
