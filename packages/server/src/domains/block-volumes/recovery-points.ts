/** States to which a volume group can be reverted. Source: behaviour volumes-storage.md 1.2. */

import type { EntityOf } from '@hyperplane/contract'
import { VolumeGroupRecoveryPoint } from '@hyperplane/contract/volumes/recovery-point'
import { formatTime, parseTime } from '../../core/time/clock.ts'
import type { RevertedDisk } from '../../drivers/block-images.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import type { ScheduleContext } from '../context.ts'

type Row = EntityOf<typeof VolumeGroupRecoveryPoint>
export type PointDisk = NonNullable<Row['disks']>[number]
/** Each point has a group and disks. */
export type Point = Row & { readonly volumeGroupExtId: string; readonly disks: readonly PointDisk[] }

export const keptHours = 24

export const recoveryPointsOf = async (store: Reader, volumeGroupExtId: string): Promise<Point[]> =>
  (await store.findWhere(VolumeGroupRecoveryPoint, { volumeGroupExtId })) as Point[]

export const pointOf = async (store: Reader, extId: string): Promise<Point | undefined> =>
  (await store.get(VolumeGroupRecoveryPoint, extId)) as Point | undefined

export const allPoints = async (store: Reader): Promise<Point[]> =>
  (await store.find(VolumeGroupRecoveryPoint)) as Point[]

/** @param extIdOf default: the disk of the point */
export const contentsOf = (
  { disks }: Pick<Point, 'disks'>,
  extIdOf: (disk: PointDisk) => string = ({ diskExtId }) => diskExtId,
): RevertedDisk[] => disks.map(({ diskExtId: _, ...disk }, at) => ({ ...disk, extId: extIdOf(disks[at] as PointDisk) }))

export async function deleteImages({ blockStorage }: Pick<Drivers, 'blockStorage'>, points: readonly Point[]) {
  for (const { disks } of points) for (const { imageExtId } of disks) await blockStorage.deleteImage(imageExtId)
}

export async function removePoints(store: Transaction, points: readonly Point[]): Promise<void> {
  for (const { extId } of points) await store.remove(VolumeGroupRecoveryPoint, extId)
}

export const expiryAt = (now: number): string => formatTime(now + keptHours * 3600 * 1000)

/** Deletes the states before reverts that succeeded a day ago. */
export async function removeExpired({ store, clock, drivers }: ScheduleContext): Promise<void> {
  const isExpired = ({ expirationTime }: Point): boolean =>
    expirationTime !== undefined && (parseTime(expirationTime) ?? 0) <= clock.now()
  const expired = (await allPoints(store)).filter(isExpired)
  if (expired.length === 0) return
  await deleteImages(drivers, expired)
  await store.transaction((transaction) => removePoints(transaction, expired))
}
