/** Restore sources; creating one contacts nothing. Source: behaviour platform.md 9. */
import { RestoreSource, restoreSourceOperations } from '@hyperplane/contract/platform/restore-source'
import { type Location, locationFaults } from '../../archive/location-rules.ts'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { notFound, pathOf } from '../../core/standard.ts'
import { formatTime, parseTime } from '../../core/time/clock.ts'
import { created } from '../../core/updates.ts'
import { compares, type TypedFilter } from '../../odata/index.ts'
import { implement, type ReadContext, type Schedule } from '../context.ts'

const lifeMilliseconds = 24 * 3600 * 1000
const maximumSources = 20

const expiry: Schedule = {
  name: 'platform.restore-source-expiry',
  everySeconds: 300,
  watch: ({ store }, changed) => store.watch([RestoreSource], changed),
  async run(ctx) {
    const now = ctx.clock.now()
    const sources = await ctx.store.find(RestoreSource)
    if (sources.some((source) => isExpired(source, now)))
      await ctx.store.transaction((transaction) =>
        transaction.removeWhere(RestoreSource, usedBefore(now - lifeMilliseconds)),
      )
    return Math.min(...sources.flatMap((source) => (isExpired(source, now) ? [] : endOf(source, now))))
  },
}

export const restoreSource = implement(
  restoreSourceOperations,
  {
    async createRestoreSource(ctx, { body }) {
      refuseApiKey(ctx)
      refuseAll(locationFaults(body.location))
      const now = ctx.clock.now()
      await ctx.store.removeWhere(RestoreSource, usedBefore(now - lifeMilliseconds))
      const found = (await ctx.store.count(RestoreSource)) + 1
      if (found > maximumSources)
        throw new ApiError('LIMIT_EXCEEDED', { limit: 'Restore sources', maximum: maximumSources, found })
      if ('backupPolicy' in body.location) ctx.warn('location/backupPolicy belongs to backup targets and was ignored.')
      const derived = { location: withoutPolicy(body.location), lastUsedTime: formatTime(now) }
      return ctx.store.insert(RestoreSource, created(ctx, RestoreSource, body, derived))
    },

    async getRestoreSourceById(ctx) {
      refuseApiKey(ctx)
      refuseExpired(ctx)
      return ctx.target
    },

    async deleteRestoreSourceById(ctx) {
      refuseApiKey(ctx)
      refuseExpired(ctx)
      await ctx.store.remove(RestoreSource, ctx.target.extId)
      return undefined
    },
  },
  { schedules: [expiry] },
)

/** Only a person may restore a manager, with a password, as the public documentation says. */
export function refuseApiKey(ctx: ReadContext): void {
  if (ctx.caller.credential !== 'apiKey') return
  throw new ApiError('ACCESS_DENIED', {
    operation: ctx.operation.iamOperation,
    reason: ' with an API key: sign in with HTTP Basic',
  })
}

const endOf = ({ lastUsedTime }: RestoreSource, now: number): number =>
  (parseTime(lastUsedTime ?? '') ?? now) + lifeMilliseconds

export const isExpired = (source: RestoreSource, now: number): boolean => endOf(source, now) <= now

function refuseExpired(ctx: ReadContext<RestoreSource>): void {
  if (isExpired(ctx.target, ctx.clock.now())) throw notFound(RestoreSource, ctx.target.extId, 'extId')
}

function withoutPolicy(location: Location): Location {
  if (!('backupPolicy' in location)) return location
  const { backupPolicy: _, ...rest } = location
  return rest
}

const usedBefore = (time: number): TypedFilter =>
  compares(pathOf(RestoreSource, 'lastUsedTime'), 'le', formatTime(time))
