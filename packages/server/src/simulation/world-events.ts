/** Events of one world. An event and its facts are written in one transaction: a crash leaves both or neither. */

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
import { judged, refusalOf, refusalText, requireScheduled } from './refusals.ts'
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
  /** The event happens now or at its time. @throws ApiError 404, 400, 409, 422; nothing has changed then */
  add(planned: PlannedEvent): Promise<EventRow>
  /** @throws ApiError 409 when it has begun */
  callOff(row: EventRow): Promise<void>
  close(): Promise<void>
}

interface Options {
  readonly store: Store
  readonly world: SimulatedWorld
  readonly clock: WorldClock
  readonly drivers: Drivers
  readonly ids: Ids
  readonly log: pino.Logger
}

const maximumToCome = 1000
const maximumKept = 10_000
const removedAtOnce = 100

export const sortOf = (type: HappeningType): EventSort => catalogue[type] as EventSort

/** Run in the order of their times; at equal times, of their requests. */
interface Due {
  readonly row: EventRow
  readonly at: number
  readonly what: 'begins' | 'ends'
}

/** Runs events that became due while the world was closed, and waits for later ones. */
export function startWorldEvents(options: Options): WorldEvents {
  const events = new EventSchedule(options)
  events.start()
  return events
}

class EventSchedule implements WorldEvents {
  readonly #options: Options
  #cancelTimer = (): void => undefined
  #isClosed = false
  #lastChange: Promise<unknown> = Promise.resolve()

  constructor(options: Options) {
    this.#options = options
  }

  start(): void {
    void this.#options.clock.track(() => this.#change(() => this.#catchUp()))
  }

