# Calls a running Hyperplane with curl and jq. Other scripts source it: . hyperplane.sh
set -euo pipefail
url=${API_URL:-http://127.0.0.1:9440}
world=default

# hp METHOD PATH [CURL OPTIONS]: prints the body of the answer; a refusal ends the script.
hp() {
  local id
  id=$(uuidgen 2> /dev/null || cat /proc/sys/kernel/random/uuid)
  curl --silent --show-error --fail-with-body --request "$1" "$url$2" --user "admin:$HYPERPLANE_ADMIN_PASSWORD" \
    -H "X-World: $world" -H "SVC-Request-Id: $id" -H 'Content-Type: application/json' "${@:3}"
}

# status METHOD PATH …, header NAME METHOD PATH …: prints the status or one header, also of a refusal.
status() { hp "$@" --output /dev/null --write-out '%{http_code}' 2> /dev/null || true; }
header() { hp "${@:2}" --output /dev/null --write-out "%header{$1}" 2> /dev/null || true; }

# Creates a world that is deleted when the script ends. control METHOD PATH …: calls its control interface.
new_world() {
  hp POST /control/v1/worlds -d "$1" > /dev/null
  world=$(jq -r .name <<< "$1")
  trap 'hp DELETE "/control/v1/worlds/$world"' EXIT
}
control() { hp "$1" "/control/v1/worlds/$world$2" "${@:3}"; }

# ended: reads a 202 answer from the input, waits until its task has ended, and prints the task. A refusal ends the script.
# completed: prints only the state of the task.
ended() {
  local answer id task
  answer=$(cat)
  id=$(jq -er .data.extId <<< "$answer") || { echo "$answer" >&2 && return 1; }
  until task=$(hp GET "/api/platform/v4.3/config/tasks/$id") &&
    jq -e '.data.status | IN("SUCCEEDED", "FAILED", "CANCELED")' <<< "$task" > /dev/null; do
    sleep 0.02
  done
  jq -c .data <<< "$task"
}
completed() { ended | jq -r .status; }
