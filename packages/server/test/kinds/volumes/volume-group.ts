/** Requests by which suites that cover every kind reach volume groups. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Creation, nativeCluster, type OrderCase, unknown } from '../kind.ts'

const group = `/config/volume-groups/${seedId('volume-group/vg-unused')}`

export const creations: Readonly<Record<string, Creation>> = {
  'volumes.createVolumeGroup': {
    path: '/volumes/v4.2/config/volume-groups',
    body: (name) => ({ name, clusterReference: nativeCluster }),
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'volumes.associateCategory': {
    path: `${group}/$actions/associate-category`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{ extId: unknown, entityType: 'VM' }] },
  },
  'volumes.createVolumeGroup': {
    path: '/config/volume-groups',
    body: { name: 'by-order', clusterReference: unknown },
    broken: { targetPrefix: 'prefix-of-it', targetName: 'name-of-the-target' },
  },
  'volumes.disassociateCategory': {
    path: `${group}/$actions/disassociate-category`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{ extId: unknown, entityType: 'VM' }] },
  },
}
