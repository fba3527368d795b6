/** Copy-on-write layers: a disk's top layer grows; snapshots and clones share the frozen ones below. Source: behaviour vmm.md 3.4. */
import { defined } from '../../../core/defined.ts'
import type { Layer } from '../../hypervisor.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { type DiskFact, diskFacts } from './facts.ts'

const millisPerDay = 24 * 3600 * 1000
const fullPercent = 65
const fillingDays = 20

export function ownBytes(fact: DiskFact, now: number): number {
  const { sizeBytes, frozenBytes, mergedBytes = 0, createdAt, layerSince = createdAt, isReadOnly } = fact
  const written = isReadOnly === true ? 0 : writtenIn(sizeBytes, now - layerSince)
  return frozenBytes ?? joined(sizeBytes, mergedBytes, written)
}

/** The layers that a reader of the disk passes, from the disk down. */
export function chainOf(disks: Collection<DiskFact>, diskExtId: string): readonly (readonly [string, DiskFact])[] {
  const chain: (readonly [string, DiskFact])[] = []
  for (let extId: string | undefined = diskExtId; extId !== undefined; ) {
    const fact = disks.get(extId)
    if (fact === undefined) break
    chain.push([extId, fact])
    extId = fact.parentExtId
  }
  return chain
}

/** Bytes that a reader of the disk finds, in all its layers. */
export function contentBytes(disks: Collection<DiskFact>, fact: DiskFact, now: number): number {
  const below = fact.parentExtId === undefined ? [] : chainOf(disks, fact.parentExtId).map(([, layer]) => layer)
  return [fact, ...below].reduceRight((held, layer) => joined(layer.sizeBytes, ownBytes(layer, now), held), 0)
}

/** The layer with a copy of the contents of those below it. */
export function standalone(disks: Collection<DiskFact>, fact: DiskFact, now: number): DiskFact {
  const { parentExtId: _below, beforeResize: _size, ...rest } = fact
  const held = contentBytes(disks, fact, now)
  const { frozenAt, frozenBytes } = fact
  // A layer that is merged with this one later continues from here.
  const copied = { ...rest, mergedBytes: held, layerSince: frozenAt ?? now }
  return frozenBytes === undefined ? copied : { ...copied, frozenBytes: held }
}

export function fullCopy(disks: Collection<DiskFact>, fact: DiskFact, containerExtId: string, now: number): DiskFact {
  const { sizeBytes, os, hydration, isReadOnly } = fact
  const held = contentBytes(disks, fact, now)
  return {
    containerExtId,
    sizeBytes,
    createdAt: now,
    ...defined({ os, hydration, isReadOnly }),
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

/** Contents stay; the former size undoes the last resize. */
export function resized(fact: DiskFact, sizeBytes: number, now: number): DiskFact {
  const { beforeResize, layerSince, mergedBytes, ...plain } = fact
  if (sizeBytes === fact.sizeBytes) return fact
  if (sizeBytes === beforeResize?.sizeBytes) return { ...plain, ...beforeResize }
  const before = { sizeBytes: fact.sizeBytes, ...defined({ layerSince, mergedBytes }) }
  return { ...plain, sizeBytes, layerSince: now, mergedBytes: ownBytes(fact, now), beforeResize: before }
}

/** The layer above, with the contents of the removed lower one. */
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
  // The disk continues as if it had not been frozen.
  const { createdAt, layerSince: since = createdAt } = lower
  return {
    ...fact,
    ...(since === upper.createdAt ? {} : { layerSince: since }),
    ...(lower.mergedBytes === undefined ? {} : { mergedBytes: lower.mergedBytes }),
  }
}

/** Whether the disk has a layer below or above it, or had one that was merged into it. A resize makes no layer. */
export function isLayer({ parentExtId, frozenBytes, ...fact }: DiskFact): boolean {
  const { layerSince, mergedBytes } = fact.beforeResize ?? fact
  return [parentExtId, frozenBytes, layerSince, mergedBytes].some((each) => each !== undefined)
}

/** The layers among the disks, searched again only after a disk has changed. */
export function layerIndex(world: SimulatedWorld): (now: number) => ReadonlyMap<string, Layer> {
  const disks = diskFacts(world)
  let layers: readonly (readonly [string, DiskFact])[] | undefined
  let readers: ReadonlyMap<string, Readers> = new Map()
  world.watch(['virtualDisks'], () => (layers = undefined))
  return (now) => {
    if (layers === undefined) {
      layers = [...disks.all()].filter(([, fact]) => isLayer(fact))
      readers = readersOf(disks, layers)
    }
    return new Map(layers.map(([extId, fact]) => [extId, { ...layerOf(fact, now), ...readers.get(extId) }]))
  }
}

type Readers = Required<Pick<Layer, 'disks' | 'snapshots'>>

/** Disks and snapshots read all layers below them. */
function readersOf(
  disks: Collection<DiskFact>,
  layers: readonly (readonly [string, DiskFact])[],
): ReadonlyMap<string, Readers> {
  const readers = new Map<string, Readers>(layers.map(([extId]) => [extId, { disks: 0, snapshots: 0 }]))
  for (const [reader, { frozenBytes, isHidden }] of layers) {
    if (isHidden === true) continue
    for (const [extId] of chainOf(disks, reader)) {
      const { disks: one, snapshots } = readers.get(extId) ?? { disks: 0, snapshots: 0 }
      const isDisk = frozenBytes === undefined
      readers.set(extId, { disks: one + (isDisk ? 1 : 0), snapshots: snapshots + (isDisk ? 0 : 1) })
    }
  }
  return readers
}

export const layerOf = (fact: DiskFact, now: number): Layer => ({
  containerExtId: fact.containerExtId,
  ownBytes: ownBytes(fact, now),
})

/** Bytes of two layers over each other. Guests write to the same part of a disk: what both layers hold counts once. */
function joined(sizeBytes: number, one: number, other: number): number {
  const full = fullBytes(sizeBytes)
  return full === 0 ? 0 : Math.round(one + other - (Math.min(one, full) / full) * Math.min(other, full))
}

/** The level towards which guests fill their disks. */
export const fullBytes = (sizeBytes: number): number => (sizeBytes * fullPercent) / 100

const writtenIn = (sizeBytes: number, millis: number): number =>
  Math.floor(fullBytes(sizeBytes) * (1 - Math.exp(-Math.max(0, millis) / millisPerDay / fillingDays)))
