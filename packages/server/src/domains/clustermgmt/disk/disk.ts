/** Disks of storage pools. Source: behaviour clustermgmt.md 1.8. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Disk, diskOperations } from '@hyperplane/contract/clustermgmt/disk'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import type { TaskStarted } from '../../../core/handlers.ts'
import type { Reader } from '../../../store/store.ts'
import { type Broken, defineTask, implement, type ReadContext, taskAbout, type WriteContext } from '../../context.ts'
import { rowsOf } from '../../invariants/rule.ts'
import { requireClusterReachable } from '../../registrations/reachability.ts'
import type { DiskRow } from '../../storage-space/disks.ts'
import { addDisk, startAddition } from './addition.ts'
import { forgetDetachable, observeDisks } from './observe-disks.ts'
import { driveOf, type OfDisk, removeDisk, startRemoval } from './removal.ts'

interface Led extends OfDisk {
  readonly isEngaged: boolean
  readonly wasEngaged: boolean
}

const isLedEngaged = ({ drivers, clock }: Pick<ReadContext, 'drivers' | 'clock'>, at: OfDisk): boolean =>
  (driveOf(drivers, at)?.ledEngagedUntil ?? 0) > clock.now()

const setLed = defineTask<Led>({
  name: 'clustermgmt.update-disk-led-state',
  steps: [
    {
      name: 'set the LED',
      seconds: [1, 3],
      run: (ctx, { clusterExtId, diskExtId, isEngaged }) =>
        ctx.drivers.hardware.setDriveLed(clusterExtId, diskExtId, isEngaged),
      record: async (ctx, { isEngaged }) => ctx.complete([{ name: 'ledState', value: isEngaged ? 'ON' : 'OFF' }]),
      undo: async (ctx, input) => {
        if (isLedEngaged(ctx, input) !== input.wasEngaged)
          await ctx.drivers.hardware.setDriveLed(input.clusterExtId, input.diskExtId, input.wasEngaged)
      },
    },
  ],
})

export const disk = implement(
  diskOperations,
  {
    deleteDiskById: (ctx) => startRemoval(ctx, ctx.target),
    addDisk: (ctx, { body }) => startAddition(ctx, ctx.target, body),
    updateDiskLEDState: (ctx, { body }) => startLed(ctx, ctx.target, body.isEngaged),
  },
  {
    tasks: [addDisk, removeDisk, setLed],
    schedules: [observeDisks, forgetDetachable],
    invariants: [
      { promise: 'A disk is of a host of its cluster', look: hostsHaveDisks },
      { promise: 'Only a disk that is being removed has another status than NORMAL', look: removalsAreMarked },
    ],
  },
)

async function startLed(ctx: WriteContext, disk: DiskRow, isEngaged: boolean): Promise<TaskStarted> {
  const { extId, serialNumber, clusterExtId = '', nodeExtId: hostExtId = '' } = disk
  await requireClusterReachable(ctx, clusterExtId)
  const at = { diskExtId: extId, hostExtId, clusterExtId }
  const input = { ...at, isEngaged, wasEngaged: isLedEngaged(ctx, at) }
  const named = { extId, name: serialNumber }
  return ctx.startTask(setLed, input, taskAbout('Update Disk LED State', Disk, named, clusterExtId))
}

async function* hostsHaveDisks(store: Reader): AsyncGenerator<Broken> {
  for await (const { extId, nodeExtId = '', clusterExtId = '', serialNumber } of rowsOf(store, Disk)) {
    const host = await store.get(Host, nodeExtId)
    const cluster = await store.get(Cluster, clusterExtId)
    if (host === undefined || cluster === undefined || host.cluster.uuid !== clusterExtId)
      yield { about: [extId, nodeExtId, clusterExtId], fault: `the disk ${serialNumber} is of no host of its cluster` }
  }
}

async function* removalsAreMarked(store: Reader): AsyncGenerator<Broken> {
  for await (const { extId, status, removal, serialNumber } of rowsOf(store, Disk))
    if ((status !== 'NORMAL') !== (removal !== undefined))
      yield { about: [extId], fault: `the disk ${serialNumber} is ${status} and its removal does not agree` }
}
