/** Mirrors VMs of external managements; fields of this control plane are kept. Source: behaviour vmm.md 1.7. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { canonicalJson } from '../../../core/idempotency.ts'
import type { ExternalInventory, OutsideVm } from '../../../drivers/external-hypervisor.ts'
import type { Transaction } from '../../../store/store.ts'
import { type RecordContext, type ScheduleContext, together } from '../../context.ts'
import type { ExternVmEntity, OfVm } from './admission.ts'

const pollSeconds = 30

/** Fields that change all the time: a change of these alone does not change the entity tag. */
const observed = ['host', 'nics'] as const

export const pollInventory = {
  name: 'vmm.poll-external-inventory',
  everySeconds: pollSeconds,
  watch: ({ drivers, store }: ScheduleContext, changed: () => void) =>
    together(drivers.externalHypervisor.watch(changed), store.watch([Host, ExternVm], changed)),
  async run({ drivers, store, tenantId }: ScheduleContext): Promise<void> {
    const clusters = new Set((await store.find(Cluster)).map(({ extId }) => extId))
    const inventories = (await drivers.externalHypervisor.inventory()).filter((one) => clusters.has(one.clusterExtId))
    const stored = await store.find(ExternVm)
    const isSame = inventories.every(({ clusterExtId, isConnected, vms }) => {
      const ours = stored.filter((vm) => vm.cluster?.extId === clusterExtId)
      if (!isConnected) return ours.every(({ powerState }) => powerState === 'UNDETERMINED')
      return (
        ours.length === vms.length &&
        vms.every((vm) =>
          isMirrored(
            stored.find(({ extId }) => extId === vm.extId),
            vm,
          ),
        )
      )
    })
    // The usual case: no transaction without a change.
    if (isSame) return
    await store.transaction((transaction) => mirrorAll(transaction, inventories, tenantId))
  },
}

/** A VM that its management has moved to another cluster keeps its fields of this control plane. */
async function mirrorAll(
  store: Transaction,
  inventories: readonly ExternalInventory[],
  tenantId: string,
): Promise<void> {
  const stored = new Map((await store.find(ExternVm)).map((vm) => [vm.extId, vm]))
  const there = new Map(inventories.flatMap(({ vms }) => vms.map((vm) => [vm.extId, vm])))
  for (const { clusterExtId, isConnected } of inventories)
    for (const vm of stored.values()) {
      if (vm.cluster?.extId !== clusterExtId || there.has(vm.extId)) continue
      if (isConnected) await store.remove(ExternVm, vm.extId)
      else await mirror(store, vm, { ...vm, powerState: 'UNDETERMINED' }, tenantId)
    }
  for (const [extId, outside] of there) await mirror(store, stored.get(extId), outside, tenantId)
}

export async function mirror(
  store: Transaction,
  ours: ExternVmEntity | undefined,
  outside: OutsideVm,
  tenantId: string,
): Promise<void> {
  if (ours === undefined) {
    await store.insert(ExternVm, { ...outside, tenantId })
    return
  }
  if (isMirrored(ours, outside)) return
  const changed = mirrored.filter((name) => !isEqual(ours[name], outside[name]))
  const isObservation = changed.every((name) => (observed as readonly string[]).includes(name))
  const changes = Object.fromEntries(changed.map((name) => [name, outside[name]]))
  if (isObservation) await store.observe(ExternVm, ours.extId, changes)
  else await store.update(ExternVm, ours.extId, changes)
}

/** Ends a task with the VM as its management shows it now, and a new entity tag. A removed VM is no fault. */
export async function mirrorAndTouch(ctx: RecordContext, { vmExtId }: OfVm, outside: OutsideVm): Promise<void> {
  const ours = await ctx.store.get(ExternVm, vmExtId)
  if (ours === undefined) return
  await mirror(ctx.store, ours, outside, ctx.tenantId)
  await ctx.store.touch(ExternVm, vmExtId)
}

/** Fields of this control plane; the management reports all others. */
const heldHere: readonly string[] = ['categories', 'extId', 'links', 'nutanixGuestTools', 'ownershipInfo', 'tenantId']
const mirrored = Object.keys(ExternVm.schema.fields).filter((name) => !heldHere.includes(name)) as (keyof OutsideVm)[]

const isMirrored = (ours: ExternVmEntity | undefined, outside: OutsideVm): boolean =>
  ours !== undefined && mirrored.every((name) => isEqual(ours[name], outside[name]))

const isEqual = (a: unknown, b: unknown): boolean => canonicalJson(a ?? null) === canonicalJson(b ?? null)
