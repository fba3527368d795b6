/**
 * Copy-on-write layers. A disk is a chain of layers of which only the top grows; snapshots and clones share the frozen
 * ones below. Source: behaviour vmm.md 3.4.
 */
import type { Layer } from '../../hypervisor.ts'
import type { Collection } from '../world.ts'
import type { DiskFact } from './facts.ts'

const millisPerDay = 24 * 3600 * 1000
const fullPercent = 65
const fillingDays = 20

/** Bytes that this layer holds. */
export function ownBytes(fact: DiskFact, now: number): number {
  const { sizeBytes, frozenBytes, mergedBytes = 0, createdAt, layerSince = createdAt } = fact
  return frozenBytes ?? joined(sizeBytes, mergedBytes, writtenIn(sizeBytes, now - layerSince))
}

/** Bytes that a reader of the disk finds, in all its layers. */
export function contentBytes(disks: Collection<DiskFact>, fact: DiskFact, now: number): number {
  const below = fact.parentExtId === undefined ? undefined : disks.get(fact.parentExtId)
  return joined(fact.sizeBytes, ownBytes(fact, now), below === undefined ? 0 : contentBytes(disks, below, now))
}

/** The layer that keeps what the disk holds now. */
export const frozen = (fact: DiskFact, now: number): DiskFact => {
  const { layerSince: _since, mergedBytes: _merged, ...plain } = fact
  return { ...plain, frozenBytes: ownBytes(fact, now) }
}

/** The disk with an empty layer over `parentExtId`. */
export const over = (fact: DiskFact, parentExtId: string, now: number): DiskFact => {
  const { frozenBytes: _frozen, mergedBytes: _merged, isHidden: _hidden, ...plain } = fact
  return { ...plain, parentExtId, layerSince: now }
}

/** The layer after it has taken over what the one below held. */
export function merged(upper: DiskFact, lower: DiskFact, now: number): DiskFact {
  const { parentExtId: _, ...rest } = upper
  const below = lower.parentExtId === undefined ? {} : { parentExtId: lower.parentExtId }
  const bytes = ownBytes(lower, now)
  return upper.frozenBytes === undefined
    ? { ...rest, ...below, mergedBytes: joined(upper.sizeBytes, upper.mergedBytes ?? 0, bytes) }
    : { ...rest, ...below, frozenBytes: joined(upper.sizeBytes, upper.frozenBytes, bytes) }
}

/** Layers that have another one below or above them, or had one that was merged into them. */
export function layersOf(disks: Collection<DiskFact>, now: number): ReadonlyMap<string, Layer> {
  const isShared = ({ parentExtId, frozenBytes, mergedBytes }: DiskFact): boolean =>
    parentExtId !== undefined || frozenBytes !== undefined || mergedBytes !== undefined
  const shared = [...disks.all()].filter(([, fact]) => isShared(fact))
  return new Map(
    shared.map(([extId, fact]) => [extId, { containerExtId: fact.containerExtId, ownBytes: ownBytes(fact, now) }]),
  )
}

/** Bytes of two layers over each other: what both hold counts once. */
const joined = (sizeBytes: number, one: number, other: number): number =>
  sizeBytes === 0 ? 0 : Math.round(one + other - (one / sizeBytes) * other)

const writtenIn = (sizeBytes: number, millis: number): number =>
  Math.floor(((sizeBytes * fullPercent) / 100) * (1 - Math.exp(-Math.max(0, millis) / millisPerDay / fillingDays)))
