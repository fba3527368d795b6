/**
 * Copy-on-write layers. A disk is a chain of layers of which only the top grows; snapshots and clones share the frozen
 * ones below. Source: behaviour vmm.md 3.4.
 */
import { defined } from '../../../core/defined.ts'
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

/** A disk with the content of this one, and no layer below. */
export function fullCopy(disks: Collection<DiskFact>, fact: DiskFact, containerExtId: string, now: number): DiskFact {
  const { sizeBytes, os, hydration } = fact
  const held = contentBytes(disks, fact, now)
  return {
    containerExtId,
    sizeBytes,
    createdAt: now,
    ...defined({ os, hydration }),
    ...(held > 0 && { mergedBytes: held }),
  }
}

/** The layer that keeps what the disk holds now. */
export const frozen = (fact: DiskFact, now: number): DiskFact => ({
  ...fact,
  frozenBytes: ownBytes(fact, now),
  frozenAt: now,
})

/** The disk with an empty layer over `parentExtId`. */
export const over = (fact: DiskFact, parentExtId: string, now: number): DiskFact => {
  const {
    beforeResize: _size,
    frozenBytes: _bytes,
    frozenAt: _at,
    mergedBytes: _merged,
    isHidden: _hidden,
    layerSince: _since,
    ...plain
  } = fact
  return { ...plain, parentExtId, ...(now === fact.createdAt ? {} : { layerSince: now }) }
}

/** What the disk holds stays as it is; the former size undoes the last resize. */
export function resized(fact: DiskFact, sizeBytes: number, now: number): DiskFact {
  const { beforeResize, layerSince, mergedBytes, ...plain } = fact
  if (sizeBytes === fact.sizeBytes) return fact
  if (sizeBytes === beforeResize?.sizeBytes) return { ...plain, ...beforeResize }
  const before = { sizeBytes: fact.sizeBytes, ...defined({ layerSince, mergedBytes }) }
  return { ...plain, sizeBytes, layerSince: now, mergedBytes: ownBytes(fact, now), beforeResize: before }
}

/** The layer after it has taken over what the one below held. */
export function merged(upper: DiskFact, lower: DiskFact, now: number): DiskFact {
  const { beforeResize: _size, parentExtId: _, layerSince, mergedBytes, ...rest } = upper
  const held = ownBytes(upper, now)
  const fact: DiskFact = {
    ...rest,
    ...(lower.parentExtId === undefined ? {} : { parentExtId: lower.parentExtId }),
    ...(upper.frozenBytes === undefined ? {} : { frozenBytes: joined(upper.sizeBytes, held, ownBytes(lower, now)) }),
  }
  const isContinued = (layerSince ?? upper.createdAt) === lower.frozenAt && mergedBytes === undefined
  if (!isContinued) {
    const bytes = joined(upper.sizeBytes, mergedBytes ?? 0, ownBytes(lower, now))
    return { ...fact, ...(layerSince === undefined ? {} : { layerSince }), mergedBytes: bytes }
  }
  // The disk goes on as if it had not been frozen.
  const { createdAt, layerSince: since = createdAt } = lower
  return {
    ...fact,
    ...(since === upper.createdAt ? {} : { layerSince: since }),
    ...(lower.mergedBytes === undefined ? {} : { mergedBytes: lower.mergedBytes }),
  }
}

/** Layers that have another one below or above them, or had one that was merged into them. A resize makes no layer. */
export function layersOf(disks: Collection<DiskFact>, now: number): ReadonlyMap<string, Layer> {
  const isShared = ({ parentExtId, frozenBytes, ...fact }: DiskFact): boolean =>
    parentExtId !== undefined || frozenBytes !== undefined || (fact.beforeResize ?? fact).mergedBytes !== undefined
  const shared = [...disks.all()].filter(([, fact]) => isShared(fact))
  return new Map(
    shared.map(([extId, fact]) => [extId, { containerExtId: fact.containerExtId, ownBytes: ownBytes(fact, now) }]),
  )
}

/** Bytes of two layers over each other. Guests write to the same part of a disk: what both layers hold counts once. */
function joined(sizeBytes: number, one: number, other: number): number {
  const full = fullBytes(sizeBytes)
  return full === 0 ? 0 : Math.round(one + other - (Math.min(one, full) / full) * Math.min(other, full))
}

const fullBytes = (sizeBytes: number): number => (sizeBytes * fullPercent) / 100

const writtenIn = (sizeBytes: number, millis: number): number =>
  Math.floor(fullBytes(sizeBytes) * (1 - Math.exp(-Math.max(0, millis) / millisPerDay / fillingDays)))
