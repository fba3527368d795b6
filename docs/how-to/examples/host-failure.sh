. ./hyperplane.sh
vms=/api/vmm/v4.2/ahv/config/vms

new_world '{"name": "host-failure", "preset": "tiny", "clock": {"mode": "frozen"}}'
host=$(hp GET /api/clustermgmt/v4.2/config/hosts | jq -r '.data[0].hostName')
vm=$vms/$(hp GET $vms | jq -r '.data[] | select(.name == "vm-1").extId')
power_state() { hp GET "$vm" | jq -r .data.powerState; }
[ "$(power_state)" = ON ]

control POST /events > /dev/null \
  -d "{\"event\": {\"type\": \"HOST_FAILS\", \"host\": \"$host\"}, \"duration\": \"PT50S\"}"
control POST '/clock/$actions/advance' -d '{"duration": "PT45S"}' > /dev/null
[ "$(power_state)" = UNDETERMINED ]
tag=$(header etag GET "$vm")
[ "$(status POST "$vm/\$actions/power-off" -H "If-Match: $tag")" = 409 ]

control POST '/clock/$actions/advance' -d '{"duration": "PT45S"}' > /dev/null
[ "$(power_state)" = ON ]
