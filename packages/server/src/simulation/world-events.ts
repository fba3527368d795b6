/**
 * The events of one world: what is to happen, what lasts, what has happened. An event and the facts that it changes are written
 * in one transaction of the world's store, so that a crash leaves both or neither. Those to come wait on the world's clock.
 */

import type { Happening, HappeningType } from '@hyperplane/contract/control/world-happening'
import type { pino } from 'pino'
import { ApiError } from '../core/api-error.ts'
import type { Ids } from '../core/caller.ts'
import { pathOf } from '../core/standard.ts'
import { formatTime, parseTime, type WorldClock } from '../core/time/clock.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { catalogue, type EventSort, type Target } from '../drivers/simulated/events/index.ts'
import { EventRecord, type EventRow } from '../drivers/simulated/events/record.ts'
import { factsIn, type SimulatedWorld } from '../drivers/simulated/world.ts'
import { equals, or } from '../odata/index.ts'
import type { Store, Transaction } from '../store/store.ts'
import { faultOf, judged, refusalOf, requireToCome } from './refusals.ts'
import { surroundingsOf } from './surroundings.ts'
import { findTarget } from './targets.ts'

export interface PlannedEvent {
  readonly event: Happening
  /** Milliseconds since 1970; absent: now. */
  readonly at?: number
  /** Absent: until its counterpart happens. */
  readonly until?: number
}

export interface WorldEvents {
  /** Makes it happen, now or at its time. @throws ApiError 404, 400, 409, 422; and nothing has changed */
  add(planned: PlannedEvent): Promise<EventRow>
  /** Calls off what has not begun. @throws ApiError 409 */
  callOff(row: EventRow): Promise<void>
  close(): Promise<void>
}

interface Options {
  readonly store: Store
  readonly world: SimulatedWorld
  readonly clock: WorldClock
  readonly drivers: Drivers
  /** Of the events. */
  readonly ids: Ids
  readonly log: pino.Logger
}

const maximumToCome = 1000
const maximumKept = 10_000
/** So many of the oldest go at once. */
const removedAtOnce = 100

export const sortOf = (type: HappeningType): EventSort => catalogue[type] as EventSort

/** Those that are due go first, in the order of their times; of two at the same time, the one that was asked for first. */
interface Due {
  readonly row: EventRow
  readonly at: number
  readonly what: 'begins' | 'ends'
}

