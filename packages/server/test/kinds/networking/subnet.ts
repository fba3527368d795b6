/** Requests by which suites that cover every kind reach subnets. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Creation, nativeCluster, type OrderCase, unknown } from '../kind.ts'

const vlan = { name: 'by-order', subnetType: 'VLAN', networkId: 77, virtualSwitchReference: unknown }

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createSubnet': {
    path: '/networking/v4.3/config/subnets',
    body: (name) => ({
      name,
      subnetType: 'VLAN',
      networkId: 3100 + Math.floor(Math.random() * 900),
      clusterReference: nativeCluster,
    }),
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createSubnet': { path: '/config/subnets', body: vlan, broken: { networkId: 5000 } },
  'networking.updateSubnetById': {
    path: `/config/subnets/${seedId('subnet/vlan-100-app')}`,
    body: vlan,
    broken: { networkId: 5000 },
  },
}
