. ./practise.sh
new_world '{"name": "practise-host-failure", "preset": "demo", "clock": {"mode": "frozen"}}'

# Databases start before web servers, whoever loses its host.
db=$(category AppTier Database)
web=$(category AppTier Web)
hp POST /api/vmm/v4.2/ahv/policies/vm-startup-policies -d "{\"name\": \"database first\",
  \"groups\": [{\"categories\": [{\"extId\": \"$db\"}]}, {\"categories\": [{\"extId\": \"$web\"}]}]}" | ended | succeeded

list
lost=$(hp GET "$vms/$(vm db-01)" | jq -r .data.host.extId)
control POST /events -d "{\"event\": {\"type\": \"HOST_FAILS\", \"host\": \"$lost\"}, \"duration\": \"PT1H\"}" > /dev/null

wait_for PT45S
list | grep -q "db-01 UNDETERMINED $lost"
wait_for PT45S
list
[ "$(hp GET "$vms/$(vm db-01)" | jq -r .data.powerState)" = ON ]
[ "$(list | grep -c "$lost")" = 0 ]

# Each restart is a task of the system; one that found no host has a warning that says why.
hp GET "/api/platform/v4.3/config/tasks?\$filter=operation%20eq%20'VmHaRestart'" |
  jq -r '.data[] | "\(.entitiesAffected[0].name) \(.status) \([.warnings[]?.message] | join(" "))"'

# The host comes back empty; VMs stay where they are.
wait_for PT1H
[ "$(hp GET "$hosts?\$filter=extId%20eq%20'$lost'" | jq -r '.data[0].numberOfVms // 0')" = 0 ]
