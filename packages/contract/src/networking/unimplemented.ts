/** Operations that are known and not built yet. This list only shrinks. Source: catalogue networking.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {
  '/cloud/config/vpcs': { AwsVpc: 'list' },
  '/config': { migrateSubnets: 'POST /$actions/migrate-subnets' },
  '/config/capabilities': { ClusterCapability: 'list' },
  '/config/network-functions': { NetworkFunction: 'list create get update delete' },
  '/config/nic-profiles': {
    NicProfile: 'list create get update delete',
    associateHostNicToNicProfile: 'associate-host-nic',
    disassociateHostNicFromNicProfile: 'disassociate-host-nic',
  },
  '/config/node-schedulable-statuses': { listNodeSchedulableStatus: 'GET' },
  '/config/uplink-bonds': { UplinkBond: 'list get' },
  '/config/virtual-switches': { VirtualSwitch: 'create update delete', migrateBridge: 'POST /$actions/migrate' },
  '/config/vnics': { migrateVnicById: 'migrate' },
  '/config/vpc-virtual-switch-mappings': { VpcVirtualSwitchMapping: 'list create' },
}
