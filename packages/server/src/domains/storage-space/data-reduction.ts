/** Savings grow from the later of two times: the reduction was enabled, the data was written. Source: clustermgmt.md 1.9, 3 (Capacity). */

import type { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { drawsFrom } from '../../core/ids/draws.ts'
import { parseTime } from '../../core/time/clock.ts'

type Since = NonNullable<StorageContainer['reductionsSince']>

export interface Data {
  /** Seed of the ratios, so that data keeps its ratios. */
  readonly extId: string
  readonly uniqueBytes: number
  /** Milliseconds since the data was written; absent: unlimited. */
  readonly ageMillis?: number
  /** For example images, which are compressed already. */
  readonly isIncompressible?: boolean
}

const million = 1_000_000
const hour = 60 * 60 * 1000
const compressionRatio = { least: 1.2, most: 2.4, hours: 6 }
const dedupRatio = { least: 1, most: 1.5, hours: 12 }
const erasure = { mostCold: 0.8, hours: 6 }
const defaultErasureDelaySeconds = 604_800

/** Physical bytes per logical byte; undefined: too few hosts for erasure coding. */
function strip(copies: number, hosts: number): number | undefined {
  if (copies === 2) return hosts >= 6 ? 1.25 : hosts === 5 ? 1.33 : hosts === 4 ? 1.5 : undefined
  if (copies === 3) return hosts >= 7 ? 1.5 : hosts === 6 ? 1.67 : undefined
  return undefined
}

export const physicalBytes = (...of: Parameters<typeof reduced>): number => reduced(...of).physicalBytes

/** All copies, after one reduction after the other. */
export function reduced(
  container: StorageContainer,
  around: { readonly hosts: number; readonly now: number },
  data: Data,
): Record<'compressedBytes' | 'copiedBytes' | 'dedupedBytes' | 'physicalBytes', number> {
  const { now } = around
  const copies = container.replicationFactor ?? 2
  const since = container.reductionsSince
  const delay = (seconds: number): number => seconds * 1000
  const compression =
    container.isCompressionEnabled === true && data.isIncompressible !== true
      ? ratio(
          compressionRatio,
          `compression ${data.extId}`,
          workedFor(since?.compression, delay(container.compressionDelaySecs ?? 0)),
        )
      : 1
  const dedup =
    container.onDiskDedup === 'POST_PROCESS'
      ? ratio(dedupRatio, `dedup ${data.extId}`, workedFor(since?.deduplication, 0))
      : 1
  const overhead = container.erasureCode === 'ON' ? strip(copies, around.hosts) : undefined
  const coded =
    overhead === undefined
      ? 0
      : erasure.mostCold *
        grown(
          workedFor(since?.erasureCoding, delay(container.erasureCodeDelaySecs ?? defaultErasureDelaySeconds)),
          erasure.hours,
        )
  // BigInt: the product of bytes and factor exceeds the precision of a double.
  const bytes = (perByte: number): number =>
    Number((BigInt(data.uniqueBytes) * BigInt(Math.round(perByte * million))) / BigInt(million))
  return {
    copiedBytes: data.uniqueBytes * copies,
    compressedBytes: bytes(copies / compression),
    dedupedBytes: bytes(copies / (compression * dedup)),
    physicalBytes: bytes((copies * (1 - coded) + (overhead ?? 0) * coded) / (compression * dedup)),
  }

  function workedFor(time: string | undefined, delayMillis: number): number {
    const enabledMillis = time === undefined ? Number.POSITIVE_INFINITY : now - (parseTime(time) ?? now)
    return Math.max(0, Math.min(enabledMillis, data.ageMillis ?? Number.POSITIVE_INFINITY) - delayMillis)
  }
}

const grown = (millis: number, hours: number): number => 1 - Math.exp(-millis / (hours * hour))

const ratio = (range: { least: number; most: number; hours: number }, seed: string, millis: number): number =>
  1 + (range.least + (range.most - range.least) * drawsFrom(seed)() - 1) * grown(millis, range.hours)

/** Start of each enabled reduction: `now`, unless it was enabled before. */
export function reductionsSince(
  container: Pick<StorageContainer, 'isCompressionEnabled' | 'onDiskDedup' | 'erasureCode'>,
  stored: StorageContainer | undefined,
  now: string,
): Since {
  const before = stored === undefined ? {} : reductionsOf(stored)
  const entries = Object.keys(reductionsOf(container)).map((name) => {
    const isOld = name in before
    return [name, isOld ? stored?.reductionsSince?.[name as keyof Since] : now]
  })
  return Object.fromEntries(entries.filter(([, time]) => time !== undefined))
}

const reductionsOf = (
  container: Pick<StorageContainer, 'isCompressionEnabled' | 'onDiskDedup' | 'erasureCode'>,
): { [N in keyof Since]?: true } => ({
  ...(container.isCompressionEnabled === true ? { compression: true } : {}),
  ...(container.onDiskDedup === 'POST_PROCESS' ? { deduplication: true } : {}),
  ...(container.erasureCode === 'ON' ? { erasureCoding: true } : {}),
})
