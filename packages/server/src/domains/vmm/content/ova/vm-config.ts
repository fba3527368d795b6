/** Captures the configuration of a VM, and deploys VMs from it. Source: behaviour vmm.md 1.11. */
import type { EntityOf } from '@hyperplane/contract'
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import { defined } from '../../../../core/defined.ts'
import { type DiskEntity, fileOf, type NicEntity, type VmEntity } from '../../../virtual-machines/entity.ts'
import { blueprintOfVm } from '../../vm/clone.ts'
import { type Blueprint, bodyLike } from '../../vm/create/derived-vm.ts'
import { readNic } from '../../vm/parts/nics.ts'

export type OvaEntity = EntityOf<typeof Ova>
export type VmConfig = NonNullable<OvaEntity['vmConfig']>

/** Disks, NICs and drives without content, addresses and ids. */
export const plainDisk = (sizeBytes: number | undefined, diskAddress: DiskEntity['diskAddress']): DiskEntity =>
  ({ diskAddress, backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: sizeBytes } }) as DiskEntity

export function plainNic({ backingInfo, networkInfo }: NicEntity): NicEntity {
  const { macAddress: _mac, ...backing } = backingInfo ?? {}
  const { nicType, vlanMode, shouldAllowUnknownMacs } = networkInfo ?? {}
  const network = defined({ nicType, vlanMode, shouldAllowUnknownMacs })
  const { extId: _, ...nic } = readNic({ backingInfo: backing, networkInfo: network } as NicEntity, () => '')
  return nic as NicEntity
}

export interface Captured {
  readonly vmConfig: VmConfig
  /** In the order of the disks in `vmConfig`. */
  readonly disks: readonly { readonly diskExtId: string; readonly sizeBytes: number }[]
}

export function captured(vm: VmEntity): Captured {
  const { spec } = blueprintOfVm(vm)
  const body = bodyLike({ spec, shownAs: () => undefined })
  const { nvramDevice: _nvram, ...bootConfig } = (body.bootConfig ?? {}) as { nvramDevice?: unknown }
  const files = (spec.disks ?? []).flatMap((disk) => {
    const file = fileOf(disk)
    return file === undefined ? [] : [{ disk, diskExtId: file.diskExtId as string, sizeBytes: file.diskSizeBytes ?? 0 }]
  })
  const vmConfig = defined({
    name: vm.name,
    description: vm.description,
    numSockets: vm.numSockets,
    numCoresPerSocket: vm.numCoresPerSocket,
    numThreadsPerCore: vm.numThreadsPerCore,
    memorySizeBytes: vm.memorySizeBytes,
    machineType: vm.machineType,
    bootConfig,
    vtpmConfig: { isVtpmEnabled: vm.vtpmConfig?.isVtpmEnabled === true },
    hardwareClockTimezone: vm.hardwareClockTimezone,
    disks: some(files.map(({ disk, sizeBytes }) => plainDisk(sizeBytes, disk.diskAddress))),
    cdRoms: some((spec.cdRoms ?? []).map(({ diskAddress }) => ({ diskAddress }))),
    nics: some((spec.nics ?? []).map(plainNic)),
  })
  return { vmConfig: vmConfig as VmConfig, disks: files.map(({ diskExtId, sizeBytes }) => ({ diskExtId, sizeBytes })) }
}

const some = <T>(items: readonly T[]): readonly T[] | undefined => (items.length === 0 ? undefined : items)

/** For VMs on a cluster that holds the file. */
export function blueprintOfOva(ova: OvaEntity, clusterExtId: string): Blueprint {
  const { vmConfig, diskFiles = [] } = ova
  const disks = (vmConfig?.disks ?? []).map((disk, index) => ({ ...disk, extId: diskFiles[index] as string }))
  const sizes = new Map(disks.map((disk) => [disk.extId, fileOf(disk)?.diskSizeBytes ?? 0]))
  return {
    spec: { ...(vmConfig as VmEntity), disks },
    contentOf: (fileName) => ({
      source: { kind: 'ova', extId: ova.extId, clusterExtId, fileName },
      sizeBytes: sizes.get(fileName) ?? 0,
      clusterExtIds: [clusterExtId],
      owner: { kind: Ova, entity: ova },
    }),
    // No data source of a disk can name an OVA.
    shownAs: () => undefined,
  }
}
