. ./hyperplane.sh
vms=/api/vmm/v4.2/ahv/config/vms

# Code under test: a creation that is tried up to three times.
create_patiently() {
  local attempt
  for attempt in 1 2 3; do
    [ "$(hp POST $vms -d "$1" | completed)" = SUCCEEDED ] && break
  done
  echo "$attempt"
}

new_world '{"name": "flaky-task", "preset": "tiny", "rateLimits": "off"}'
cluster=$(hp GET /api/clustermgmt/v4.2/config/clusters | jq -r '.data[] | select(.name == "tiny").extId')

control POST /faults -d '{
  "match": {"namePattern": "web-*", "taskStep": {"task": "vmm.create-vm", "step": "define"}},
  "trigger": {"next": 1},
  "effect": {"error": "BACKEND_TIMEOUT", "arguments": {"fault": "The hypervisor did not answer."}}
}' > /dev/null

body="{\"name\": \"web-1\", \"memorySizeBytes\": 1073741824, \"cluster\": {\"extId\": \"$cluster\"}}"
[ "$(create_patiently "$body")" = 2 ]
[ "$(hp GET $vms | jq '[.data[] | select(.name == "web-1")] | length')" = 1 ]
