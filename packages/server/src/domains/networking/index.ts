/** Handlers of the namespace networking: one line per kind, sorted. */

export { awsSubnet } from './aws-subnet.ts'
export { bgpRoute } from './bgp-route.ts'
export { bgpSession } from './bgp-session.ts'
export { floatingIp } from './floating-ip.ts'
export { networkController } from './network-controller.ts'
export { reservedIp } from './reserved-ip.ts'
export { routeTable } from './route-table.ts'
export { routingPolicy } from './routing-policy.ts'
export { subnet } from './subnet.ts'
export { virtualSwitch } from './virtual-switch.ts'
export { vnic } from './vnic.ts'
export { vpc } from './vpc.ts'
