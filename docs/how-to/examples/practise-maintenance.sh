. ./practise.sh
new_world '{"name": "practise-maintenance", "preset": "demo", "clock": {"mode": "frozen"}, "rateLimits": "off"}'
cluster=$(hp GET "$vms/$(vm db-01)" | jq -r .data.cluster.extId)

# A VM with the GPU of a host: it runs only there, and cannot migrate.
gpu=$(hp GET "/api/clustermgmt/v4.2/config/clusters/$cluster/physical-gpu-profiles" |
  jq -c '.data[].physicalGpuConfig | select(.type == "PASSTHROUGH_COMPUTE") | {mode: .type, vendor: .vendorName, deviceId}')
task=$(hp POST $vms -d "{\"name\": \"render-01\", \"cluster\": {\"extId\": \"$cluster\"}, \"memorySizeBytes\": 4294967296, \"gpus\": [$gpu]}" | ended)
succeeded <<< "$task"
render=$vms/$(jq -r '.entitiesAffected[0].extId' <<< "$task")
act "$render" power-on | succeeded
host=$(hp GET "$render" | jq -r .data.host.extId)
before=$(list)
echo "$before"

# maintenance enter|exit BODY: prints its task when that has ended.
actions() { echo "/api/clustermgmt/v4.2/operations/clusters/$cluster/hosts/$1/\$actions"; }
maintenance() {
  hp POST "$(actions "$host")/$1-host-maintenance" -d "$2" | ended
}

# Without permission to stop it, that VM keeps the host in operation. The task names it; no other VM has moved.
task=$(maintenance enter '{}')
[ "$(jq -r .status <<< "$task")" = FAILED ]
jq -er '.errorMessages[0].message | select(contains("render-01"))' <<< "$task"
[ "$(list)" = "$before" ]

# With it, the others migrate first, and stay ON. The host is empty, and takes no VM.
maintenance enter '{"shouldShutdownNonMigratableUvms": true}' | succeeded
list
list | grep -q '^render-01 OFF -'
[ "$(list | grep -c "$host")" = 0 ]
[ "$(list | grep -c ' ON ')" = "$(($(grep -c ' ON ' <<< "$before") - 1))" ]
[ "$(hp GET "$hosts?\$filter=extId%20eq%20'$host'" | jq -r '.data[0].maintenanceState')" = in_maintenance ]

# Its VM cannot start elsewhere, and the cluster cannot spare a second host.
act "$render" power-on | jq -er '.errorMessages[0] | select(.code == "VMM-40001") | .message'
other=$(hp GET "$vms/$(vm db-01)" | jq -r .data.host.extId)
[ "$(status POST "$(actions "$other")/enter-host-maintenance" -d '{}')" = 409 ]

# Afterwards every VM is where it was, and runs.
maintenance exit '{}' | succeeded
[ "$(list)" = "$before" ]
