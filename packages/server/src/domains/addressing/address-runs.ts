/**
 * A run is a row of consecutive leases, so that the lowest free address (behind a pool's first run) costs a few look-ups. Only `leases.ts`
 * writes runs, with the leases. Source: behaviour networking.md 1.3 (rule 6), 3.5.
 */
import type { EntityOf } from '@hyperplane/contract'
import { AddressRun } from '@hyperplane/contract/networking/address-lease'
import { type Address, type AddressRange, type Family, fromSortable, toSortable } from '../../core/ip-address.ts'
import type { Reader, Transaction } from '../../store/store.ts'

type Run = EntityOf<typeof AddressRun>

export async function runsOf(store: Reader, subnetExtId: string, family: Family): Promise<AddressRange[]> {
  return (await store.walk(AddressRun, { where: { subnetExtId, family }, by: 'first' })).map(rangeOf)
}

export async function lowestFree(
  store: Reader,
  subnetExtId: string,
  family: Family,
  ranges: readonly AddressRange[],
  count: number,
): Promise<bigint[]> {
  const found: bigint[] = []
  for (const place of ranges) {
    let at = place.first
    while (at <= place.last && found.length < count) {
      const run = await runAt(store, subnetExtId, family, at)
      if (run !== undefined) {
        at = rangeOf(run).last + 1n
        continue
      }
      const next = await nextRun(store, subnetExtId, family, at)
      const gapEnd = next === undefined || next.first > place.last ? place.last : next.first - 1n
      for (; at <= gapEnd && found.length < count; at++) found.push(at)
    }
  }
  return found
}

/** Merges adjacent runs. @param values ascending */
export async function addToRuns(
  store: Transaction,
  subnetExtId: string,
  family: Family,
  values: readonly bigint[],
): Promise<void> {
  for (const segment of segmentsOf(values)) await addSegment(store, subnetExtId, family, segment)
}

/** May split a run in two. */
export async function removeFromRuns(
  store: Transaction,
  subnetExtId: string,
  { family, value }: Address,
): Promise<void> {
  const run = await runAt(store, subnetExtId, family, value)
  if (run === undefined) return
  const { first, last } = rangeOf(run)
  if (first === value) await store.remove(AddressRun, run.extId)
  else await store.observe(AddressRun, run.extId, { last: toSortable({ family, value: value - 1n }) })
  if (last > value) await insertRun(store, subnetExtId, family, toSortable({ family, value: value + 1n }), run.last!)
}

function segmentsOf(values: readonly bigint[]): AddressRange[] {
  const segments: { first: bigint; last: bigint }[] = []
  for (const value of values) {
    const open = segments.at(-1)
    if (open !== undefined && open.last + 1n === value) open.last = value
    else segments.push({ first: value, last: value })
  }
  return segments
}

const rangeOf = (run: Run): AddressRange => ({
  first: fromSortable(run.family!, run.first!).value,
  last: fromSortable(run.family!, run.last!).value,
})

async function runAt(store: Reader, subnetExtId: string, family: Family, value: bigint): Promise<Run | undefined> {
  const walk = {
    where: { subnetExtId, family },
    by: 'first',
    to: toSortable({ family, value }),
    descending: true,
    limit: 1,
  }
  const [run] = await store.walk(AddressRun, walk)
  return run !== undefined && rangeOf(run).last >= value ? run : undefined
}

async function nextRun(
  store: Reader,
  subnetExtId: string,
  family: Family,
  value: bigint,
): Promise<AddressRange | undefined> {
  const walk = { where: { subnetExtId, family }, by: 'first', from: toSortable({ family, value }), limit: 1 }
  const [run] = await store.walk(AddressRun, walk)
  return run === undefined ? undefined : rangeOf(run)
}

async function addSegment(
  store: Transaction,
  subnetExtId: string,
  family: Family,
  segment: AddressRange,
): Promise<void> {
  const before = segment.first === 0n ? undefined : await runAt(store, subnetExtId, family, segment.first - 1n)
  const after = await runAt(store, subnetExtId, family, segment.last + 1n)
  if (after !== undefined) await store.remove(AddressRun, after.extId)
  const last = after?.last ?? toSortable({ family, value: segment.last })
  if (before !== undefined) await store.observe(AddressRun, before.extId, { last })
  else await insertRun(store, subnetExtId, family, toSortable({ family, value: segment.first }), last)
}

const insertRun = (
  store: Transaction,
  subnetExtId: string,
  family: Family,
  first: string,
  last: string,
): Promise<Run> => store.insert(AddressRun, { extId: `${subnetExtId}/${first}`, subnetExtId, family, first, last })
