/** The state of a VM in a recovery point. Source: behaviour vmm.md 1.6. */
import type { EntityOf } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { rowWithId } from '../../../../core/standard.ts'
import type { DiskSnapshot } from '../../../../drivers/hypervisor.ts'
import type { Reader } from '../../../../store/store.ts'
import { idsOf } from '../../../scheduling/policy-selection.ts'
import { fileOf, filesOf, type VmEntity } from '../../../virtual-machines/entity.ts'
import type { Blueprint } from '../create/derived-vm.ts'
import { layerSource } from '../create/disk-sources.ts'
import { withoutIso } from '../guest/customization.ts'

export type Point = EntityOf<typeof VmRecoveryPoint>
type DiskPoints = NonNullable<Point['diskRecoveryPoints']>

/** Without internal fields, secrets, and the ISO of a staged customisation, like the customisation itself. */
export async function captureOf(store: Reader, row: VmEntity, newId: () => string): Promise<Partial<Point>> {
  const vm = { ...row, ...withoutIso(row) }
  const shown = Object.entries(vm).filter(([name]) => Object.hasOwn(Vm.schema.fields, name) || name === 'extId')
  const { guestCustomization: _secret, vmGuestCustomizationStatus: _status, ...captured } = Object.fromEntries(shown)
  const pointsOf = (fileExtIds: readonly string[]): DiskPoints =>
    fileExtIds.map((diskExtId) => ({ diskExtId, diskRecoveryPointExtId: newId() }))
  const disks = (vm.disks ?? []).flatMap((disk) => fileOf(disk)?.diskExtId ?? [])
  const drives = (vm.cdRoms ?? []).flatMap(({ backingInfo }) => backingInfo?.diskExtId ?? [])
  const categories = await store.getMany(Category, idsOf(vm.categories))
  const containers = new Set(filesOf(vm).flatMap(({ storageContainer }) => storageContainer?.extId ?? []))
  return {
    vm: captured as Point['vm'],
    // A migration that was admitted before may have moved the VM.
    clusterExtId: vm.cluster?.extId as string,
    diskRecoveryPoints: pointsOf(disks),
    driveRecoveryPoints: pointsOf(drives),
    containerExtIds: [...containers],
    vmCategories: categories.map(({ key, value }) => `${key}/${value}`),
    ...(vm.pinnedHostExtId === undefined ? {} : { pinnedHostExtId: vm.pinnedHostExtId }),
  }
}

/** @throws ApiError 404 when it was deleted since the request */
export async function requirePoint(store: Reader, extId: string, attribute = 'extId'): Promise<Point> {
  return rowWithId(store, VmRecoveryPoint, extId, attribute)
}

/** The layers of the recovery point, with the files that they were taken of. */
export const snapshotsOf = ({ diskRecoveryPoints = [], driveRecoveryPoints = [] }: Point): DiskSnapshot[] =>
  [...diskRecoveryPoints, ...driveRecoveryPoints].map(({ diskExtId, diskRecoveryPointExtId }) => ({
    diskExtId: diskExtId as string,
    layerExtId: diskRecoveryPointExtId as string,
  }))

/** Without devices of the host; `contentOf` names the layers of the recovery point. */
export function blueprintOfPoint(point: Point): Blueprint {
  const { gpus: _gpus, pcieDevices: _devices, ...captured } = point.vm ?? {}
  const spec = { ...captured, pinnedHostExtId: point.pinnedHostExtId } as VmEntity
  const files = new Map(filesOf(spec).map((file) => [file.diskExtId, file]))
  const layers = new Map(snapshotsOf(point).map(({ diskExtId, layerExtId }) => [diskExtId, layerExtId]))
  return {
    spec,
    contentOf: (fileExtId) => layerSource(point, layers.get(fileExtId) as string, files.get(fileExtId)),
    shownAs: (fileExtId) => ({
      $objectType: 'vmm.v4.ahv.config.VmDiskRecoveryPointReference',
      vmRecoveryPointExtId: point.extId,
      diskRecoveryPointExtId: layers.get(fileExtId) as string,
    }),
  }
}
