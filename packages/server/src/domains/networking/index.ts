import { awsSubnet } from './aws-subnet.ts'
import { bgpRoute } from './bgp-route.ts'
import { bgpSession } from './bgp-session.ts'
import { floatingIp } from './floating-ip.ts'
import { networkController } from './network-controller.ts'
import { reservedIp } from './reserved-ip.ts'
import { route } from './route.ts'
import { routeTable } from './route-table.ts'
import { routingPolicy } from './routing-policy.ts'
import { subnet } from './subnet.ts'
import { virtualSwitch } from './virtual-switch.ts'
import { vnic } from './vnic.ts'
import { vpc } from './vpc.ts'

export const networking = {
  'aws-subnet': awsSubnet,
  'bgp-route': bgpRoute,
  'bgp-session': bgpSession,
  'floating-ip': floatingIp,
  'network-controller': networkController,
  'reserved-ip': reservedIp,
  route,
  'route-table': routeTable,
  'routing-policy': routingPolicy,
  subnet,
  'virtual-switch': virtualSwitch,
  vnic,
  vpc,
}
