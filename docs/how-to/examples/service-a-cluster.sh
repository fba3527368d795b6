. ./practise.sh
new_world '{"name": "service-a-cluster", "preset": "demo", "clock": {"mode": "frozen"}, "rateLimits": "off"}'
config=/api/clustermgmt/v4.2/config
named() { hp GET "$config/$1?\$filter=$2%20eq%20'$3'&\$limit=100" | jq -ec .data; }
cluster=$(named clusters name hp-native-01 | jq -er '.[0].extId')
host() { named hosts hostName "$1" | jq -er '.[0].extId'; }
disk() { named disks serialNumber "$1" | jq -er ".[0].$2"; }
tolerance() { hp GET "$config/clusters/$cluster" | jq -r .data.config.faultToleranceState.currentMaxFaultTolerance; }
nodes() { hp GET "$config/clusters/$cluster" | jq -r .data.nodes.numberOfNodes; }
# event FIELDS: makes it happen in the world, and prints its effects.
event() { control POST /events -d "{\"event\": {$1}}" | jq -er '.data.effects[]'; }
# topology ACTION BODY: an action of the cluster; prints its task when that has ended.
topology() { hp POST "$config/clusters/$cluster/\$actions/$1" -d "$2" | ended; }

# A disk fails. The cluster tolerates no further failure until the copies of its data have been made again.
serial=$(named disks hostName hp-n01-b | jq -er 'last.serialNumber')
event "\"type\": \"DISK_FAILS\", \"disk\": \"$serial\""
wait_for PT30S
[ "$(tolerance)" = 0 ]
wait_for PT4H
[ "$(tolerance)" = 1 ]

# Its LED guides the person at the rack, who puts another one into the slot. The old disk leaves the cluster, the new one joins.
failed=$(disk "$serial" extId)
hp POST "$config/disks/$failed/\$actions/update-led-state" -d '{"isEngaged": true}' | ended | succeeded
effect=$(event "\"type\": \"DISK_REPLACED\", \"disk\": \"$serial\"")
echo "$effect"
replacement=$(grep -o 'SN[0-9A-F]*' <<< "$effect" | head -1)
hp DELETE "$config/disks/$failed" | ended | succeeded
topology add-disk "{\"serialNumber\": \"$replacement\", \"diskPartitionInfo\": {\"driveReplacementOption\": \"RMA\"}}" | succeeded
[ "$(disk "$replacement" status)" = NORMAL ]

# A host is drained for work on it: its VMs run on the others, and come back.
before=$(list)
drained=$(host hp-n01-b)
maintenance() {
  hp POST "/api/clustermgmt/v4.2/operations/clusters/$cluster/hosts/$drained/\$actions/$1-host-maintenance" -d '{}' | ended
}
maintenance enter | succeeded
[ "$(list | grep -c "$drained")" = 0 ]
[ "$(list | grep -c ' ON ')" = "$(grep -c ' ON ' <<< "$before")" ]
maintenance exit | succeeded
[ "$(list)" = "$before" ]

# The cluster grows by a node. What is found is checked first: shouldSkipAddNode stops before anything changes.
task=$(topology discover-unconfigured-nodes '{}')
found=$(hp GET "$config/task-response/$(jq -r '.extId | split(":") | last' <<< "$task")?taskResponseType=UNCONFIGURED_NODES")
node=$(jq -er '[.data.response | .. | .nodeList? // empty | .[]][0].nodeUuid' <<< "$found")
expansion() { echo "{\"nodeParams\": {\"nodeList\": [{\"nodeUuid\": \"$node\", \"hypervisorHostname\": \"hp-n01-e\"}]}, \"shouldSkipAddNode\": $1}"; }
topology expand-cluster "$(expansion true)" | succeeded
[ "$(nodes)" = 4 ]
topology expand-cluster "$(expansion false)" | succeeded
[ "$(nodes)" = 5 ]
named disks hostName hp-n01-e | jq -r '.[] | "\(.serialNumber) \(.storageTier) \(.status)"'

# It shrinks again: the data of the node moves to the others, and the node waits for its next cluster.
topology remove-node "{\"nodeUuids\": [\"$(host hp-n01-e)\"]}" | succeeded
[ "$(nodes)" = 4 ]
[ "$(tolerance)" = 1 ]
