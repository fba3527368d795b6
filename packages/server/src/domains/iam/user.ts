/** Users: persons and services that can be authenticated. Source: behaviour iam.md 1. */

import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { Key } from '@hyperplane/contract/iam/key'
import { User, userOperations } from '@hyperplane/contract/iam/user'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { pathOf } from '../../core/standard.ts'
import { created, replaced } from '../../core/updates.ts'
import { and, anyOf, equals } from '../../odata/index.ts'
import { localProviderId } from '../accounts/local-provider.ts'
import { checkedPassword, type NewPassword, withPassword } from '../accounts/new-password.ts'
import { implement, type ReadContext, type WriteContext } from '../context.ts'
import { limitOf } from '../limits.ts'
import { type GroupReport, reportedGroups, requireAccountCovered } from './account-protection.ts'
import { authorship } from './authorship.ts'
import { ifItAnswers, serverOf } from './directory/server.ts'
import { bareName, maximumUsers, usableName } from './directory/sign-in.ts'
import { presentKey } from './key.ts'
import { providerType, unknownProvider } from './providers.ts'
import { SignInLock } from './records.ts'
import { requireSuperAdmin } from './super-admins.ts'

type FromDirectory = Pick<User, 'displayName'>

/** Before the transaction: hashing and directory queries are slow. */
interface Prepared {
  readonly password?: NewPassword
  readonly fromDirectory?: FromDirectory
  readonly groups?: GroupReport
}

