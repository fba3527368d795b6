. ./hyperplane.sh
vms=/api/vmm/v4.2/ahv/config/vms
tasks=/api/platform/v4.3/config/tasks

new_world '{"name": "host-failure", "preset": "demo", "clock": {"mode": "frozen"}}'
id=$(hp GET "$vms?\$limit=100" | jq -r '.data[] | select(.name == "web-01").extId')
vm=$vms/$id
power_state() { hp GET "$vm" | jq -r .data.powerState; }
host() { hp GET "$vm" | jq -r .data.host.extId; }
lost=$(host)

control POST /events > /dev/null \
  -d "{\"event\": {\"type\": \"HOST_FAILS\", \"host\": \"$lost\"}, \"duration\": \"PT10M\"}"
control POST '/clock/$actions/advance' -d '{"duration": "PT45S"}' > /dev/null
[ "$(power_state)" = UNDETERMINED ]
tag=$(header etag GET "$vm")
[ "$(status POST "$vm/\$actions/power-off" -H "If-Match: $tag")" = 409 ]

control POST '/clock/$actions/advance' -d '{"duration": "PT45S"}' > /dev/null
[ "$(power_state)" = ON ]
other=$(host)
[ "$other" != "$lost" ]
hp GET "$tasks?\$filter=operation%20eq%20'VmHaRestart'" | jq -e --arg id "$id" \
  'any(.data[]; .entitiesAffected[0].extId == $id)' > /dev/null

control POST '/clock/$actions/advance' -d '{"duration": "PT10M"}' > /dev/null
[ "$(host)" = "$other" ]
