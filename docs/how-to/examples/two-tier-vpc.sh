. ./practise.sh
new_world '{"name": "two-tier-vpc", "preset": "demo", "clock": {"mode": "frozen"}, "rateLimits": "off"}'
net=/api/networking/v4.3/config
named() { hp GET "$1?\$filter=name%20eq%20'$2'" | jq -er '.data[0].extId'; }
# made PATH BODY: prints the id of what was made.
made() { hp POST "$1" -d "$2" | ended | jq -er 'if .status == "SUCCEEDED" then .entitiesAffected[0].extId else error("\(.errorMessages)") end'; }
# trace OUTCOME SOURCE DESTINATION PORT: prints what becomes of a packet, which must be the outcome. hops: prints its way.
trace() {
  found=$(control POST '/network/$actions/trace' -d "{\"source\": $2, \"destination\": $3, \"destinationPort\": $4}" | jq -c .data)
  jq -r '"\(.outcome): \(.reason)"' <<< "$found"
  [ "$(jq -r .outcome <<< "$found")" = "$1" ]
}
hops() { jq -r '.hops[] | "\(.type) \(.entity.name // "")"' <<< "$found"; }
vm_end() { echo "{\"vm\": \"$1\"}"; }
internet='{"address": "198.51.100.7"}'

# A VPC with source NAT through an external subnet, and a default route to it.
nat=$(named $net/subnets ext-nat)
vpc=$(made $net/vpcs "{\"name\": \"shop\", \"externalSubnets\": [{\"subnetReference\": \"$nat\"}]}")
table=$(hp GET "$net/route-tables?\$filter=vpcReference%20eq%20'$vpc'" | jq -er '.data[0].extId')
made "$net/route-tables/$table/routes" "{\"name\": \"default\", \"routeType\": \"STATIC\",
  \"destination\": {\"ipv4\": {\"ip\": {\"value\": \"0.0.0.0\"}, \"prefixLength\": 0}},
  \"nexthop\": {\"nexthopType\": \"EXTERNAL_SUBNET\", \"nexthopReference\": \"$nat\"}}" > /dev/null

# Two tiers.
tier() {
  made $net/subnets "{\"name\": \"$1\", \"subnetType\": \"OVERLAY\", \"vpcReference\": \"$vpc\", \"ipConfig\": [{\"ipv4\": {
    \"ipSubnet\": {\"ip\": {\"value\": \"$2.0\"}, \"prefixLength\": 24}, \"defaultGatewayIp\": {\"value\": \"$2.1\"},
    \"poolList\": [{\"startIp\": {\"value\": \"$2.10\"}, \"endIp\": {\"value\": \"$2.99\"}}]}}]}"
}
front=$(tier front 10.1.1)
back=$(tier back 10.1.2)
cluster=$(hp GET "$vms/$(vm web-01)" | jq -er .data.cluster.extId)
image=$(named /api/vmm/v4.2/content/images ubuntu-24.04.qcow2)
server() {
  local extId
  extId=$(made $vms "{\"name\": \"$1\", \"cluster\": {\"extId\": \"$cluster\"}, \"memorySizeBytes\": 1073741824,
    \"disks\": [{\"backingInfo\": {\"\$objectType\": \"vmm.v4.ahv.config.VmDisk\", \"dataSource\": {\"reference\": {
      \"\$objectType\": \"vmm.v4.ahv.config.ImageReference\", \"imageExtId\": \"$image\"}}}}],
    \"nics\": [{\"networkInfo\": {\"nicType\": \"NORMAL_NIC\", \"subnet\": {\"extId\": \"$2\"}}}]}")
  act "$vms/$extId" power-on | succeeded
}
server front-1 "$front"
server front-2 "$front"
server back-1 "$back"
wait_for PT2M

# Both tiers reach the internet, by an address of the VPC. Nobody there reaches them.
trace DELIVERED "$(vm_end front-1)" "$internet" 443
hops | grep '^NAT ext-nat'
trace NOT_ROUTABLE "$internet" "$(vm_end front-1)" 443

# Only the database port is open between the tiers, and the back tier stays inside.
policy() {
  made $net/routing-policies "{\"name\": \"$1\", \"priority\": $2, \"vpcExtId\": \"$vpc\", \"policies\": [{\"isBidirectional\": true,
    \"policyMatch\": $3, \"policyAction\": {\"actionType\": \"$4\"}}]}" > /dev/null
}
prefix() { echo "{\"addressType\": \"SUBNET\", \"subnetPrefix\": {\"ipv4\": {\"ip\": {\"value\": \"$1.0\"}, \"prefixLength\": 24}}}"; }
tiers="\"source\": $(prefix 10.1.1), \"destination\": $(prefix 10.1.2)"
database='{"$objectType": "networking.v4.config.LayerFourProtocolObject", "destinationPortRanges": [{"startPort": 5432, "endPort": 5432}]}'
policy database 300 "{$tiers, \"protocolType\": \"TCP\", \"protocolParameters\": $database}" PERMIT
policy tiers-apart 200 "{$tiers, \"protocolType\": \"ANY\"}" DENY
policy back-stays-inside 100 "{\"source\": $(prefix 10.1.2), \"destination\": {\"addressType\": \"EXTERNAL\"}, \"protocolType\": \"ANY\"}" DENY
trace DELIVERED "$(vm_end front-1)" "$(vm_end back-1)" 5432
trace DROPPED "$(vm_end front-1)" "$(vm_end back-1)" 22
hops | grep '^POLICY tiers-apart'
trace DROPPED "$(vm_end back-1)" "$internet" 443

# A load balancer over the front tier, which the internet reaches by a floating IP.
nic() { hp GET "$vms/$(vm "$1")" | jq -er '{virtualNicReference: .data.nics[0].extId}'; }
balancer=$(made $net/load-balancer-sessions "{\"name\": \"shop\", \"description\": \"\", \"vpcReference\": \"$vpc\",
  \"listener\": {\"protocol\": \"TCP\", \"portRanges\": [{\"startPort\": 443, \"endPort\": 443}],
    \"virtualIP\": {\"assignmentType\": \"DYNAMIC\", \"subnetReference\": \"$front\"}},
  \"healthCheckConfig\": {}, \"targetsConfig\": {\"nicTargets\": [$(nic front-1), $(nic front-2)]}}")
floating=$(made $net/floating-ips "{\"name\": \"shop\", \"externalSubnetReference\": \"$nat\",
  \"association\": {\"\$objectType\": \"networking.v4.config.LoadBalancerSessionAssociation\",
    \"loadBalancerSessionReference\": \"$balancer\"}}")
public="{\"address\": \"$(hp GET "$net/floating-ips/$floating" | jq -er .data.floatingIpValue)\"}"
wait_for PT1M
trace DELIVERED "$internet" "$public" 443
hops

# A server that stops answering gets no more connections.
control POST /events -d '{"event": {"type": "GUEST_HANGS", "vm": "front-1"}}' > /dev/null
wait_for PT1M
hp GET "$net/load-balancer-sessions/$balancer" | jq -r '.data.targetsConfig.nicTargets[] | "\(.health) \(.vmReference)"'
for port in 40001 40002 40003 40004; do
  control POST '/network/$actions/trace' -d "{\"source\": $internet, \"destination\": $public, \"destinationPort\": 443, \"sourcePort\": $port}" |
    jq -er '.data | select(.outcome == "DELIVERED") | .hops[-1].entity.name' | grep '^front-2$'
done
