# What the exercises share. Other scripts source it: . practise.sh
. ./hyperplane.sh
vms=/api/vmm/v4.2/ahv/config/vms
templates=/api/vmm/v4.2/content/templates
points=/api/vmm/v4.2/ahv/config/vm-recovery-points
hosts=/api/clustermgmt/v4.2/config/hosts

# list: every VM with its state and host.
list() {
  hp GET "$vms?\$limit=100&\$orderby=name" | jq -r '.data[] | "\(.name) \(.powerState) \(.host.extId // "-")"'
}
# vm NAME, category KEY VALUE: prints the id.
vm() { hp GET "$vms?\$filter=name%20eq%20'$1'" | jq -er '.data[0].extId'; }
category() {
  hp GET "/api/platform/v4.3/config/categories?\$filter=key%20eq%20'$1'%20and%20value%20eq%20'$2'" | jq -er '.data[0].extId'
}
# act PATH ACTION [BODY]: sends an action with the current entity tag, and prints its task when that has ended.
act() {
  local tag
  tag=$(header etag GET "$1")
  hp POST "$1/\$actions/$2" -H "If-Match: $tag" ${3:+-d "$3"} | ended
}
# succeeded: reads a task, prints its operation and what it affected; a task that failed ends the script.
succeeded() {
  jq -er 'if .status == "SUCCEEDED" then "\(.operation) \([.entitiesAffected[].name // empty] | join(", "))" else error("\(.errorMessages)") end'
}
wait_for() { control POST '/clock/$actions/advance' -d "{\"duration\": \"$1\"}" > /dev/null; }