export const user = implement(
  userOperations,
  {
    async createUser(ctx, { body, prepared }) {
      const named = isBuiltIn(body.userType) ? { idpId: localProviderId, username: body.username.toLowerCase() } : {}
      await requireProvider(ctx, body)
      const maximum = limitOf(ctx, maximumUsers)
      const found = (await ctx.store.count(User)) + 1
      if (found > maximum) throw new ApiError('LIMIT_EXCEEDED', { limit: 'users', maximum, found })
      const { password, fromDirectory, groups } = prepared as Prepared
      const extId = ctx.ids.uuid()
      await requireAccountCovered(ctx, { ...body, ...named, extId, isNew: true }, groups)
      const authored = authorship(ctx)
      const user = created(ctx, User, withDefaults(body), {
        ...named,
        ...(body.userType === 'LDAP' && body.displayName === undefined ? fromDirectory : {}),
        ...(body.userType === 'LOCAL' ? withPassword({}, password as NewPassword, ctx.clock) : {}),
        password: undefined,
        extId,
        creationType: 'USERDEFINED',
        ...authored,
        lastLoginTime: authored.createdTime,
        lastUpdatedBy: ctx.caller.extId,
      })
      // A running sign-in may have found no such account: later requests must not share its result.
      ctx.afterCommit(() => ctx.services.authenticator.forget(extId))
      return userAnswer(await ctx.store.insert(User, user))
    },

    async updateUserById(ctx, { body, prepared }) {
      const { target } = ctx
      refuseAll(typeFaults({ ...body, userType: target.userType, idpId: undefined }))
      const { password: judged, groups } = prepared as Prepared
      if (body.status === 'INACTIVE' && target.status === 'ACTIVE') await requireDispensable(ctx, target)
      if (changesControl(body, target)) await requireAccountCovered(ctx, target, groups)
      const { password, ...fields } = body
      const user = await ctx.store.replace(User, {
        ...replaced(User, target, withDefaults(fields), ctx.version),
        ...(password === undefined ? {} : withPassword(target, judged as NewPassword, ctx.clock)),
        lastUpdatedBy: ctx.caller.extId,
        lastUpdatedTime: ctx.clock.iso(),
      })
      if (password !== undefined) await endLocks(ctx, target)
      ctx.afterCommit(() => ctx.services.authenticator.forget(target.extId))
      return userAnswer((await withObjectKeys(ctx, [user]))[0] as User)
    },

    async changeUserPassword(ctx, { body, prepared }) {
      const { caller } = ctx
      if (body.username.toLowerCase() !== caller.name.toLowerCase()) {
        throw new ApiError('ACCESS_DENIED', {
          operation: ctx.operation.iamOperation,
          reason: ' on the account of another user',
        })
      }
      if (caller.type !== 'LOCAL') throw invalid('username', 'only a local user has a password here.')
      const target = (await ctx.store.get(User, caller.extId)) as User
      const judged = prepared as NewPassword
      if (judged.isOldRight !== true) {
        ctx.services.authenticator.countFailure(caller.name, caller.address ?? '')
        throw new ApiError('OLD_PASSWORD_MISMATCH')
      }
      await ctx.store.update(User, caller.extId, {
        ...withPassword(target, judged, ctx.clock),
        isForceResetPasswordEnabled: false,
        lastUpdatedBy: caller.extId,
        lastUpdatedTime: ctx.clock.iso(),
      })
      ctx.afterCommit(() => ctx.services.authenticator.forget(caller.extId))
      return { message: 'The password was changed.' }
    },

    async updateUserState(ctx, { body, prepared }) {
      const { target } = ctx
      if (target.status === body.status) {
        await ctx.store.touch(User, target.extId)
        return { message: `The user is ${body.status} already.` }
      }
      if (body.status === 'INACTIVE') await requireDispensable(ctx, target)
      await requireAccountCovered(ctx, target, prepared as GroupReport)
      await ctx.store.update(User, target.extId, {
        status: body.status,
        lastUpdatedBy: ctx.caller.extId,
        lastUpdatedTime: ctx.clock.iso(),
      })
      ctx.afterCommit(() => ctx.services.authenticator.forget(target.extId))
      return { message: `The user is ${body.status} now.` }
    },

    async resetUserPassword(ctx, { prepared }) {
      const { target } = ctx
      if (target.userType !== 'LOCAL') throw invalid('newPassword', 'only a local user has a password here.')
      await requireAccountCovered(ctx, target, undefined)
      await ctx.store.update(User, target.extId, {
        ...withPassword(target, prepared as NewPassword, ctx.clock),
        // The administrator knows the new password, so the owner must choose another one.
        ...(target.extId === ctx.caller.extId ? {} : { isForceResetPasswordEnabled: true }),
        lastUpdatedBy: ctx.caller.extId,
        lastUpdatedTime: ctx.clock.iso(),
      })
      await endLocks(ctx, target)
      ctx.afterCommit(() => ctx.services.authenticator.forget(target.extId))
      return { message: 'The password was reset.' }
    },
  },
  {
    rules: { createUser: ({ body }) => newUserFaults(body) },
    present: [[User, withObjectKeys]],
    limits: [maximumUsers],
    records: [SignInLock],
    prepare: {
      async createUser(ctx, { body }): Promise<Prepared> {
        if (body.userType === 'LDAP') {
          const groups = await reportedGroups(ctx, { ...body, extId: '', isNew: true })
          const isSilent = groups !== undefined && 'cause' in groups
          return { groups, fromDirectory: isSilent ? {} : await nameInDirectory(ctx, body) }
        }
        return body.password === undefined
          ? {}
          : { password: await checkedPassword(ctx.services.passwords, body.password, body.username) }
      },
      async updateUserById(ctx, { path, body }): Promise<Prepared> {
        const target = await ctx.store.get(User, path.extId)
        if (target === undefined) return {}
        const groups = changesControl(body, target) ? await reportedGroups(ctx, target) : undefined
        if (body.password === undefined) return { groups }
        return { groups, password: await checkedPasswordFor(ctx, target.extId, body.password) }
      },
      async updateUserState(ctx, { path, body }) {
        const target = await ctx.store.get(User, path.extId)
        return target === undefined || target.status === body.status ? undefined : reportedGroups(ctx, target)
      },
      async resetUserPassword(ctx, { path, body }) {
        return checkedPasswordFor(ctx, path.extId, body.newPassword)
      },
      async changeUserPassword(ctx, { body }) {
        const isOwn = body.username.toLowerCase() === ctx.caller.name.toLowerCase() && ctx.caller.type === 'LOCAL'
        // A caller with an API key is never locked out and could guess the password here.
        if (isOwn && ctx.services.authenticator.isLocked(ctx.caller.name, ctx.caller.address ?? ''))
          throw new ApiError('OLD_PASSWORD_MISMATCH')
        return isOwn ? checkedPasswordFor(ctx, ctx.caller.extId, body.newPassword, body.oldPassword) : undefined
      },
    },
  },
)

async function checkedPasswordFor(
  ctx: ReadContext,
  extId: string,
  password: string,
  old?: string,
): Promise<NewPassword | undefined> {
  const target = await ctx.store.get(User, extId)
  return target === undefined
    ? undefined
    : checkedPassword(ctx.services.passwords, password, target.username, target, old)
}

/** Names of these types are in lower case and unique over both. */
const isBuiltIn = (type: User['userType']): boolean => type === 'LOCAL' || type === 'SERVICE_ACCOUNT'

const changesControl = (
  body: Pick<User, 'status' | 'isForceResetPasswordEnabled'> & { readonly password?: string },
  target: User,
): boolean =>
  body.password !== undefined ||
  body.status !== target.status ||
  (body.isForceResetPasswordEnabled ?? false) !== (target.isForceResetPasswordEnabled ?? false)

interface UserBody {
  readonly userType: User['userType']
  readonly password?: string
  readonly idpId?: string
  readonly additionalAttributes?: readonly { readonly name?: string }[]
}

