/** What the operations of networking do: one line a kind, sorted. */
import { awsSubnet } from './aws-subnet.ts'
import { bgpRoute } from './bgp-route.ts'
import { bgpSession } from './bgp-session.ts'
import { reservedIp } from './reserved-ip.ts'
import { subnet } from './subnet.ts'
import { virtualSwitch } from './virtual-switch.ts'
import { vnic } from './vnic.ts'

export const networking = {
  'aws-subnet': awsSubnet,
  'bgp-route': bgpRoute,
  'bgp-session': bgpSession,
  'reserved-ip': reservedIp,
  subnet,
  'virtual-switch': virtualSwitch,
  vnic,
}
