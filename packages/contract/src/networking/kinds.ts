/** The kinds of the namespace by stem: one line per kind, sorted. */

export { awsSubnetOperations as 'aws-subnet' } from './aws-subnet.ts'
export { bgpRouteOperations as 'bgp-route' } from './bgp-route.ts'
export { bgpSessionOperations as 'bgp-session' } from './bgp-session.ts'
export { floatingIpOperations as 'floating-ip' } from './floating-ip.ts'
export { networkControllerOperations as 'network-controller' } from './network-controller.ts'
export { reservedIpOperations as 'reserved-ip' } from './reserved-ip.ts'
export { routeTableOperations as 'route-table' } from './route-table.ts'
export { routingPolicyOperations as 'routing-policy' } from './routing-policy.ts'
export { subnetOperations as subnet } from './subnet.ts'
export { virtualSwitchOperations as 'virtual-switch' } from './virtual-switch.ts'
export { vnicOperations as vnic } from './vnic.ts'
export { vpcOperations as vpc } from './vpc.ts'
