import type { EntityOf } from '@hyperplane/contract'
import { WorldEvent, worldEventOperations } from '@hyperplane/contract/control/world-event'
import type { ApiError } from '../../core/api-error.ts'
import { invalid } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import { notFound } from '../../core/standard.ts'
import { parseTime } from '../../core/time/clock.ts'
import { EventRecord, type EventRow } from '../../drivers/simulated/events/record.ts'
import type { Instance } from '../../instance/instance.ts'
import { sortOf } from '../../simulation/world-events.ts'
import { implementWithinWorld } from '../context.ts'
import { durationFault, millisecondsOf } from '../duration.ts'

type Plan = {
  readonly event: EventRow['event']
  readonly after?: string
  readonly at?: string
  readonly duration?: string
  readonly until?: string
}

export const worldEvent = implementWithinWorld(
  worldEventOperations,
  {
    async listWorldEvents(ctx, { query }) {
      const { store } = await ctx.drivers.instance()
      const { filter, orderby, page, limit } = query
      const result = await store.page(EventRecord, { filter, orderby, newestFirst: true, offset: page * limit, limit })
      return { entities: result.entities.map(entityOf), total: result.total }
    },

    getWorldEvent: async (ctx, { path: { extId } }) =>
      entityOf(await requireEvent(await ctx.drivers.instance(), extId)),

    async createWorldEvent(ctx, { body }) {
      const { clock, events } = await ctx.drivers.instance()
      const { at, until } = resolveTimes(body, clock.now())
      const row = await events.add(defined({ event: body.event, at, until }))
      if (row.status === 'OVER' && row.effects?.length === 0) ctx.warn('It was so already: nothing changed.')
      return entityOf(row)
    },

    async deleteWorldEvent(ctx, { path }) {
      const instance = await ctx.drivers.instance()
      await instance.events.callOff(await requireEvent(instance, path.extId))
      return undefined
    },
  },
  { rules: { createWorldEvent: ({ body }) => planFaults(body) } },
)

const entityOf = ({ secretDigest, ...row }: EventRow): EntityOf<typeof WorldEvent> => row

async function requireEvent({ store }: Instance, extId: string): Promise<EventRow> {
  const row = await store.get(EventRecord, extId)
  if (row === undefined) throw notFound(WorldEvent, extId, 'extId')
  return row
}

function planFaults({ event, after, at, duration, until }: Plan): ApiError[] {
  const faults: ApiError[] = []
  if (after !== undefined && at !== undefined) faults.push(invalid('at', 'expected after or at, found both'))
  if (duration !== undefined && until !== undefined)
    faults.push(invalid('until', 'expected duration or until, found both'))
  faults.push(...faultsOfDuration('after', after, true), ...faultsOfDuration('duration', duration, false))
  const field = duration === undefined ? 'until' : 'duration'
  if ((duration ?? until) !== undefined && sortOf(event.type).until === undefined)
    faults.push(invalid(field, `${event.type} happens at one moment, and does not last`))
  if (event.type === 'FACT_CHANGES' && event.value !== undefined && event.secret !== undefined)
    faults.push(invalid('event/secret', 'expected value or secret, found both'))
  return faults
}

function faultsOfDuration(path: string, text: string | undefined, mayBeNothing: boolean): ApiError[] {
  const fault = text === undefined ? undefined : durationFault(text, mayBeNothing)
  return fault === undefined ? [] : [invalid(path, fault)]
}

/** Milliseconds since 1970. @throws ApiError 400 for a time in the past */
function resolveTimes({ after, at, duration, until }: Plan, now: number): { at?: number; until?: number } {
  const length = (text: string): number => millisecondsOf(text) as number
  const begins = after !== undefined ? now + length(after) : at === undefined ? undefined : (parseTime(at) as number)
  if (at !== undefined && (begins as number) < now)
    throw invalid(
      'at',
      `expected a time that is not over, found ${at}; it is ${new Date(now).toISOString()} in this world`,
    )
  const ends =
    duration !== undefined
      ? (begins ?? now) + length(duration)
      : until === undefined
        ? undefined
        : (parseTime(until) as number)
  if (until !== undefined && (ends as number) <= (begins ?? now))
    throw invalid('until', `expected a time after its beginning, found ${until}`)
  return defined({ at: begins, until: ends })
}
