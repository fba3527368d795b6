. ./hyperplane.sh
users=/api/iam/v4.1.b2/authn/users

new_world '{
  "name": "ninety-days", "preset": "tiny",
  "clock": {"mode": "frozen", "startTime": "2026-01-01T00:00:00Z"}
}'

robot=$(hp POST $users -d '{"username": "robot", "userType": "SERVICE_ACCOUNT"}' | jq -r .data.extId)
keys=$users/$robot/keys
key=$(hp POST "$keys" -d '{"name": "nightly", "keyType": "API_KEY", "expiryTime": "2026-03-02T00:00:00Z"}')
as_robot=(-H 'Authorization:' -H "X-SVC-Api-Key: $(jq -r .data.keyDetails.apiKey <<< "$key")")
[ "$(status GET "$keys" "${as_robot[@]}")" = 200 ]

moved=$(control POST '/clock/$actions/advance' -d '{"duration": "P90D"}' | jq -r .data.clock.time)
[ "$moved" = 2026-04-01T00:00:00.000000Z ]

[ "$(status GET "$keys" "${as_robot[@]}")" = 401 ]
[ "$(hp GET "$keys/$(jq -r .data.extId <<< "$key")" | jq -r .data.status)" = EXPIRED ]
