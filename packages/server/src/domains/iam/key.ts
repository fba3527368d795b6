/** Keys: credentials of one user. A key cannot be changed, only revoked or deleted. Source: behaviour iam.md 2. */

import { iamMessages } from '@hyperplane/contract/iam/errors'
import { apiKeyPrefix, Key, keyOperations } from '@hyperplane/contract/iam/key'
import { User } from '@hyperplane/contract/iam/user'
import { matchesScope } from '../../core/access/scope.ts'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { listOf } from '../../core/standard.ts'
import { parseTime } from '../../core/time/clock.ts'
import { created } from '../../core/updates.ts'
import { apiKeyDigest } from '../accounts/api-key-digest.ts'
import { implement, parentOf, type ReadContext } from '../context.ts'
import { type GroupReport, reportedGroups, requireAccountCovered } from './account-protection.ts'
import { authorship } from './authorship.ts'

const maximumKeys = 25
const maximumObjectKeys = 5
const maximumLifetimeMillis = 5 * 366 * 24 * 3600 * 1000

export const key = implement(
  keyOperations,
  {
    /** Filters in memory: a user has few keys, and EXPIRED depends on the time and is not stored. */
    async listUserKeys(ctx, request) {
      const scope = await ctx.scopeOf('Key')
      const keys = await ctx.store.findWhere(Key, { userExtId: request.path.userExtId })
      const visible = keys.filter((one) => matchesScope(scope, one))
      return listOf(
        visible.map((one) => presentKey(ctx, one)),
        request,
      )
    },

    async createUserKey(ctx, { body, prepared }) {
      const owner = parentOf(ctx, 'userExtId', User)
      await requireAccountCovered(ctx, owner, prepared as GroupReport)
      const now = ctx.clock.now()
      const faults: ApiError[] = []
      if (body.status !== 'VALID') faults.push(invalid('status', 'a new key is VALID; leave the field out.'))
      if (body.expiryTime !== undefined) {
        const left = (parseTime(body.expiryTime) as number) - now
        if (left <= 0 || left > maximumLifetimeMillis)
          faults.push(invalid('expiryTime', 'expected a time to come, at most five years from now.'))
      }
      refuseAll(faults)
      if (owner.status !== 'ACTIVE')
        throw new ApiError('CONFLICT', {
          fault: `The user "${owner.username}" is INACTIVE: make it ACTIVE before it gets a key.`,
        })
      const keys = await ctx.store.findWhere(Key, { userExtId: owner.extId })
      const objectKeys = keys.filter((one) => one.keyType === 'OBJECT_KEY' && presentKey(ctx, one).status === 'VALID')
      if (!keys.some((one) => one.name === body.name)) {
        if (keys.length >= maximumKeys)
          throw new ApiError('LIMIT_EXCEEDED', {
            limit: 'keys of a user',
            maximum: maximumKeys,
            found: keys.length + 1,
          })
        if (body.keyType === 'OBJECT_KEY' && objectKeys.length >= maximumObjectKeys) {
          throw new ApiError('LIMIT_EXCEEDED', {
            limit: 'valid object keys of a user',
            maximum: maximumObjectKeys,
            found: objectKeys.length + 1,
          })
        }
      }
      const secret = newSecret(ctx, body.keyType)
      const key = created(ctx, Key, body, {
        ...secret.stored,
        userExtId: owner.extId,
        creationType: 'USERDEFINED',
        ...authorship(ctx),
        lastUpdatedBy: ctx.caller.extId,
      })
      return { ...presentKey(ctx, await ctx.store.insert(Key, key)), keyDetails: secret.oneTimeDetails }
    },

    async deleteUserKeyById(ctx, { path }) {
      await ctx.store.remove(Key, ctx.target.extId)
      ctx.afterCommit(() => ctx.services.authenticator.forget(path.userExtId))
      return undefined
    },

    async revokeUserKey(ctx, { path }) {
      const { target } = ctx
      if (presentKey(ctx, target).status === 'EXPIRED')
        throw new ApiError('CONFLICT', { fault: `The key "${target.name}" is EXPIRED: it cannot be revoked.` })
      await ctx.store.update(Key, target.extId, {
        status: 'REVOKED',
        lastUpdatedBy: ctx.caller.extId,
        lastUpdatedTime: ctx.clock.iso(),
      })
      ctx.afterCommit(() => ctx.services.authenticator.forget(path.userExtId))
      const message = iamMessages.REVOKE_USER_KEY_SUCCESS
      // No `severity`: public clients cannot parse it in this response.
      return { ...message, locale: 'en_US', errorGroup: 'REVOKE_USER_KEY_SUCCESS' }
    },
  },
  {
    present: [[Key, async (ctx, keys) => keys.map((one) => presentKey(ctx, one))]],
    prepare: {
      async createUserKey(ctx, { path }) {
        const owner = await ctx.store.get(User, path.userExtId)
        return owner === undefined ? undefined : reportedGroups(ctx, owner)
      },
    },
  },
)

export function presentKey(ctx: Pick<ReadContext, 'clock'>, row: Key): Key {
  const { apiKeyDigest: _, objectSecretKey: __, ...shown } = row
  const isOver =
    row.status === 'VALID' && row.expiryTime !== undefined && (parseTime(row.expiryTime) as number) <= ctx.clock.now()
  return (isOver ? { ...shown, status: 'EXPIRED' } : shown) as Key
}

/** Only the digest of an API key is stored, so the secret is returned once. */
function newSecret(
  ctx: Pick<ReadContext, 'ids'>,
  keyType: Key['keyType'],
): { stored: Partial<Key>; oneTimeDetails: NonNullable<Key['keyDetails']> } {
  const random = ctx.ids.secretBytes(32).toString('base64url')
  if (keyType === 'API_KEY') {
    const apiKey = `${apiKeyPrefix}${random}`
    return {
      stored: { apiKeyDigest: apiKeyDigest(apiKey) },
      oneTimeDetails: { $objectType: 'iam.v4.authn.ApiKeyDetails', apiKey },
    }
  }
  const accessKey = ctx.ids.secretBytes(15).toString('hex').toUpperCase().slice(0, 20)
  const details = { $objectType: 'iam.v4.authn.ObjectKeyDetails', accessKey }
  return { stored: { keyDetails: details, objectSecretKey: random }, oneTimeDetails: { ...details, secretKey: random } }
}