export function startWorldEvents({ store, world, clock, drivers, ids, log }: Options): WorldEvents {
  let cancel = (): void => undefined
  let isClosed = false
  /** One after the other. */
  let running: Promise<unknown> = Promise.resolve()

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = running.then(work)
    running = done.catch(() => undefined)
    return done
  }

  async function earliest(): Promise<Due | undefined> {
    const due = (await store.find(EventRecord, { filter: toCome })).flatMap((row): Due[] => {
      if (row.status === 'SCHEDULED') return [{ row, what: 'begins', at: timeOf(row.startTime) }]
      return row.endTime === undefined ? [] : [{ row, what: 'ends', at: timeOf(row.endTime) }]
    })
    // Stable: rows come in the order in which they were made.
    return due.sort((a, b) => a.at - b.at)[0]
  }

  async function wait(): Promise<void> {
    const next = await earliest()
    cancel()
    if (next === undefined || isClosed) return
    const type = next.what === 'begins' ? next.row.event.type : (sortOf(next.row.event.type).until as HappeningType)
    const about = `event ${type}`
    cancel = clock.setTimer(next.at - clock.now(), () => void clock.track(() => inTurn(catchUp)), undefined, about)
  }

  async function catchUp(): Promise<void> {
    try {
      for (let next = await earliest(); next !== undefined && !isClosed; next = await earliest()) {
        if (next.at > clock.now()) break
        await (next.what === 'begins' ? beginLater(next.row) : endInTime(next.row))
      }
      await wait()
    } catch (error) {
      if (!isClosed) log.error({ err: error }, 'events of the world do not go on')
    }
  }

  /** Changes the facts, in the transaction of the row that tells of it. */
  const happen = (transaction: Transaction, row: EventRow, target: Target, type = row.event.type) =>
    sortOf(type).happen({
      ...surroundingsOf({ store: transaction, clock, drivers }),
      world: world.through(factsIn(transaction)),
      event: row.event as never,
      target,
      ...(row.secretDigest === undefined ? {} : { secretDigest: row.secretDigest }),
    })

  /** What is to be written of an event that begins now; others that it ends are told so. */
  async function begin(transaction: Transaction, row: EventRow, target: Target): Promise<EventRow> {
    const now = clock.iso()
    const effects = [...(await happen(transaction, row, target))]
    const { endTime, ...begun } = { ...row, startTime: now, effects }
    await endOthers(transaction, row, target, effects.length > 0)
    const isLasting = sortOf(row.event.type).until !== undefined && effects.length > 0
    if (!isLasting) return { ...begun, status: 'OVER', endTime: now }
    return { ...begun, status: 'LASTING', ...(endTime === undefined ? {} : { endTime }) }
  }

  /** Ends what this one is the counterpart of, and what it takes the place of. */
  async function endOthers(
    transaction: Transaction,
    row: EventRow,
    target: Target,
    hasChanged: boolean,
  ): Promise<void> {
    const { type } = row.event
    for (const other of await transaction.findWhere(EventRecord, { status: 'LASTING' })) {
      const isEnded = sortOf(other.event.type).until === type
      const isReplaced = other.event.type === type && hasChanged
      if (other.extId === row.extId || !(isEnded || isReplaced) || other.target?.extId !== target.extId) continue
      const part = sortOf(type).part?.(row.event as never)
      if (part !== undefined && part !== sortOf(other.event.type).part?.(other.event as never)) continue
      await transaction.update(EventRecord, other.extId, { status: 'OVER', endTime: clock.iso() })
    }
  }

  async function beginLater(row: EventRow): Promise<void> {
    try {
      await store.transaction(async (transaction) => {
        const target = await again(transaction, row)
        await transaction.replace(EventRecord, await begin(transaction, row, target))
      })
    } catch (error) {
      const fault = faultOf(error)
      if (fault === undefined) log.error({ err: error, event: row.event.type }, 'an event of the world failed')
      await fail(row, fault ?? 'It failed for a reason that is the fault of the service; its log has it.')
    }
  }

  const fail = (row: EventRow, fault: string): Promise<unknown> =>
    store.transaction((transaction) =>
      transaction.update(EventRecord, row.extId, { status: 'FAILED', fault, endTime: clock.iso() }),
    )

  async function endInTime(row: EventRow): Promise<void> {
    try {
      await store.transaction(async (transaction) => {
        const target = await again(transaction, row)
        const ending = await happen(transaction, row, target, sortOf(row.event.type).until)
        const effects = [...(row.effects ?? []), ...ending]
        await transaction.update(EventRecord, row.extId, { status: 'OVER', effects, endTime: clock.iso() })
      })
    } catch (error) {
      const fault = faultOf(error)
      if (fault === undefined) throw error
      // What it happened to is gone, and its faults with it.
      await store.transaction((transaction) =>
        transaction.update(EventRecord, row.extId, { status: 'OVER', fault, endTime: clock.iso() }),
      )
    }
  }

  /** The target as it is now. @throws ApiError when it is gone */
  async function again(transaction: Transaction, { event, target }: EventRow): Promise<Target> {
    const naming = sortOf(event.type).about(event as never)
    return findTarget({ store: transaction, world }, { ...naming, text: target?.extId ?? naming.text })
  }

  async function makeRoom(transaction: Transaction): Promise<void> {
    const found = (await transaction.count(EventRecord, { filter: toCome })) + 1
    if (found > maximumToCome) {
      const limit = 'Events of a world that are to come or last'
      throw new ApiError('LIMIT_EXCEEDED', { limit, maximum: maximumToCome, found })
    }
    if ((await transaction.count(EventRecord, {})) < maximumKept) return
    const oldest = await transaction.page(EventRecord, { offset: 0, limit: maximumToCome + removedAtOnce })
    const over = oldest.entities.filter(({ status }) => status === 'OVER' || status === 'FAILED')
    for (const { extId } of over.slice(0, removedAtOnce)) await transaction.remove(EventRecord, extId)
  }

  async function addTo(transaction: Transaction, extId: string, planned: PlannedEvent): Promise<EventRow> {
    const { event, at, until } = planned
    await makeRoom(transaction)
    const target = await findTarget({ store: transaction, world }, sortOf(event.type).about(event as never))
    const row: EventRow = {
      extId,
      ...judged(world, event, target),
      type: event.type,
      status: 'SCHEDULED',
      target: { kind: target.kind, extId: target.extId, name: target.name },
      startTime: formatTime(at ?? clock.now()),
      ...(until === undefined ? {} : { endTime: formatTime(until) }),
    }
    const isNow = at === undefined || at <= clock.now()
    return transaction.insert(EventRecord, isNow ? await begin(transaction, row, target) : row)
  }

  void clock.track(() => inTurn(catchUp))
  return {
    add: (planned) =>
      clock.track(() =>
        inTurn(async () => {
          try {
            return await store.transaction((transaction) => addTo(transaction, ids.uuid(), planned))
          } catch (error) {
            throw refusalOf(error)
          } finally {
            await wait()
          }
        }),
      ),
    callOff: (row) =>
      inTurn(async () => {
        await store.transaction(async (transaction) => {
          const now = await transaction.get(EventRecord, row.extId)
          if (now === undefined) return
          requireToCome(now)
          await transaction.remove(EventRecord, row.extId)
        })
        await wait()
      }),
    async close() {
      isClosed = true
      cancel()
      await running
    },
  }
}

const timeOf = (time: string | undefined): number => parseTime(time ?? '') ?? 0

const status = pathOf(EventRecord, 'status')
/** Neither over nor failed. */
const toCome = or(equals(status, 'SCHEDULED'), equals(status, 'LASTING'))
