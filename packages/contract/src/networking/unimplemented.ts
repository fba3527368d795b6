/** Operations that are known and not built yet. This list only shrinks. Source: catalogue networking.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {
  '/config/clusters/{clusterExtId}/remote-subnets': { RemoteSubnet: 'list', RemoteSubnetForCluster: 'get' },
  '/config/clusters/{clusterExtId}/remote-vpn-connections': {
    RemoteVpnConnection: 'list',
    RemoteVpnConnectionForCluster: 'get',
  },
  '/config/clusters/{clusterExtId}/remote-vtep-gateways': {
    RemoteVtepGateway: 'list',
    RemoteVtepGatewayForCluster: 'get',
  },
  '/config/layer2-stretches': { Layer2Stretch: 'list create get update delete' },
  '/config/layer2-stretches/{layer2StretchExtId}/learned-mac-addresses': {
    LearnedMacAddress: 'list',
    LearnedMacAddressForLayer2Stretch: 'get',
  },
  '/stats/layer2-stretches': { getLayer2StretchStats: 'GET /{extId}' },
}
