/** Source: behaviour vmm.md 3.8. */
import type { EntityOf } from '@hyperplane/contract'
import { defined } from '../../core/defined.ts'
import { type Clock, parseTime } from '../../core/time/clock.ts'
import type { Run } from '../../drivers/telemetry.ts'
import type { Reader } from '../../store/store.ts'
import { writtenTo } from '../storage-space/written.ts'
import { type DiskEntity, fileOf, type VmEntity } from '../virtual-machines/entity.ts'
import { PowerEvent, powerHistory } from '../virtual-machines/power-journal.ts'
import type { Subject, SubjectDisk } from './series.ts'

type Event = EntityOf<typeof PowerEvent>

/** For more VMs one query reads all journals. */
const readAlone = 100

export async function nativeSubjects(
  ctx: { readonly store: Reader; readonly clock: Pick<Clock, 'now'> },
  vms: readonly VmEntity[],
): Promise<Subject[]> {
  const journals = new Map<string, Event[]>()
  if (vms.length > readAlone) {
    for (const event of await ctx.store.find(PowerEvent)) {
      const events = journals.get(event.vmExtId)
      if (events === undefined) journals.set(event.vmExtId, [event])
      else events.push(event)
    }
  } else {
    for (const { extId } of vms) journals.set(extId, await powerHistory(ctx.store, extId))
  }
  return vms.map((vm) => subjectOf(vm, runsOf(journals.get(vm.extId) ?? [], ctx.clock.now())))
}

function subjectOf(vm: VmEntity, runs: readonly Run[]): Subject {
  const createdAt = parseTime(vm.createTime ?? '') ?? 0
  const disks: readonly DiskEntity[] = vm.disks ?? []
  const throttledIops = vm.storageConfig?.qosConfig?.throttledIops
  const isFlash = vm.storageConfig?.isFlashModeEnabled === true
  return {
    createdAt: createdAt / 1000,
    hypervisorType: 'AHV',
    disks: disks.map((disk) => subjectDisk(vm, disk)),
    vm: {
      extId: vm.extId,
      name: vm.name,
      runs,
      disks: disks.map((disk) => ({
        extId: disk.extId as string,
        isFlash: fileOf(disk)?.storageConfig?.isFlashModeEnabled ?? isFlash,
      })),
      connectedNics: (vm.nics ?? []).filter(sendsTraffic).length,
      hasGpu: (vm.gpus ?? []).length > 0,
      isOvercommitted: vm.isMemoryOvercommitEnabled === true,
      throttledIops,
    },
  }
}

/** A guest only listens on a destination of traffic mirrors. */
const sendsTraffic = ({ backingInfo, networkInfo }: NonNullable<VmEntity['nics']>[number]): boolean =>
  backingInfo?.isConnected !== false && networkInfo?.nicType !== 'SPAN_DESTINATION_NIC'

const subjectDisk = (vm: VmEntity, disk: DiskEntity): SubjectDisk => ({
  capacityBytes: fileOf(disk)?.diskSizeBytes ?? 0,
  ...defined({ containerExtId: fileOf(disk)?.storageContainer?.extId }),
  ...addedAtOf(vm, disk),
  usedBytesAt: (at) => writtenTo(vm, disk, at * 1000),
})

function addedAtOf({ diskFills = [] }: VmEntity, { extId }: DiskEntity): Pick<SubjectDisk, 'addedAt'> {
  const { addedAt } = diskFills.find(({ diskExtId }) => diskExtId === extId) ?? {}
  return addedAt === undefined ? {} : { addedAt: (parseTime(addedAt) ?? 0) / 1000 }
}

function runsOf(journal: readonly Event[], now: number): Run[] {
  const events = journal.map((event) => ({ ...event, at: parseTime(event.time) ?? 0 })).sort((a, b) => a.at - b.at)
  const runs: Run[] = []
  let startedAt = 0
  for (const [index, event] of events.entries()) {
    if (event.powerState !== 'ON') continue
    if (event.change === 'ON' || event.change === 'RESET' || startedAt === 0) startedAt = event.at
    runs.push({
      from: event.at,
      to: events[index + 1]?.at ?? Math.max(now, event.at),
      startedAt,
      hostExtId: event.hostExtId ?? '',
      clusterExtId: event.clusterExtId ?? '',
      memoryBytes: event.memorySizeBytes,
      vcpus: event.vcpus,
    })
  }
  return runs
}
