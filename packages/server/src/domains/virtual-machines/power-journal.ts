/** A row describes the VM from `time` until the next row. Source: behaviour vmm.md 3.8 (journals). */

import { type EntityOf, enumeration, integer, optional, resource, timestamp, uuid } from '@hyperplane/contract'
import type { Ids } from '../../core/caller.ts'
import { pathOf } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { type VmEntity, vcpusOf } from './entity.ts'

export const PowerEvent = resource('internal.v1.vmm.PowerEvent', {
  fields: {
    vmExtId: uuid(),
    time: timestamp(),
    /** RESET: the guest rebooted. MOVED, RESIZED, RESUMED: it kept running. PAUSED: paused, or on a silent host. */
    change: enumeration(['MOVED', 'OFF', 'ON', 'PAUSED', 'RESET', 'RESIZED', 'RESUMED']),
    powerState: enumeration(['OFF', 'ON', 'PAUSED', 'UNDETERMINED']),
    clusterExtId: optional(uuid()),
    hostExtId: optional(uuid()),
    memorySizeBytes: integer(),
    vcpus: integer(),
  },
  indexed: ['clusterExtId', 'hostExtId', 'vmExtId'],
  ofCluster: { by: 'vmExtId', partOf: 'Vm' },
})

export type PowerChange = EntityOf<typeof PowerEvent>['change']

/** In the transaction that changes the VM, with the changed row. */
export async function notePower(
  store: Transaction,
  ids: Pick<Ids, 'uuid'>,
  vm: VmEntity,
  change: PowerChange,
  time: string,
): Promise<void> {
  await store.insert(PowerEvent, {
    extId: ids.uuid(),
    vmExtId: vm.extId,
    time,
    change,
    powerState: vm.powerState ?? 'OFF',
    ...(vm.cluster?.extId === undefined ? {} : { clusterExtId: vm.cluster.extId }),
    ...(vm.host?.extId === undefined ? {} : { hostExtId: vm.host.extId }),
    memorySizeBytes: vm.memorySizeBytes ?? 0,
    vcpus: vcpusOf(vm),
  })
}

export const powerHistory = (store: Reader, vmExtId: string): Promise<EntityOf<typeof PowerEvent>[]> =>
  store.findWhere(PowerEvent, { vmExtId })

export async function forgetPower(store: Transaction, vmExtId: string): Promise<void> {
  await store.removeWhere(PowerEvent, equals(pathOf(PowerEvent, 'vmExtId'), vmExtId))
}
