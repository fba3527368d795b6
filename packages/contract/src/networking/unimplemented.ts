/** Operations that are known and not built yet. This list only shrinks. Source: catalogue networking.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {
  '/cloud/config/vpcs': { AwsVpc: 'list' },
  '/config': { migrateSubnets: 'POST /$actions/migrate-subnets' },
  '/config/capabilities': { ClusterCapability: 'list' },
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
  '/config/network-functions': { NetworkFunction: 'list create get update delete' },
  '/config/nic-profiles': {
    NicProfile: 'list create get update delete',
    associateHostNicToNicProfile: 'associate-host-nic',
    disassociateHostNicFromNicProfile: 'disassociate-host-nic',
  },
  '/config/vnics': { migrateVnicById: 'migrate' },
  '/config/vpc-virtual-switch-mappings': { VpcVirtualSwitchMapping: 'list create' },
  '/stats/layer2-stretches': { getLayer2StretchStats: 'GET /{extId}' },
}
