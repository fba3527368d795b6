/** updateVmById: replaces the plain configuration, not disks or NICs. Source: behaviour vmm.md 1.1 (Update), 1.16. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { withVolumeGroups } from '../../block-volumes/attachments.ts'
import { defaultContainer } from '../../containers/default-container.ts'
import { requireContainersNotRemoved } from '../../containers/storage-containers.ts'
import { defineTask, type RecordContext, type StepContext, type WriteContext } from '../../context.ts'
import { apcConfigOf } from '../../scheduling/cpu-models.ts'
import { makeRoom, shrinkBack } from '../../scheduling/scheduler.ts'
import {
  type FileBacking,
  firmwareBackingsOf,
  firmwareFilesOf,
  nvramOf,
  type VmBody,
  type VmEntity,
  vcpusOf,
} from '../../virtual-machines/entity.ts'
import { notePower } from '../../virtual-machines/power-journal.ts'
import { admitVm, endUnchanged, type OfVm, requireVm, taskOf } from './admission.ts'
import { changedFields, hotFaults, vmConfigurationOf } from './configuration.ts'
import { chooseCluster } from './create/clusters.ts'
import { architectureFaults } from './create/plan.ts'
import { fileConstraints, placed, withSources } from './create/plan-disks.ts'
import { domainOf, restoreDefinition } from './domain.ts'
import { createFile } from './files.ts'
import {
  type FirmwareFiles,
  nvramPath,
  requestsOtherNvram,
  sizedNvram,
  withFirmware,
  withMachineType,
} from './firmware.ts'
import { chosenHost, movedTo, moveStep, recordMove } from './migration.ts'
import { nicFaults } from './parts/nics.ts'
import { bootDeviceFaults, configurationFaults } from './rules.ts'
import { refuseUnbuiltSource } from './unbuilt.ts'

interface Change extends OfVm {
  readonly body: VmBody
  readonly files: FirmwareFiles
}

export async function updateVm(ctx: WriteContext<VmEntity>, given: VmBody): Promise<TaskStarted> {
  const vm = ctx.target
  const clusterExtId = vm.cluster?.extId as string
  const body = { ...given, apcConfig: await apcConfigOf(ctx.store, given, clusterExtId) }
  const container = await defaultContainer(ctx.store, clusterExtId)
  const files = {
    ...{ nvramExtId: ctx.ids.uuid(), tpmExtId: ctx.ids.uuid(), containerExtId: container.extId },
    ...(await plannedNvram(ctx, body, container.extId)),
  }
  const next = nextOf(vm, { body, files })
  const cluster = await ctx.store.get(Cluster, clusterExtId)
  refuseAll([
    ...configurationFaults(next),
    ...bootDeviceFaults((await withVolumeGroups(ctx.store, [next]))[0] as VmEntity),
    ...(next.nics ?? []).flatMap((nic, index) => nicFaults(nic, `nics[${index}]/`, vcpusOf(next))),
    ...(cluster === undefined ? [] : architectureFaults(next, cluster)),
  ])
  const isIdle = ctx.services.runner.queueAhead(vm.extId) === 0
  if (isIdle) requireHotChange(vm, next)
  await admitVm(ctx, vm, 'update')
  return ctx.startTask(changeVm, { vmExtId: vm.extId, body, files }, taskOf('UpdateVm', vm))
}

/** An NVRAM device that the body describes otherwise than it is. @throws ApiError 404; 409 for things of other clusters */
async function plannedNvram(
  ctx: WriteContext<VmEntity>,
  body: VmBody,
  defaultExtId: string,
): Promise<Pick<FirmwareFiles, 'nvram'>> {
  const { target: vm } = ctx
  const backing = nvramOf(body)
  if (backing === undefined || !requestsOtherNvram(vm, body)) return {}
  refuseUnbuiltSource('updateVmById', backing)
  const files = await withSources(ctx, [{ path: nvramPath, backing }])
  const clusterExtId = vm.cluster?.extId as string
  await chooseCluster(ctx, clusterExtId, await fileConstraints(ctx, files, false))
  const [file] = files.map((each) => placed(each, defaultExtId, clusterExtId, ctx.ids.uuid()))
  await requireContainersNotRemoved(ctx.store, [file?.storageContainer?.extId ?? ''])
  return file === undefined ? {} : { nvram: sizedNvram(file) }
}

