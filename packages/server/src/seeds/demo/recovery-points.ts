/** Recovery points of the demo: three days of the database, and one that expires soon. Source: behaviour vmm.md 4. */
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../core/ids/named-id.ts'
import { captureOf, snapshotsOf } from '../../domains/vmm/vm/recovery-points/captured.ts'
import type { DiskSnapshot } from '../../drivers/hypervisor.ts'
import { diskFacts } from '../../drivers/simulated/hypervisor/facts.ts'
import { frozen, over } from '../../drivers/simulated/hypervisor/layers.ts'
import type { SeedContext } from '../context.ts'

const hour = 3600

interface Described {
  readonly vm: string
  readonly hoursAgo: number
  readonly expiresInHours?: number
}

/** The older ones of a VM first: each lies below the next. */
const inventory: readonly Described[] = [
  { vm: 'db-01', hoursAgo: 60 },
  { vm: 'db-01', hoursAgo: 36 },
  { vm: 'db-01', hoursAgo: 12 },
  { vm: 'web-01', hoursAgo: 22, expiresInHours: 2 },
]

export async function seedRecoveryPoints(ctx: SeedContext): Promise<void> {
  for (const described of inventory) await seedPoint(ctx, described)
}

async function seedPoint(ctx: SeedContext, { vm: name, hoursAgo, expiresInHours }: Described): Promise<void> {
  const vm = await ctx.store.get(Vm, seedId(`vm/${name}`))
  if (vm === undefined) throw new Error(`the seed of recovery points finds no VM ${name}`)
  const key = `recovery-point/${name}/${hoursAgo}`
  let drawn = 0
  const captured = await captureOf(ctx.store, vm, () => seedId(`${key}/${drawn++}`))
  const creationTime = ctx.ago(hoursAgo * hour)
  const point = {
    ...captured,
    extId: seedId(key),
    tenantId: ctx.tenantId,
    name: `${vm.name}-${creationTime.slice(0, 19)}Z`,
    recoveryPointType: 'CRASH_CONSISTENT',
    status: 'COMPLETE',
    vmExtId: vm.extId,
    creationTime,
    ...(expiresInHours === undefined ? {} : { expirationTime: ctx.ago(-expiresInHours * hour) }),
    locationAgnosticId: seedId(`${key}/location-agnostic`),
    consistencyGroupExtId: seedId(`${key}/consistency-group`),
    clusterExtId: vm.cluster?.extId as string,
  } as const
  await ctx.store.insert(VmRecoveryPoint, point)
  for (const snapshot of snapshotsOf(point)) await freeze(ctx, snapshot, ctx.clock.now() - hoursAgo * hour * 1000)
}

async function freeze({ world }: SeedContext, { diskExtId, layerExtId }: DiskSnapshot, at: number): Promise<void> {
  const disks = diskFacts(world)
  const fact = disks.get(diskExtId)
  if (fact === undefined) throw new Error(`the seed of recovery points finds no disk ${diskExtId}`)
  await disks.put(layerExtId, frozen(fact, at))
  await disks.put(diskExtId, over(fact, layerExtId, at))
}
