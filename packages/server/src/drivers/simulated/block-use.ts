/** Records which VMs and clients used a volume group at which time. Source: behaviour volumes-storage.md 3 (Demand). */
import { defined } from '../../core/defined.ts'
import { type BlockDiskFact, blockDiskFacts, imageFacts, type TargetFact, targetFacts } from './block-facts.ts'
import { sessionCollections, sessionsOf } from './block-sessions.ts'
import { type History, type Observation, recordPeriod } from './flows/history.ts'
import { maintenanceFacts } from './hardware.ts'
import { diskFacts, domainFacts } from './hypervisor/facts.ts'
import type { SimulatedWorld } from './world.ts'

/** A volume group that is in use. Times are milliseconds since 1970. */
export interface ObservedUse extends Pick<TargetFact, 'isBackupTarget' | 'isSpread' | 'name'> {
  readonly vms: readonly {
    readonly vmExtId: string
    readonly name: string
    readonly hostExtId: string
    readonly from: number
  }[]
  readonly clients: readonly { readonly clientExtId: string; readonly name?: string; readonly from: number }[]
}

/** By volume group, and by host. */
export const useHistory = (world: SimulatedWorld) => ({
  uses: world.collection<History<ObservedUse>>('blockStorage.uses'),
  maintenance: world.collection<History<true>>('blockStorage.maintenance'),
})

export const useCollections = [...sessionCollections, 'domains', 'hardware.maintenance'] as const

/** Earlier periods are dropped after 500, or 90 days: `settled` has counted their bytes by then. */
const manyPeriods = 400
const settledAfterMillis = 80 * 24 * 3600 * 1000

/** @returns a function that records changes since its last call */
export function createUseObserver(world: SimulatedWorld): () => Promise<void> {
  const { uses, maintenance } = useHistory(world)
  const seen = new Map<string, readonly unknown[]>()
  const isUnchanged = (groupExtId: string, facts: readonly unknown[]): boolean => {
    const before = seen.get(groupExtId)
    return before?.length === facts.length && facts.every((fact, index) => fact === before[index])
  }
  return async () => {
    const now = world.clock.now()
    const targets = targetFacts(world).all()
    const removed = [...(seen.size === 0 ? uses.all().keys() : seen.keys())].filter((extId) => !targets.has(extId))
    const ids = new Set(removed)
    const observed = new Map<string, Observation<ObservedUse>>()
    for (const extId of removed) seen.delete(extId)
    for (const [extId, target] of targets) {
      const sessions = sessionsOf(world, target)
      const facts = [target, ...sessions.map(({ since }) => since), ...domainsOf(world, target)]
      if (isUnchanged(extId, facts)) continue
      seen.set(extId, facts)
      ids.add(extId)
      const use = useOf(world, target)
      if (use !== undefined) observed.set(extId, { value: use, since: beginningOf(use) })
    }
    await settleOld(world, ids, now)
    await recordPeriod(uses, observed, ids, now)
    const hosts = maintenanceFacts(world).all()
    const inMaintenance = new Map([...hosts].map(([extId, { since }]) => [extId, { value: true as const, since }]))
    await recordPeriod(maintenance, inMaintenance, new Set([...hosts.keys(), ...maintenance.all().keys()]), now)
  }
}

const domainsOf = (world: SimulatedWorld, { plugs }: TargetFact): readonly unknown[] =>
  Object.keys(plugs).map((vmExtId) => domainFacts(world).get(vmExtId))

export const beginningOf = ({ vms, clients }: ObservedUse): number =>
  Math.min(...vms.map(({ from }) => from), ...clients.map(({ from }) => from))

