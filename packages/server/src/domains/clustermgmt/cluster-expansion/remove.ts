/** Hosts leave their cluster with no VM and no data. Source: behaviour clustermgmt.md 1.3 (Remove), 1.1 (task shape). */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError } from '../../../core/api-error.ts'
import type { Evacuation } from '../../../drivers/drives.ts'
import type { Transaction } from '../../../store/store.ts'
import { defineTask, type StepContext, throwIfCanceled } from '../../context.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { type EvacuationRefusals, evacuateFor, repopulateAfter } from '../../scheduling/host-evacuation.ts'
import { evacuationsOf } from '../../storage-space/drive-usage.ts'
import { removeHosts } from '../topology/membership.ts'
import { refuseWith } from '../topology/nodes.ts'
import { bondFaults, checkRemoval, type Removal } from './removal-checks.ts'

const check = { name: 'check', progress: 5, seconds: [10, 25], run: checkRemoval } as const

/** For `shouldSkipRemove`. */
export const checkNodeRemoval = defineTask<Removal>({
  name: 'clustermgmt.check-node-removal',
  cancelableUntil: 'check',
  steps: [{ ...check, progress: 100 }],
})

const planned = 'plan the migration'
const [moveFrom, moveTo] = [42, 85]

/** The VMs of a host may take as long as they need for this many seconds. */
const timeoutSeconds = 24 * 3600

const refusals: EvacuationRefusals = {
  busy: (host) => new ApiError('CONFLICT', { fault: `The host "${host}" enters or leaves maintenance.` }),
  notEmpty: (host, further) =>
    new ApiError('CONFLICT', { fault: `Not all VMs can leave the host "${host}".` }, { further }),
}

export const removeNodes = defineTask<Removal>({
  name: 'clustermgmt.remove-nodes',
  cancelableUntil: 'migrate data',
  pointOfNoReturn: 'detach',
  steps: [
    check,
    {
      name: 'mark TO_BE_REMOVED',
      progress: 10,
      record: ({ store }, { hostExtIds }) => setStatus(store, hostExtIds, 'TO_BE_REMOVED'),
      unrecord: ({ store }, { hostExtIds }) => setStatus(store, hostExtIds, 'NORMAL'),
    },
    {
      name: 'evacuate VMs',
      progress: 40,
      run: async (ctx, { clusterExtId, hostExtIds }) => {
        for (const hostExtId of hostExtIds) {
          await evacuateFor(ctx, { hostExtId, clusterExtId }, refusals, timeoutSeconds)
          throwIfCanceled(ctx)
        }
        for (const hostExtId of hostExtIds) await untilDeserted(ctx, hostExtId)
      },
      undo: async (ctx, { clusterExtId, hostExtIds }) => {
        // VMs do not come back to a host that is to be removed.
        await ctx.checkpoint(undefined, ({ store }) => setStatus(store, hostExtIds, 'NORMAL'))
        for (const hostExtId of hostExtIds) await repopulateAfter(ctx, { hostExtId, clusterExtId }, timeoutSeconds)
      },
    },
    { name: planned, progress: moveFrom, run: planMigration },
    {
      name: 'migrate data',
      progress: moveTo,
      run: migrateData,
      record: async ({ store }, removal) => {
        // Clients may have bound something to the hosts while their data moved.
        refuseWith(await bondFaults({ store }, removal, await store.getMany(Host, removal.hostExtIds)))
        await setStatus(store, removal.hostExtIds, 'OK_TO_BE_REMOVED')
      },
      // Data that has moved stays where it is.
      undo: async ({ drivers }, { clusterExtId, hostExtIds }) => {
        for (const { extId } of hostExtIds.flatMap((host) => drivers.hardware.drivesOf(host)))
          await drivers.hardware.stopEvacuation(clusterExtId, extId)
      },
    },
    {
      name: 'detach',
      progress: 95,
      run: async ({ drivers }, { clusterExtId, hostExtIds }) => {
        for (const hostExtId of hostExtIds) await drivers.hardware.unpoolDrivesOf(clusterExtId, hostExtId)
      },
      record: ({ store }, { clusterExtId, hostExtIds }) => removeHosts(store, clusterExtId, hostExtIds),
    },
    {
      name: 'node unconfigured',
      run: async ({ drivers }, { hostExtIds }) => {
        for (const hostExtId of hostExtIds) await drivers.hardware.detachNode(hostExtId)
      },
    },
  ],
})

async function setStatus(
  store: Transaction,
  hostExtIds: readonly string[],
  nodeStatus: 'NORMAL' | 'OK_TO_BE_REMOVED' | 'TO_BE_REMOVED',
): Promise<void> {
  for (const { extId } of await store.getMany(Host, hostExtIds)) await store.update(Host, extId, { nodeStatus })
}

const lookEveryMillis = 1000
const desertedWithinMillis = 15 * 60_000

/** Appliances of gateways leave a closed host by themselves. @throws ApiError when one has not left in time */
async function untilDeserted(ctx: StepContext, hostExtId: string): Promise<void> {
  const end = ctx.clock.now() + desertedWithinMillis
  for (;;) {
    throwIfCanceled(ctx)
    const held = await ctx.store.findWhere(HostAllocation, { hostExtId })
    if (held.length === 0) return
    const name = (await ctx.store.get(Host, hostExtId))?.hostName ?? hostExtId
    const fault = `The host "${name}" still runs ${held.length} appliances of gateways, for which no other host has room.`
    if (ctx.clock.now() >= end) throw new ApiError('CONFLICT', { fault })
    await ctx.clock.sleep(lookEveryMillis)
  }
}

type Migration = Readonly<Record<string, Evacuation>>

async function planMigration(ctx: StepContext, { clusterExtId, hostExtIds }: Removal): Promise<Migration> {
  const drives = hostExtIds.flatMap((host) => ctx.drivers.hardware.drivesOf(host)).filter(({ isInPool }) => isInPool)
  const evacuations = await evacuationsOf(ctx, clusterExtId, drives)
  return Object.fromEntries(drives.map(({ extId }, index) => [extId, evacuations[index] as Evacuation]))
}

async function migrateData(ctx: StepContext, { clusterExtId }: Removal): Promise<void> {
  const plan = Object.entries(ctx.outputs[planned] as Migration)
  const total = plan.reduce((sum, [, { bytes }]) => sum + bytes, 0)
  const shares = new Map<string, number>()
  let shown = moveFrom
  const report = async (driveExtId: string, share: number): Promise<void> => {
    throwIfCanceled(ctx)
    shares.set(driveExtId, share)
    const moved = plan.reduce((sum, [extId, { bytes }]) => sum + bytes * (shares.get(extId) ?? 0), 0)
    const percentage = Math.floor(moveFrom + (total === 0 ? 0 : ((moveTo - moveFrom) * moved) / total))
    if (percentage <= shown) return
    shown = percentage
    await ctx.progress(percentage)
  }
  const ends = await Promise.allSettled(
    plan.map(([driveExtId, evacuation]) =>
      ctx.drivers.hardware.evacuateDrive(clusterExtId, driveExtId, evacuation, (share) => report(driveExtId, share)),
    ),
  )
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}
