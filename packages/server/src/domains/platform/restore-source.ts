/**
 * Restore sources: places where a fresh instance looks for backups. Nothing is contacted before something is read.
 * Source: behaviour platform.md 9.
 */
import type { EntityOf } from '@hyperplane/contract'
import { RestoreSource, restoreSourceOperations } from '@hyperplane/contract/platform/restore-source'
import { ApiError, invalid } from '../../core/api-error.ts'
import { formatTime, parseTime } from '../../core/clock.ts'
import type { Schedule } from '../../core/schedules.ts'
import { notFound } from '../../core/standard.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { TypedFilter } from '../../odata/index.ts'
import { implement, type ReadContext } from '../context.ts'
import type { Location } from './backup/places.ts'

type Source = EntityOf<typeof RestoreSource>

const lifeMilliseconds = 24 * 3600 * 1000
const maximumSources = 20

/** Lower-case letters, digits, dots and hyphens between letters or digits: what every S3 service takes. */
const bucketForm = /^[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]$/

const expiry: Schedule<Drivers> = {
  name: 'platform.restore-source-expiry',
  everySeconds: 300,
  async run(ctx) {
    const old = usedBefore(ctx.clock.now() - lifeMilliseconds)
    // Most of the time there is nothing to remove, and no reason to make writers wait.
    if ((await ctx.store.count(RestoreSource, { filter: old })) === 0) return
    await ctx.store.transaction((transaction) => transaction.removeWhere(RestoreSource, old))
  },
}

export const restoreSource = implement(
  restoreSourceOperations,
  {
    async createRestoreSource(ctx, { body }) {
      refuseApiKey(ctx)
      checkLocation(body.location)
      const now = ctx.clock.now()
      await ctx.store.removeWhere(RestoreSource, usedBefore(now - lifeMilliseconds))
      const found = (await ctx.store.count(RestoreSource)) + 1
      if (found > maximumSources)
        throw new ApiError('LIMIT_EXCEEDED', { limit: 'Restore sources', maximum: maximumSources, found })
      if ('backupPolicy' in body.location) ctx.warn('location/backupPolicy belongs to backup targets and was ignored.')
      const location = withoutPolicy(body.location)
      return ctx.store.insert(RestoreSource, {
        extId: ctx.ids.uuid(),
        tenantId: ctx.tenantId,
        location,
        lastUsedTime: formatTime(now),
      })
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

/** A person restores a manager, with a password: public documentation says so. */
export function refuseApiKey(ctx: ReadContext): void {
  if (ctx.caller.credential !== 'apiKey') return
  throw new ApiError('ACCESS_DENIED', {
    operation: ctx.operation.iamOperation,
    reason: ' with an API key: sign in with HTTP Basic',
  })
}

export const isExpired = (source: Source, now: number): boolean =>
  source.lastUsedTime !== undefined && (parseTime(source.lastUsedTime) ?? now) + lifeMilliseconds <= now

function refuseExpired(ctx: ReadContext<Source>): void {
  if (isExpired(ctx.target, ctx.clock.now())) throw notFound(RestoreSource, 'RestoreSource', ctx.target.extId, 'extId')
}

function checkLocation(location: Location): void {
  if ('config' in location) return
  const { providerConfig } = location
  if (!bucketForm.test(providerConfig.bucketName)) {
    throw invalid(
      'location/providerConfig/bucketName',
      'expected lower-case letters, digits, dots and hyphens, with a letter or digit at both ends',
    )
  }
  const needsAddress = providerConfig.$objectType !== 'platform.v4.management.AWSS3Config'
  if (needsAddress && !('connectionConfig' in providerConfig)) {
    throw invalid('location/providerConfig/connectionConfig', 'is required: the address of the object store')
  }
}

function withoutPolicy(location: Location): Location {
  if (!('backupPolicy' in location)) return location
  const { backupPolicy: _, ...rest } = location
  return rest
}

const usedBefore = (time: number): TypedFilter => ({
  kind: 'compare',
  operator: 'le',
  left: { kind: 'field', from: 0, names: ['lastUsedTime'], type: 'timestamp' },
  right: { kind: 'literal', value: formatTime(time) },
})