function nextOf(vm: VmEntity, { body, files }: Pick<Change, 'body' | 'files'>): VmEntity {
  const config = withMachineType(vmConfigurationOf(vm, body))
  return { ...config, ...withFirmware(config, files, vm) }
}

/** @throws ApiError 409 naming the fields that cannot change in the current power state */
function requireHotChange(vm: VmEntity, next: VmEntity): void {
  if (vm.powerState === 'OFF') return
  const fields = hotFaults(vm, next)
  if (fields.length > 0) throw new ApiError('HOT_CHANGE_NOT_ALLOWED', { name: vm.name, fields: fields.join(', ') })
}

const isRunning = (vm: VmEntity): boolean => vm.powerState === 'ON' || vm.powerState === 'PAUSED'
const hasOtherSize = (vm: VmEntity, next: VmEntity): boolean =>
  vm.memorySizeBytes !== next.memorySizeBytes || vcpusOf(vm) !== vcpusOf(next)

export const changeVm = defineTask<Change>({
  name: 'vmm.update-vm',
  // Once the new configuration is stored, the files that it no longer names can only be deleted.
  pointOfNoReturn: 'remove unused files',
  steps: [
    {
      name: 'recheck',
      progress: 10,
      run: async (ctx, input) => {
        const vm = await requireVm(ctx.store, input.vmExtId, 'update')
        requireHotChange(vm, nextOf(vm, input))
      },
      // No undo: the step only reads.
    },
    {
      name: 'make room',
      progress: 40,
      record: async (ctx, input) => {
        const vm = await requireVm(ctx.store, input.vmExtId)
        const next = nextOf(vm, input)
        if (!isRunning(vm) || !hasOtherSize(vm, next)) return
        return { keep: { hostExtId: await makeRoom(ctx, vm, next) } }
      },
      unrecord: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm !== undefined && isRunning(vm)) await shrinkBack(ctx.store, vm)
      },
    },
    moveStep('make room', 60, 40),
    {
      name: 'apply',
      progress: 80,
      seconds: [0.5, 1],
      run: async (ctx, input) => {
        const vm = await requireVm(ctx.store, input.vmExtId)
        const next = nextOf(vm, input)
        for (const file of newFiles(vm, next)) await createFile(ctx, file)
        await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, next))
      },
      undo: async (ctx, input) => {
        const vm = await ctx.store.get(Vm, input.vmExtId)
        if (vm === undefined) return
        await restoreDefinition(ctx, vm, movedTo(ctx))
        for (const { diskExtId } of newFiles(vm, nextOf(vm, input)))
          await ctx.drivers.hypervisor.deleteDisk(diskExtId as string)
      },
    },
    { name: 'store', progress: 90, record: storeChange },
    {
      name: 'remove unused files',
      run: async (ctx) => {
        for (const extId of (ctx.outputs['store'] as Unused | undefined)?.unused ?? [])
          await ctx.drivers.hypervisor.deleteDisk(extId)
      },
    },
  ],
  onUndone: endUnchanged,
})

interface Unused {
  readonly unused: readonly string[]
}

async function storeChange(ctx: RecordContext, input: Change): Promise<{ keep: Unused }> {
  const vm = await requireVm(ctx.store, input.vmExtId)
  const next = nextOf(vm, input)
  const target = roomOf(ctx) ?? vm.host?.extId
  const hasMoved = target !== undefined && target !== vm.host?.extId
  const changes: Partial<VmEntity> = Object.fromEntries(
    changedFields(vm, next).map((field) => [field, next[field as keyof VmEntity]]),
  )
  const now = ctx.clock.iso()
  const stored = await ctx.store.update(Vm, vm.extId, { ...changes, updateTime: now })
  if (hasMoved) {
    await recordMove(ctx, vm.extId, target)
  } else if (hasOtherSize(vm, next)) {
    await notePower(ctx.store, ctx.ids, stored, 'RESIZED', now)
  }
  const kept = firmwareFilesOf(next)
  return { keep: { unused: firmwareFilesOf(vm).filter((extId) => !kept.includes(extId)) } }
}

const roomOf = (ctx: Pick<StepContext, 'outputs'>): string | undefined => chosenHost(ctx, 'make room')

const newFiles = (vm: VmEntity, next: VmEntity): FileBacking[] => {
  const former = firmwareFilesOf(vm)
  return firmwareBackingsOf(next).filter(({ diskExtId }) => !former.includes(diskExtId as string))
}
