. ./hyperplane.sh
vms=/api/vmm/v4.2/ahv/config/vms

# The rate windows follow a frozen clock, so the second does not end on a slow machine either.
new_world '{
  "name": "rate-limit", "preset": "tiny",
  "rateLimits": "on", "limits": "world-clock", "clock": {"mode": "frozen"}
}'

answered=0
while [ "$(status GET $vms)" = 200 ]; do answered=$((answered + 1)); done
[ "$answered" = 10 ]
[ "$(status GET $vms)" = 429 ]
seconds=$(header retry-after GET $vms)

control POST '/clock/$actions/advance' -d "{\"duration\": \"PT${seconds}S\"}" > /dev/null
[ "$(status GET $vms)" = 200 ]
