/** Distribution of the data of a storage pool over its drives. Source: behaviour clustermgmt.md 1.8, 3 (Capacity). */
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Drivers } from '../../drivers/drivers.ts'
import { type Drive, type Evacuation, shareAt } from '../../drivers/drives.ts'
import { type CapacityContext, isWorking, storageHostsOf, usableBytes, usedBytes } from './capacity.ts'
import { copiedBytesPerSecond } from './fault-tolerance.ts'

interface DriveContext extends CapacityContext {
  readonly drivers: Drivers
}

interface Pool {
  readonly drives: readonly Drive[]
  readonly usedBytes: number
  readonly hosts: number
}

async function poolOf(ctx: DriveContext, clusterExtId: string): Promise<Pool> {
  const { hardware } = ctx.drivers
  const hosts = (await storageHostsOf(ctx.store, clusterExtId)).filter(({ extId }) => hardware.isHostUp(extId))
  const drives = workingDrives(hardware, hosts)
  return { drives, usedBytes: await usedBytes(ctx, clusterExtId), hosts: hosts.length }
}

/** The pool's data is spread in proportion to it. @param at milliseconds since 1970 */
const weightAt = (drive: Drive, at: number): number => usableBytes(drive.sizeBytes) * shareAt(drive, at)

/** Share of the pool's data, among the working drives of all hosts that are up. */
export function partOf(drive: Drive, drives: readonly Drive[], at: number): number {
  const all = drives.reduce((sum, other) => sum + weightAt(other, at), 0)
  return all === 0 ? 0 : weightAt(drive, at) / all
}

export const workingDrives = (hardware: Drivers['hardware'], hosts: readonly Host[]): readonly Drive[] =>
  hosts
    .filter(({ extId }) => hardware.isHostUp(extId))
    .flatMap(({ extId }) => hardware.drivesOf(extId))
    .filter(isWorking)

/** One for each drive; a lost drive has the bytes that others have not copied yet. Reads every guest of the cluster. */
export async function evacuationsOf(
  ctx: DriveContext,
  clusterExtId: string,
  drives: readonly Drive[],
): Promise<readonly Evacuation[]> {
  const pool = await poolOf(ctx, clusterExtId)
  return drives.map((drive) => evacuationOf(ctx, pool, drive))
}

function evacuationOf(
  { clock, drivers }: DriveContext,
  { drives, usedBytes: used, hosts }: Pool,
  drive: Drive,
): Evacuation {
  const now = clock.now()
  const { isUp, silentSince } = drivers.hardware.conditionOf(drive.hostExtId)
  if (isWorking(drive) && isUp) return { bytes: Math.round(used * partOf(drive, drives, now)) }
  const since = drive.fault?.since ?? silentSince ?? now
  const lost = used * partOf(drive, [...drives, drive], since)
  const bytesPerSecond = copiedBytesPerSecond * Math.max(1, hosts)
  return { bytes: Math.max(0, Math.round(lost - (bytesPerSecond * (now - since)) / 1000)), bytesPerSecond }
}

/** Fair share of a drive that is new in the pool. */
export async function fairBytes(ctx: DriveContext, clusterExtId: string, drive: Drive): Promise<number> {
  const { drives, usedBytes: used } = await poolOf(ctx, clusterExtId)
  const totalBytes = [...drives, drive].reduce((sum, { sizeBytes }) => sum + usableBytes(sizeBytes), 0)
  return Math.round((used * usableBytes(drive.sizeBytes)) / totalBytes)
}