function useOf(world: SimulatedWorld, target: TargetFact): ObservedUse | undefined {
  const { plugs, plugTimes = {}, accessList, isBackupTarget, isSpread, name } = target
  const domains = domainFacts(world)
  const vms = Object.keys(plugs).flatMap((vmExtId) => {
    const { state, hostExtId, startedAt = 0, domain } = domains.get(vmExtId) ?? {}
    if (state !== 'ON' || hostExtId === undefined || target.suspendedSince !== undefined) return []
    const from = Math.max(startedAt, plugTimes[vmExtId] ?? 0, target.resumedAt ?? 0)
    return { vmExtId, name: domain?.name ?? '', hostExtId, from }
  })
  const clients = sessionsOf(world, target).map(({ clientExtId, since }) => ({
    clientExtId,
    ...defined({ name: accessList[clientExtId]?.name }),
    from: since,
  }))
  if (vms.length === 0 && clients.length === 0) return undefined
  return { isBackupTarget, isSpread, name, vms, clients }
}

async function settleOld(world: SimulatedWorld, groups: ReadonlySet<string>, now: number): Promise<void> {
  const { uses } = useHistory(world)
  const isOld = (extId: string): boolean => {
    const { periods = [] } = uses.get(extId) ?? {}
    return periods.length >= manyPeriods || (periods[0]?.to ?? now) < now - settledAfterMillis
  }
  const old = new Set([...groups].filter(isOld))
  if (old.size === 0) return
  const disks = [...blockDiskFacts(world).all()].filter(([, disk]) => old.has(disk.volumeGroupExtId))
  await blockDiskFacts(world).putAll(new Map(disks.map(([extId, disk]) => [extId, settled(world, disk)])))
}

/** Counts the growth until now, so that later growth starts here. */
export function settled(world: SimulatedWorld, disk: BlockDiskFact): BlockDiskFact {
  const now = world.clock.now()
  const { since, sizeBytes, writtenBytes, fills = [] } = disk
  if (since >= now) return disk
  const kept = [...fills, { since, sizeBytes, writtenBytes }].slice(-keptFills)
  return { ...disk, writtenBytes: writtenAt(world, disk, now), since: now, fills: kept }
}

/** Whether the bytes that it shares are counted elsewhere. */
export function hasSource(world: SimulatedWorld, { source }: BlockDiskFact): boolean {
  if (source === undefined) return false
  const facts = { image: imageFacts, volumeDisk: blockDiskFacts, vmDisk: diskFacts }[source.kind](world)
  return facts.get(source.extId) !== undefined
}

const keptFills = 100
const day = 24 * 3600 * 1000

/** @returns bytes in the disk at `time`; before its first known time, those of that time */
export function writtenAt(world: SimulatedWorld, disk: BlockDiskFact, time: number): number {
  const { since, sizeBytes, writtenBytes, fills = [] } = disk
  const pieces = [...fills, { since, sizeBytes, writtenBytes }]
  const index = Math.max(
    0,
    pieces.findLastIndex((piece) => piece.since <= time),
  )
  const piece = pieces[index] as (typeof pieces)[number]
  const history = useHistory(world).uses.get(disk.volumeGroupExtId)
  const isBackup = targetFacts(world).get(disk.volumeGroupExtId)?.isBackupTarget === true
  return grown(piece, busyMillis(history, piece.since, time), isBackup)
}

function busyMillis(history: History<ObservedUse> | undefined, from: number, until: number): number {
  let busy = 0
  for (const { from: begin, to = until, value } of history?.periods ?? [])
    busy += Math.max(0, Math.min(to, until) - Math.max(begin, from, beginningOf(value)))
  return busy
}

/** Backups add 2 % of the size a day up to 95 %; everything else nears 65 % with a time constant of 20 days. */
function grown(
  { sizeBytes, writtenBytes }: Pick<BlockDiskFact, 'sizeBytes' | 'writtenBytes'>,
  busy: number,
  isBackupTarget: boolean,
): number {
  const days = busy / day
  const full = Math.floor((sizeBytes * (isBackupTarget ? 95 : 65)) / 100)
  if (writtenBytes >= full) return writtenBytes
  const added = isBackupTarget ? sizeBytes * 0.02 * days : (full - writtenBytes) * (1 - Math.exp(-days / 20))
  return Math.min(full, writtenBytes + Math.floor(added))
}
