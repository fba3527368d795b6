/** Shows how far the copies of external sources are; the entity tag stays. Source: behaviour vmm.md 1.0, 1.2. */
import type { Drivers } from '../../../drivers/drivers.ts'
import {
  type CdRomEntity,
  type DiskEntity,
  type FileBacking,
  filesOf,
  type VmEntity,
} from '../../virtual-machines/entity.ts'

const externalType = 'vmm.v4.ahv.config.ExternalDataSourceDiskReference'

const externalFiles = (vm: VmEntity): string[] =>
  filesOf(vm).flatMap(({ dataSource, diskExtId }) =>
    dataSource?.reference?.$objectType === externalType ? (diskExtId ?? []) : [],
  )

export const withHydration = (
  { drivers }: { readonly drivers: Drivers },
  vms: readonly VmEntity[],
): readonly VmEntity[] =>
  vms.map((vm) => {
    const hydrations = drivers.hypervisor.hydrations(externalFiles(vm))
    if (hydrations.size === 0) return vm
    const shown = <P extends DiskEntity | CdRomEntity>(part: P): P => {
      const found = hydrations.get((part.backingInfo as FileBacking | undefined)?.diskExtId ?? '')
      if (found === undefined) return part
      const { status, remainingBytes } = found
      const vmDiskHydrationInfo = { diskHydrationStatus: status, diskHydrationRemainingBytes: remainingBytes }
      return { ...part, backingInfo: { ...part.backingInfo, vmDiskHydrationInfo } }
    }
    return {
      ...vm,
      ...(vm.disks === undefined ? {} : { disks: vm.disks.map(shown) }),
      ...(vm.cdRoms === undefined ? {} : { cdRoms: vm.cdRoms.map(shown) }),
    } as VmEntity
  })