  add(planned: PlannedEvent): Promise<EventRow> {
    const { store, clock, ids } = this.#options
    return clock.track(() =>
      this.#change(async () => {
        try {
          return await store.transaction((transaction) => this.#addTo(transaction, ids.uuid(), planned))
        } catch (error) {
          throw refusalOf(error)
        } finally {
          await this.#wait()
        }
      }),
    )
  }

  callOff(row: EventRow): Promise<void> {
    return this.#change(async () => {
      await this.#options.store.transaction(async (transaction) => {
        const present = await transaction.get(EventRecord, row.extId)
        if (present === undefined) return
        requireScheduled(present)
        await transaction.remove(EventRecord, row.extId)
      })
      await this.#wait()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer()
    await this.#lastChange
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#lastChange.then(work)
    this.#lastChange = done.catch(() => undefined)
    return done
  }

  async #earliest(): Promise<Due | undefined> {
    const due = (await this.#options.store.find(EventRecord, { filter: toCome })).flatMap((row): Due[] => {
      if (row.status === 'SCHEDULED') return [{ row, what: 'begins', at: timeOf(row.startTime) }]
      return row.endTime === undefined ? [] : [{ row, what: 'ends', at: timeOf(row.endTime) }]
    })
    // The sort is stable, and rows are in the order of their creation.
    return due.sort((a, b) => a.at - b.at)[0]
  }

  async #wait(): Promise<void> {
    const { clock } = this.#options
    const next = await this.#earliest()
    this.#cancelTimer()
    if (next === undefined || this.#isClosed) return
    const { type } = next.row.event
    const about = `event ${next.what === 'begins' ? type : sortOf(type).until}`
    this.#cancelTimer = clock.setTimer(next.at - clock.now(), () => this.start(), undefined, about)
  }

  async #catchUp(): Promise<void> {
    const { clock, log } = this.#options
    try {
      for (let next = await this.#earliest(); next !== undefined && !this.#isClosed; next = await this.#earliest()) {
        if (next.at > clock.now()) break
        await (next.what === 'begins' ? this.#beginLater(next.row) : this.#endInTime(next.row))
      }
      await this.#wait()
    } catch (error) {
      if (!this.#isClosed) log.error({ err: error }, 'events of the world have stopped')
    }
  }

  #happen(transaction: Transaction, row: EventRow, target: Target, type = row.event.type) {
    const { world, clock, drivers } = this.#options
    return sortOf(type).happen({
      ...surroundingsOf({ store: transaction, clock, drivers }),
      world: world.through(factsIn(transaction)),
      event: eventFor(row.event),
      target,
      secretDigest: row.secretDigest,
    })
  }

  /** Also updates the events that it ends. */
  async #begin(transaction: Transaction, row: EventRow, target: Target): Promise<EventRow> {
    const now = this.#options.clock.iso()
    const effects = [...(await this.#happen(transaction, row, target))]
    const { endTime, ...begun } = { ...row, startTime: now, effects }
    await this.#endOthers(transaction, row, target, effects.length > 0)
    const isLasting = sortOf(row.event.type).until !== undefined && effects.length > 0
    if (!isLasting) return { ...begun, status: 'OVER', endTime: now }
    return { ...begun, status: 'LASTING', endTime }
  }

  /** Ends the events whose counterpart `row` is, and those that it replaces. */
  async #endOthers(transaction: Transaction, row: EventRow, target: Target, hasChanged: boolean): Promise<void> {
    const { type } = row.event
    for (const other of await transaction.findWhere(EventRecord, { status: 'LASTING' })) {
      const isEnded = sortOf(other.event.type).until === type
      const isReplaced = other.event.type === type && hasChanged
      if (other.extId === row.extId || !(isEnded || isReplaced) || other.target?.extId !== target.extId) continue
      const part = sortOf(type).part?.(eventFor(row.event))
      if (part !== undefined && part !== sortOf(other.event.type).part?.(eventFor(other.event))) continue
      await transaction.update(EventRecord, other.extId, { status: 'OVER', endTime: this.#options.clock.iso() })
    }
  }

  async #beginLater(row: EventRow): Promise<void> {
    const { store, log } = this.#options
    try {
      await store.transaction(async (transaction) => {
        const target = await this.#presentTarget(transaction, row)
        await transaction.replace(EventRecord, await this.#begin(transaction, row, target))
      })
    } catch (error) {
      const fault = refusalText(error)
      if (fault === undefined) log.error({ err: error, event: row.event.type }, 'an event of the world failed')
      await this.#update(row, {
        status: 'FAILED',
        fault: fault ?? 'It failed because of an error in the service; the log of the service has the details.',
      })
    }
  }

  async #endInTime(row: EventRow): Promise<void> {
    const { store, clock } = this.#options
    try {
      await store.transaction(async (transaction) => {
        const target = await this.#presentTarget(transaction, row)
        const ending = await this.#happen(transaction, row, target, sortOf(row.event.type).until)
        const effects = [...(row.effects ?? []), ...ending]
        await transaction.update(EventRecord, row.extId, { status: 'OVER', effects, endTime: clock.iso() })
      })
    } catch (error) {
      const fault = refusalText(error)
      if (fault === undefined) throw error
      // The target was deleted, and the effects of the event with it.
      await this.#update(row, { status: 'OVER', fault })
    }
  }

  #update(row: EventRow, change: { readonly status: 'OVER' | 'FAILED'; readonly fault: string }): Promise<unknown> {
    const { store, clock } = this.#options
    return store.transaction((transaction) =>
      transaction.update(EventRecord, row.extId, { ...change, endTime: clock.iso() }),
    )
  }

  async #presentTarget(transaction: Transaction, { event, target }: EventRow): Promise<Target> {
    const naming = sortOf(event.type).about(eventFor(event))
    const text = target?.extId ?? naming.text
    return findTarget({ store: transaction, world: this.#options.world }, { ...naming, text })
  }

  async #addTo(transaction: Transaction, extId: string, planned: PlannedEvent): Promise<EventRow> {
    const { world, clock } = this.#options
    const { event, at, until } = planned
    await makeRoom(transaction)
    const target = await findTarget({ store: transaction, world }, sortOf(event.type).about(eventFor(event)))
    const row: EventRow = {
      extId,
      ...judged(world, event, target),
      type: event.type,
      status: 'SCHEDULED',
      target: { kind: target.kind, extId: target.extId, name: target.name },
      startTime: formatTime(at ?? clock.now()),
      endTime: until === undefined ? undefined : formatTime(until),
    }
    const isNow = at === undefined || at <= clock.now()
    return transaction.insert(EventRecord, isNow ? await this.#begin(transaction, row, target) : row)
  }
}

/** @throws ApiError 422 when too many events are scheduled or last */
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

/** The compiler cannot follow a lookup by type to the functions of that type. */
const eventFor = (event: Happening): never => event as never

const timeOf = (time: string | undefined): number => parseTime(time ?? '') ?? 0

const status = pathOf(EventRecord, 'status')
const toCome = or(equals(status, 'SCHEDULED'), equals(status, 'LASTING'))
