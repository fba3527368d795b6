/** Source: behaviour vmm.md 1.15, 3.8. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { defined } from '../../core/defined.ts'
import type { ReadContext } from '../context.ts'
import { filled } from '../storage-space/written.ts'
import type { Subject } from './series.ts'

export async function externSubjects(ctx: ReadContext, vms: readonly ExternVm[]): Promise<Subject[]> {
  const clusters = await ctx.store.getMany(Cluster, [...new Set(vms.flatMap((vm) => vm.cluster?.extId ?? []))])
  const types = new Map(clusters.map(({ extId, config }) => [extId, config?.hypervisorTypes?.[0]]))
  return Promise.all(vms.map((vm) => subjectOf(ctx, vm, types.get(vm.cluster?.extId ?? '') ?? 'NULLHYPERVISOR')))
}

async function subjectOf(ctx: ReadContext, vm: ExternVm, hypervisorType: string): Promise<Subject> {
  const disks = vm.disks ?? []
  return {
    createdAt: 0,
    hypervisorType,
    disks: disks.map(({ backingInfo }) => {
      const capacityBytes = backingInfo?.diskSizeBytes ?? 0
      const containerExtId = backingInfo?.storageContainer?.extId
      return { capacityBytes, usedBytesAt: () => filled(capacityBytes), ...defined({ containerExtId }) }
    }),
    vm: {
      extId: vm.extId,
      name: vm.name ?? '',
      runs: await ctx.drivers.externalHypervisor.runs(vm.extId),
      disks: disks.map(({ extId, backingInfo }) => ({
        extId: extId as string,
        isFlash: backingInfo?.storageConfig?.isFlashModeEnabled === true,
      })),
      connectedNics: (vm.nics ?? []).filter(({ backingInfo }) => backingInfo?.isConnected !== false).length,
      hasGpu: false,
      isOvercommitted: false,
    },
  }
}
