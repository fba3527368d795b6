. ./practise.sh
new_world '{"name": "practise-restore", "preset": "demo", "clock": {"mode": "frozen"}}'
db=$vms/$(vm db-01)

# The recovery points of the VM, and a new one.
hp GET "$points?\$filter=vmExtId%20eq%20'${db##*/}'" | jq -r '.data[].name'
task=$(hp POST $points -d "{\"vmExtId\": \"${db##*/}\", \"name\": \"before the migration\"}" | ended)
succeeded <<< "$task"
point=$(jq -r '.entitiesAffected[0].extId' <<< "$task")

# A change goes wrong. A revert brings disks and configuration back; the VM is OFF then, and keeps its id and addresses.
address=$(hp GET "$db" | jq -r '.data.nics[0].networkInfo.ipv4Config.ipAddress.value')
disk=$db/disks/$(hp GET "$db" | jq -r '.data.disks[1].extId')
hp DELETE "$disk" -H "If-Match: $(header etag GET "$db")" | ended | succeeded
act "$db" revert "{\"vmRecoveryPointExtId\": \"$point\"}" | succeeded
[ "$(hp GET "$db" | jq -r '[.data.powerState, (.data.disks | length), .data.nics[0].networkInfo.ipv4Config.ipAddress.value] | join(" ")')" = "OFF 2 $address" ]
act "$db" power-on | succeeded

# Somebody deletes the VM. The recovery point stays, and becomes a new VM beside it.
hp DELETE "$db" -H "If-Match: $(header etag GET "$db")" | ended | succeeded
[ "$(status GET "$db")" = 404 ]
task=$(hp POST "$points/$point/\$actions/restore" -d '{"vmConfigOverrideSpec": {"name": "db-01-restored"}}' | ended)
succeeded <<< "$task"
restored=$vms/$(jq -r '.entitiesAffected[1].extId' <<< "$task")
act "$restored" power-on | succeeded
wait_for PT5M
hp GET "$restored" | jq -e '.data | .powerState == "ON" and .name == "db-01-restored"' > /dev/null
