/** Requests by which suites that cover every kind reach VMs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Creation, GiB, nativeCluster, type OrderCase, unknown } from '../kind.ts'

const vm = { name: 'by-order', memorySizeBytes: 1024 ** 3, categories: [{ extId: unknown }] }

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createVm': {
    path: '/vmm/v4.2/ahv/config/vms',
    body: (name) => ({ name, memorySizeBytes: GiB, cluster: { extId: nativeCluster } }),
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createVm': { path: '/ahv/config/vms', body: vm, broken: { memorySizeBytes: 1 } },
  'vmm.updateVmById': {
    path: `/ahv/config/vms/${seedId('vm/web-01')}`,
    body: vm,
    broken: { hardwareClockTimezone: 'Nowhere/Never' },
  },
}
