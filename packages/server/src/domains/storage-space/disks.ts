/** Rows of the drives in storage pools. Source: behaviour clustermgmt.md 1.8. */
import type { EntityOf } from '@hyperplane/contract'
import { Disk } from '@hyperplane/contract/clustermgmt/disk'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Drive } from '../../drivers/drives.ts'
import type { Transaction } from '../../store/store.ts'
import { storagePoolOf, usableBytes } from './capacity.ts'

export type DiskRow = EntityOf<typeof Disk>

/** In the transaction that adds the host; omits drives outside the pool, and those with a row. */
export async function recordDisks(store: Transaction, hostExtId: string, drives: readonly Drive[]): Promise<void> {
  const row = await store.row(Host, hostExtId)
  if (row === undefined) return
  for (const drive of drives)
    if (drive.isInPool && !(await store.has(Disk, drive.extId)))
      await store.insert(Disk, diskOf(row.entity, row.sequence, drive))
}

/** In the transaction that removes the host. */
export async function forgetDisks(store: Transaction, hostExtId: string): Promise<void> {
  for (const { extId } of await store.findWhere(Disk, { nodeExtId: hostExtId })) await store.remove(Disk, extId)
}

function diskOf(host: Host, hostNumber: number, drive: Drive): DiskRow {
  const { uuid: clusterExtId, name: clusterName } = host.cluster
  return {
    extId: drive.extId,
    tenantId: host.tenantId,
    serialNumber: drive.serialNumber,
    clusterExtId,
    ...(clusterName && { clusterName }),
    nodeExtId: host.extId,
    hostName: host.hostName,
    nodeIpAddress: host.hypervisor?.externalAddress,
    cvmIpAddress: host.controllerVm?.externalAddress,
    storagePoolExtId: storagePoolOf(clusterExtId),
    location: drive.slot,
    mountPath: `/home/storage/disks/${drive.serialNumber}`,
    vendor: drive.vendor,
    model: drive.model,
    firmwareVersion: drive.firmwareVersion,
    diskSizeBytes: drive.sizeBytes,
    physicalCapacityBytes: usableBytes(drive.sizeBytes),
    storageTier: drive.tier,
    status: 'NORMAL',
    ...(drive.tier === 'SSD_PCIE' && { nvmePciePath: `0000:${(0x40 + drive.slot).toString(16)}:00.0` }),
    serviceVMId: `${clusterExtId}::${hostNumber}`,
    diskAdvanceConfig: {
      hasBootPartitionsOnly: false,
      isBootDisk: drive.isBootDrive,
      isDataMigrated: false,
      isDiagnosticInfoAvailable: false,
      isErrorFoundInLog: false,
      isMarkedForRemoval: false,
      isPasswordProtected: false,
      isPlannedOutage: false,
      isSelfEncryptingDrive: false,
      isSelfManagedNvme: false,
      isSpdkManaged: false,
      isUnderDiagnosis: false,
      ...healthOf(drive, true),
    },
  } as DiskRow
}

type Health = Pick<
  NonNullable<DiskRow['diskAdvanceConfig']>,
  'isMounted' | 'isOnline' | 'isSuspectedUnhealthy' | 'isUnhealthy'
>

/** As the cluster observes the drive; undefined: it is no longer in its slot. */
export const healthOf = (drive: Drive | undefined, isHostUp: boolean): Health => {
  const isReadable = isHostUp && drive !== undefined && drive.fault === undefined
  return {
    isMounted: isReadable && drive.isInPool,
    isOnline: isReadable,
    isSuspectedUnhealthy: drive?.fault?.kind === 'BROKEN' || (drive?.slowdown ?? 1) > 1,
    isUnhealthy: drive?.fault?.kind === 'BROKEN',
  }
}
