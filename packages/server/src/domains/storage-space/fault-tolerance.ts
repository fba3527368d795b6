/**
 * Hosts that may still fail without loss of data. A host that is down, in maintenance, without its controller VM or has a
 * broken drive counts as failed until its data has been copied. Source: behaviour clustermgmt.md 1.4, 3 (Fault tolerance).
 */
import type { EntityOf } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Drivers } from '../../drivers/drivers.ts'
import { type CapacityContext, hostCapacity, poolUsage } from './capacity.ts'

type HostRow = EntityOf<typeof Host>

const copiedBytesPerSecond = 400 * 1024 ** 2

interface Asking extends CapacityContext {
  readonly drivers: Drivers
}

interface Loss {
  readonly host: HostRow
  /** False: only some drives are lost. */
  readonly isWhole: boolean
  readonly lostBytes: number
  /** Milliseconds since 1970. Undefined: never copied, because of maintenance or an unknown time. */
  readonly since: number | undefined
}

/** Limited by the redundancy factor, by losses that are not copied yet, and by the space for copies. */
export async function currentFaultTolerance(
  ctx: Asking,
  cluster: EntityOf<typeof Cluster>,
  hosts: readonly HostRow[],
): Promise<number> {
  const factor = cluster.config?.redundancyFactor ?? 2
  const copies = Math.min(factor, cluster.achievedRedundancyFactor ?? factor)
  const losses = hosts.flatMap((host) => lossOf(ctx.drivers, host) ?? [])
  if (losses.length === 0) return Math.max(0, copies - 1)

  const { hardware } = ctx.drivers
  const lostHosts = new Set(losses.filter(({ isWhole }) => isWhole).map(({ host }) => host.extId))
  const left = hosts.filter(({ extId }) => !lostHosts.has(extId)).map((host) => hostCapacity(host, hardware))
  const used = await usedBytes(ctx, cluster.extId)
  const whole = hosts.reduce((sum, host) => sum + hostCapacity(host), 0)
  const isCopied = ({ since, lostBytes }: Loss): boolean => {
    if (since === undefined || !hasRoom(left, copies, used, 0)) return false
    const bytes = whole === 0 ? 0 : (used * lostBytes) / whole
    return ctx.clock.now() - since >= (1000 * bytes) / (copiedBytesPerSecond * left.length)
  }
  const open = losses.filter((loss) => !isCopied(loss)).length
  for (let further = copies - 1 - open; further > 0; further--) if (hasRoom(left, copies, used, further)) return further
  return 0
}

function hasRoom(left: readonly number[], copies: number, used: number, gone: number): boolean {
  const rest = left.toSorted((a, b) => a - b).slice(0, Math.max(0, left.length - gone))
  return rest.length >= copies && rest.reduce((sum, bytes) => sum + bytes, 0) >= used
}

function lossOf({ hardware }: Drivers, host: HostRow): Loss | undefined {
  const { isUp, silentSince } = hardware.conditionOf(host.extId)
  if (!isUp) return { host, isWhole: true, lostBytes: hostCapacity(host), since: silentSince }
  if (host.maintenanceState !== 'normal' || !hardware.controllerVm(host.extId).isRunning)
    return { host, isWhole: true, lostBytes: 0, since: undefined }
  const failed = hardware.failedDrives()
  const since = (host.disk ?? []).flatMap(({ uuid }) => failed.get(uuid ?? '') ?? [])
  if (since.length === 0) return undefined
  const lostBytes = hostCapacity(host) - hostCapacity(host, hardware)
  return { host, isWhole: false, lostBytes, since: Math.max(...since) }
}

async function usedBytes(ctx: CapacityContext, clusterExtId: string): Promise<number> {
  const { containers } = await poolUsage(ctx, clusterExtId)
  return [...containers.values()].reduce((sum, { physicalBytes }) => sum + physicalBytes, 0)
}
