. ./hyperplane.sh
categories=/api/platform/v4.3/config/categories

# Code under test: a change that is repeated on the new version after somebody else has written.
describe() {
  local path=$1 description=$2 tag body attempts=0 answer=412
  while [ "$answer" = 412 ]; do
    tag=$(header etag GET "$path")
    body=$(hp GET "$path" | jq --arg description "$description" '.data + {$description}')
    answer=$(status PUT "$path" -H "If-Match: $tag" -d "$body")
    attempts=$((attempts + 1))
  done
  echo "$attempts"
}

new_world '{"name": "stale-tag", "preset": "tiny"}'
path=$categories/$(hp POST $categories -d '{"key": "team", "value": "blue"}' | jq -r .data.extId)

# Twice, another client writes between the GET and the PUT.
rule=$(control POST /faults -d '{
  "match": {"operation": "updateCategoryById"},
  "trigger": {"next": 2},
  "effect": {"competingWrite": true}
}' | jq -r .data.extId)

[ "$(describe "$path" 'Whoever is on call')" = 3 ]
[ "$(hp GET "$path" | jq -r .data.description)" = 'Whoever is on call' ]
[ "$(control GET "/faults/$rule" | jq .data.timesFired)" = 2 ]