function newUserFaults(body: UserBody): ApiError[] {
  const faults = typeFaults(body)
  if (body.userType === 'LOCAL' && body.password === undefined)
    faults.push(invalid('password', 'is required for a local user.'))
  if ((body.userType === 'LDAP' || body.userType === 'SAML') && body.idpId === undefined)
    faults.push(invalid('idpId', `is required for a user of type ${body.userType}.`))
  return faults
}

function typeFaults(body: UserBody): ApiError[] {
  const faults: ApiError[] = []
  if (body.userType === 'EXTERNAL') faults.push(invalid('userType', 'a user of type EXTERNAL cannot be created.'))
  if (body.userType === 'LOCAL' && body.idpId !== undefined)
    faults.push(invalid('idpId', 'a local user belongs to the built-in provider; leave the field out.'))
  if (body.userType === 'SERVICE_ACCOUNT' && body.idpId !== undefined && body.idpId !== localProviderId) {
    faults.push(invalid('idpId', 'a service account belongs to the built-in provider; leave the field out.'))
  }
  if (body.userType !== 'LOCAL' && body.password !== undefined)
    faults.push(invalid('password', `a user of type ${body.userType} has no password here.`))
  const names = (body.additionalAttributes ?? []).map((attribute) => attribute.name)
  if (new Set(names).size < names.length)
    faults.push(invalid('additionalAttributes', 'expected distinct names, found one twice.'))
  return faults
}

async function requireProvider(ctx: ReadContext, { userType, idpId }: UserBody): Promise<void> {
  if ((userType !== 'LDAP' && userType !== 'SAML') || idpId === undefined) return
  if ((await providerType(ctx.store, idpId)) !== userType) throw unknownProvider(userType, idpId)
}

async function nameInDirectory(
  ctx: ReadContext,
  body: UserBody & { readonly username: string },
): Promise<FromDirectory> {
  const row = await ctx.store.get(DirectoryService, body.idpId ?? '')
  if (row === undefined) return {}
  const name = bareName(row, body.username)
  const found = await ifItAnswers(ctx.drivers.directory, (directory) =>
    directory.findUser(serverOf(ctx.secrets, row), name),
  )
  const displayName = 'answer' in found ? found.answer?.displayName : undefined
  return displayName === undefined ? {} : { displayName: usableName(displayName) }
}

/** Before the escalation check: deactivating the last Super Admin is 409 for every caller, not 403. */
async function requireDispensable(ctx: WriteContext, target: User): Promise<void> {
  if (target.extId === ctx.caller.extId) throw new ApiError('OWN_ACCOUNT')
  await requireSuperAdmin(ctx.store, target.extId)
}

function withDefaults<B extends Pick<User, 'userType'>>(body: B): B {
  const empty = { displayName: '', firstName: '', middleInitial: '', lastName: '', emailId: '', locale: '', region: '' }
  return { ...(body.userType === 'SERVICE_ACCOUNT' ? empty : { locale: 'en-US', region: 'en-US' }), ...body }
}

async function endLocks(ctx: WriteContext, target: User): Promise<void> {
  await ctx.store.removeWhere(SignInLock, equals(pathOf(SignInLock, 'name'), target.username.toLowerCase()))
  ctx.afterCommit(() => ctx.services.authenticator.unlock(target.username))
}

function userAnswer(row: User): User {
  const { passwordHash: _, formerPasswordHashes: __, isInternal: ___, ...shown } = row
  return withLastLogin(shown as User)
}

/** Public clients require a time: the creation time stands for a missing first sign-in. */
const withLastLogin = (row: User): User =>
  row.createdTime === undefined ? row : { ...row, lastLoginTime: row.lastLoginTime ?? row.createdTime }

async function withObjectKeys(ctx: ReadContext, rows: readonly User[]): Promise<readonly User[]> {
  const users = rows.map(withLastLogin)
  const owners = anyOf(
    pathOf(Key, 'userExtId'),
    users.map((one) => one.extId),
  )
  const keys = await ctx.store.find(Key, { filter: and(owners, equals(pathOf(Key, 'keyType'), 'OBJECT_KEY')) })
  if (keys.length === 0) return users
  return users.map((one) => {
    const bucketsAccessKeys = keys
      .filter((key) => key.userExtId === one.extId)
      .map((key) => bucketsAccessKey(presentKey(ctx, key)))
    return bucketsAccessKeys.length === 0 ? one : { ...one, bucketsAccessKeys }
  })
}

const bucketsAccessKey = (key: Key) => ({
  ...picked(key, [
    'extId',
    'tenantId',
    'assignedTo',
    'status',
    'creationType',
    'expiryTime',
    'createdBy',
    'createdTime',
    'lastUpdatedBy',
    'lastUpdatedTime',
  ]),
  accessKeyName: key.name,
  userId: key.userExtId as string,
})

function picked<T extends object, K extends keyof T>(from: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]]))) as Pick<
    T,
    K
  >
}
