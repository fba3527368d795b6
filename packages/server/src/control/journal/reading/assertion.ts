/** Waits for enough calls, or a timeout on the world clock; real time while that is frozen. */
import type { Clock, WorldClock } from '../../../core/time/clock.ts'
import { formatTime } from '../../../core/time/time.ts'
import { and, evaluateFilter, fieldsOf, type TypedFilter } from '../../../odata/index.ts'
import type { Journal } from '../journals.ts'
import { until } from './call-filter.ts'

export interface CallAssertion {
  readonly filter: TypedFilter | undefined
  readonly atLeast?: number | undefined
  readonly atMost?: number | undefined
  readonly exactly?: number | undefined
  readonly withinMilliseconds: number
}

export interface AssertionContext {
  readonly journal: Pick<Journal, 'tally' | 'near' | 'changed' | 'ending'>
  readonly clock: Pick<WorldClock, 'now' | 'mode'>
  readonly real: Pick<Clock, 'now' | 'setTimer'>
}

/** Real time after which an assertion answers in any case. */
export const longestWaitMilliseconds = 60_000
/** Real time: a timer of the world clock would itself be an event of the world. */
const pollMilliseconds = 20
const shownMatching = 10
const maximumNearMisses = 5

export async function evaluateAssertion({ journal, clock, real }: AssertionContext, asserted: CallAssertion) {
  const { filter, withinMilliseconds } = asserted
  const deadline = clock.now() + withinMilliseconds
  const began = real.now()
  const condition = and(...(filter === undefined ? [] : [filter]), until(formatTime(deadline)))
  const matching: number[] = []
  let count = 0
  let last = 0
  for (;;) {
    // Read before the count, so that calls recorded just before the deadline are counted.
    const isOver = clock.now() >= deadline
    const patience =
      clock.mode === 'frozen' ? Math.min(withinMilliseconds, longestWaitMilliseconds) : longestWaitMilliseconds
    const isPatient = real.now() - began < patience && !journal.ending.aborted
    const waiting = new AbortController()
    const changed = journal.changed(waiting.signal)
    const tally = await journal.tally({ after: last, filter: condition, matching: shownMatching - matching.length })
    count += tally.count
    matching.push(...tally.matching)
    last = Math.max(last, tally.last)
    const verdict = earlyVerdict(asserted, count)
    if (verdict !== undefined || isOver || !isPatient) {
      waiting.abort()
      const isHeld = verdict ?? finalVerdict(asserted, count)
      return {
        isHeld,
        count,
        endedBy: verdict !== undefined ? ('count' as const) : isOver ? ('time' as const) : ('patience' as const),
        time: formatTime(clock.now()),
        ...(last === 0 ? {} : { lastSequence: last }),
        matching,
        nearest: isHeld ? [] : await nearest(journal, filter),
      }
    }
    const stop = real.setTimer(pollMilliseconds, () => waiting.abort())
    await changed
    stop()
  }
}

/** Undefined: more calls can still change the verdict. */
function earlyVerdict({ atMost, exactly, ...asserted }: CallAssertion, count: number): boolean | undefined {
  if (atMost !== undefined) return count > atMost ? false : undefined
  if (exactly !== undefined) return count === exactly ? true : count > exactly ? false : undefined
  return count >= minimumCount(asserted) ? true : undefined
}

const finalVerdict = ({ atMost }: CallAssertion, count: number): boolean => atMost !== undefined && count <= atMost

const minimumCount = ({ atLeast }: Pick<CallAssertion, 'atLeast'>): number => atLeast ?? 1

async function nearest(journal: AssertionContext['journal'], filter: TypedFilter | undefined) {
  const terms = filter === undefined ? [] : filter.kind === 'and' ? filter.terms : [filter]
  const documents = await journal.near(terms, maximumNearMisses)
  return documents.map((document) => {
    const call = JSON.parse(document)
    const unmet = terms.filter((term) => evaluateFilter(term, call) !== true)
    return {
      sequence: call.sequence as number,
      ...(call.operation === undefined ? {} : { operation: call.operation as string }),
      status: call.status as number,
      unmet: unmet.map((term) => {
        const fields = fieldsOf(term)
        return { fields, found: fields.map((path) => (JSON.stringify(valueAt(call, path)) ?? 'nothing').slice(0, 300)) }
      }),
    }
  })
}

function valueAt(value: unknown, path: string): unknown {
  const memberOf = (at: unknown, name: string): unknown => (at as Record<string, unknown> | undefined)?.[name]
  return path
    .split('/')
    .reduce(
      (at, name) => (Array.isArray(at) ? at.flatMap((item) => memberOf(item, name) ?? []) : memberOf(at, name)),
      value,
    )
}
