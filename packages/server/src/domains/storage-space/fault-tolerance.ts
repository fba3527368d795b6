/**
 * Domains (drives, hosts, blocks or racks) that may still fail without loss of data. Copies of a byte are in different domains, so a failed
 * one counts until its data has been copied. Source: behaviour clustermgmt.md 1.2, 1.4, 3 (Fault tolerance).
 */
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Drive } from '../../drivers/drives.ts'
import { type CapacityContext, hostCapacity, isWorking, usableBytes, usedBytes } from './capacity.ts'

type Level = NonNullable<NonNullable<NonNullable<Cluster['config']>['faultToleranceState']>['domainAwarenessLevel']>

/** Each host that is up copies at this rate after a loss. */
export const copiedBytesPerSecond = 400 * 1024 ** 2

interface ToleranceContext extends CapacityContext {
  readonly drivers: Drivers
}

interface Loss {
  readonly domains: readonly string[]
  readonly lostBytes: number
  /** Milliseconds since 1970. Undefined: never copied, because of maintenance or an unknown time. */
  readonly since: number | undefined
}

export const defaultAwareness = (hosts: readonly unknown[]): Level => (hosts.length === 1 ? 'DISK' : 'NODE')

/** A block whose rack has no name counts as a rack of its own. */
export const blockOrRackOf = (host: Host, level: 'BLOCK' | 'RACK'): string =>
  (level === 'RACK' ? host.rackName : undefined) ?? host.blockSerial ?? host.extId

/** Limited by redundancy factor, losses that are not copied yet, and space for copies. @param hosts those that store data */
export async function currentFaultTolerance(
  ctx: ToleranceContext,
  cluster: Cluster,
  hosts: readonly Host[],
): Promise<number> {
  const factor = cluster.config?.redundancyFactor ?? 2
  const copies = Math.min(factor, cluster.achievedRedundancyFactor ?? factor)
  const level = cluster.config?.faultToleranceState?.domainAwarenessLevel ?? defaultAwareness(hosts)
  const { hardware } = ctx.drivers
  const losses = hosts.flatMap((host) => lossesOf(hardware, host, level))
  if (losses.length === 0) return Math.max(0, copies - 1)

  const used = await usedBytes(ctx, cluster.extId)
  const left = [...remaining(hardware, hosts, level).values()]
  const helpers = hosts.filter((host) => isServing(hardware, host)).length
  const totalBytes = hosts.reduce((sum, { extId }) => sum + pooledBytes(hardware.drivesOf(extId)), 0)
  const open = hasRoom(left, copies, used, 0)
    ? openDomains(losses, totalBytes === 0 ? 0 : used / totalBytes, helpers * copiedBytesPerSecond, ctx.clock.now())
    : new Set(losses.flatMap(({ domains }) => domains))
  for (let further = copies - 1 - open.size; further > 0; further--)
    if (hasRoom(left, copies, used, further)) return further
  return 0
}

/** Losses are copied one after another, the oldest first. @param filled used part of the pool, from 0 to 1 */
function openDomains(
  losses: readonly Loss[],
  filled: number,
  bytesPerSecond: number,
  now: number,
): ReadonlySet<string> {
  const open = new Set(losses.flatMap(({ since, domains }) => (since === undefined ? domains : [])))
  let doneAt = 0
  const queue = losses.filter(({ since }) => since !== undefined).sort((a, b) => (a.since ?? 0) - (b.since ?? 0))
  for (const { since = 0, lostBytes, domains } of queue) {
    doneAt = Math.max(doneAt, since) + (1000 * filled * lostBytes) / bytesPerSecond
    if (now < doneAt) for (const domain of domains) open.add(domain)
  }
  return open
}

function hasRoom(left: readonly number[], copies: number, used: number, lost: number): boolean {
  const rest = left.toSorted((a, b) => a - b).slice(0, Math.max(0, left.length - lost))
  return rest.length >= copies && rest.reduce((sum, bytes) => sum + bytes, 0) >= used
}

type Hardware = Drivers['hardware']

const isServing = (hardware: Hardware, host: Host): boolean =>
  hardware.isHostUp(host.extId) &&
  (host.maintenanceState ?? 'normal') === 'normal' &&
  hardware.controllerVm(host.extId).isRunning

function domainOf(host: Host, drive: Drive, level: Level): string {
  if (level === 'DISK') return drive.extId
  return level === 'NODE' ? host.extId : blockOrRackOf(host, level)
}

function lossesOf(hardware: Hardware, host: Host, level: Level): readonly Loss[] {
  const drives = hardware.drivesOf(host.extId).filter(({ isInPool }) => isInPool)
  const { isUp, silentSince } = hardware.conditionOf(host.extId)
  if (!isServing(hardware, host)) {
    const domains = level === 'NODE' ? [host.extId] : drives.map((drive) => domainOf(host, drive, level))
    return [{ domains, lostBytes: pooledBytes(drives), since: isUp ? undefined : silentSince }]
  }
  return drives.flatMap((drive): Loss[] =>
    drive.fault === undefined
      ? []
      : [
          {
            domains: [domainOf(host, drive, level)],
            lostBytes: usableBytes(drive.sizeBytes),
            since: drive.fault.since,
          },
        ],
  )
}

function remaining(hardware: Hardware, hosts: readonly Host[], level: Level): ReadonlyMap<string, number> {
  const bytes = new Map<string, number>()
  const add = (domain: string, some: number): void => void bytes.set(domain, (bytes.get(domain) ?? 0) + some)
  for (const host of hosts.filter((each) => isServing(hardware, each))) {
    if (level === 'NODE') add(host.extId, hostCapacity(host, hardware))
    else
      for (const drive of hardware.drivesOf(host.extId))
        if (isWorking(drive) && !drive.isLeaving) add(domainOf(host, drive, level), usableBytes(drive.sizeBytes))
  }
  return bytes
}

const pooledBytes = (drives: readonly Drive[]): number =>
  drives.reduce((sum, { isInPool, sizeBytes }) => (isInPool ? sum + usableBytes(sizeBytes) : sum), 0)
