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
  '/config/ipfix-exporters': { IpfixExporter: 'list create get update delete' },
  '/config/layer2-stretches': { Layer2Stretch: 'list create get update delete' },
  '/config/layer2-stretches/{layer2StretchExtId}/learned-mac-addresses': {
    LearnedMacAddress: 'list',
    LearnedMacAddressForLayer2Stretch: 'get',
  },
  '/config/node-schedulable-statuses': { listNodeSchedulableStatus: 'GET' },
  '/config/traffic-mirrors': { TrafficMirror: 'list create get update delete' },
  '/config/uplink-bonds': { UplinkBond: 'list get' },
  '/config/virtual-switches': { VirtualSwitch: 'create update delete', migrateBridge: 'POST /$actions/migrate' },
  '/config/vpn-connections': { VpnConnection: 'list create get update delete' },
  '/config/vpn-connections/{vpnConnectionExtId}/vpn-vendor-configs': {
    VpnAppliance: 'list',
    VpnApplianceForVpnConnection: 'get',
  },
  '/stats/layer2-stretches': { getLayer2StretchStats: 'GET /{extId}' },
  '/stats/traffic-mirrors': { getTrafficMirrorStats: 'GET /{extId}' },
  '/stats/vpc/{vpcExtId}/external-subnets': { getVpcNsStats: 'GET /{extId}' },
  '/stats/vpn-connections': { getVpnConnectionStats: 'GET /{extId}' },
}
