/** The password manager: accounts of systems below the manager, and its own `admin`. Source: behaviour clustermgmt.md 1.14. */
import { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { SystemUserPassword, systemUserPasswordOperations } from '@hyperplane/contract/clustermgmt/system-user-password'
import { User } from '@hyperplane/contract/iam/user'
import { ApiError, invalid, refuseAll } from '../../../core/api-error.ts'
import { listOf, notFound } from '../../../core/standard.ts'
import type { SystemAccountAccess } from '../../../drivers/system-accounts.ts'
import { brokenRules, classesIn, isHighStrength } from '../../accounts/password-policy.ts'
import {
  defineTask,
  implement,
  type ReadContext,
  type RecordContext,
  type StepContext,
  taskAbout,
} from '../../context.ts'
import {
  type Account,
  type AccountRef,
  type AccountRow,
  accountsOf,
  adminId,
  emptyRow,
  findAccount,
  keptOf,
  SystemAccount,
  shownAccount,
} from './accounts.ts'

interface Changing extends AccountRef {
  readonly currentPassword?: string
  readonly newPassword: string
}

interface Judged {
  readonly hash?: string
  /** Hashes of the current password and of those before it, newest first. */
  readonly history?: readonly string[]
  /** Hash of the password that was judged. */
  readonly replaces?: string
  readonly isWrong?: boolean
  readonly reason?: string
}

const tenMinutes = 600_000
const maximumFailures = 5
const historyLength = 5
/** For accounts with the status DEFAULT. */
export const factoryPassword = 'factory/4u'

const judge = 'check the passwords'
const recorded = 'record'

const changePassword = defineTask<Changing>({
  name: 'clustermgmt.change-system-user-password',
  steps: [
    {
      name: judge,
      progress: 30,
      run: judgePasswords,
      // Counts a wrong password although the task then fails.
      record: async (ctx, input, judged: Judged) => {
        if (judged.isWrong === true) await countFailure(ctx, await accountOf(ctx, input))
      },
    },
    {
      name: 'change the password on the system',
      progress: 70,
      seconds: [2, 5],
      run: async (ctx, input) => {
        const { reason } = judgedIn(ctx)
        if (reason !== undefined) throw new ApiError('SYSTEM_PASSWORD_NOT_CHANGED', { reason })
        const account = await accountOf(ctx, input)
        if (account.systemType === 'PC') return
        await ctx.drivers.hardware
          .changePassword(accessOf(ctx, account), input.newPassword, ctx.callKey)
          .catch((cause) => {
            throw new ApiError('SYSTEM_PASSWORD_NOT_CHANGED', { reason: reasonOf(cause) }, { cause })
          })
      },
      undo: async (ctx, input) => {
        const account = await findAccount(ctx.store, input)
        if (account === undefined || account.systemType === 'PC') return
        await ctx.drivers.hardware.takeBackPassword(accessOf(ctx, account), ctx.callKey)
      },
    },
    {
      name: recorded,
      progress: 90,
      record: async (ctx, input) => ({ keep: await recordChange(ctx, input) }),
      unrecord: (ctx) => unrecordChange(ctx),
    },
    {
      name: 'end earlier sign-ins',
      run: async (ctx, input) => {
        if ((await findAccount(ctx.store, input))?.systemType === 'PC') ctx.services.authenticator.forget(adminId)
      },
    },
  ],
})

export const systemUserPassword = implement(
  systemUserPasswordOperations,
  {
    async listSystemUserPasswords(ctx, request) {
      const accounts = await visibleAccounts(ctx)
      const shown = (some: readonly Account[]) => Promise.all(some.map((account) => shownAccount(ctx.store, account)))
      if (request.query.filter !== undefined) return listOf(await shown(accounts), request)
      const { entities, total } = listOf(accounts, request)
      return { entities: await shown(entities), total }
    },

    async changeSystemUserPasswordById(ctx, { body, path: { extId } }) {
      const account = (await visibleAccounts(ctx)).find((each) => each.extId === extId)
      if (account === undefined) throw notFound(SystemUserPassword, extId, 'extId')
      const { currentPassword, newPassword = '' } = body
      refuseAll(passwordFaults(account, newPassword))
      const { systemType, username, cluster, host } = account
      const ref = { extId, clusterExtId: cluster.extId, ...(host === undefined ? {} : { hostExtId: host.extId }) }
      const input = { ...ref, newPassword, ...(currentPassword === undefined ? {} : { currentPassword }) }
      const named = { extId, name: `${systemType} ${username} user password` }
      const options = taskAbout('ChangePassword', SystemUserPassword, named, cluster.extId)
      return ctx.startTask(changePassword, input, { ...options, description: 'Update system user password' })
    },
  },
  {
    rules: {
      changeSystemUserPasswordById: ({ body }) =>
        body.newPassword === undefined ? [invalid('newPassword', 'is required')] : [],
    },
    tasks: [changePassword],
    records: [SystemAccount],
  },
)

async function visibleAccounts(ctx: ReadContext): Promise<readonly Account[]> {
  const scope = await ctx.scopeOf(Cluster.kind)
  return scope === 'none' ? [] : accountsOf(ctx.store, scope)
}

/** The fault texts do not quote the password. */
function passwordFaults({ systemType, username }: Account, password: string): ApiError[] {
  if (systemType === 'PC')
    return brokenRules(password, username).map((rule) => new ApiError('PASSWORD_POLICY_VIOLATED', { rule }))
  const length = [...password].length
  const faults: string[] = []
  if (length < 8 || length > 200) faults.push(`expected 8 to 200 characters, found ${length}`)
  if (classesIn(password) < 3)
    faults.push(
      `expected three of: lower case, upper case, digits, special characters; found ${classesIn(password)} of them`,
    )
  if (username !== '' && password.toLowerCase().includes(username.toLowerCase()))
    faults.push('expected a password without the user name in it')
  return faults.map((text) => invalid('newPassword', text))
}

async function accountOf({ store }: StepContext | RecordContext, ref: AccountRef): Promise<Account> {
  const account = await findAccount(store, ref)
  if (account === undefined)
    throw new ApiError('SYSTEM_PASSWORD_NOT_CHANGED', { reason: 'the account no longer existing' })
  return account
}

const judgedIn = ({ outputs }: StepContext | RecordContext): Judged => outputs[judge] as Judged

const reasonOf = (cause: unknown): string =>
  `the system, which said: ${cause instanceof Error ? cause.message : 'nothing'}`

async function judgePasswords(ctx: StepContext, input: Changing): Promise<Judged> {
  const { currentPassword, newPassword } = input
  const { passwords } = ctx.services
  const account = await accountOf(ctx, input)
  const kept = await keptOf(ctx.store, account)
  const { lockedUntil, passwordHash } = kept
  if (lockedUntil !== undefined && Date.parse(lockedUntil) > ctx.clock.now())
    return { reason: `the account being locked until ${lockedUntil} after ${maximumFailures} wrong passwords` }
  const needsCurrent = account.systemType === 'PC' || account.systemType === 'AOS'
  if (currentPassword === undefined && needsCurrent) return { reason: 'the missing current password' }
  const isCurrent = (password: string): Promise<boolean> => matchesCurrent(ctx, account, passwordHash, password)
  if (currentPassword !== undefined && !(await isCurrent(currentPassword)))
    return { isWrong: true, reason: 'a wrong current password' }
  if (await isCurrent(newPassword)) return { reason: 'the new password being the current one' }
  const history = await historyOf(ctx, account, kept)
  for (const former of history) {
    if (await passwords.verify(newPassword, former))
      return { reason: `the new password being one of the last ${historyLength}` }
  }
  const hash = await passwords.hash(newPassword)
  return { hash, history, ...(passwordHash === undefined ? {} : { replaces: passwordHash }) }
}

/** Current password first, which may be the factory's, or set by another operation. */
async function historyOf(
  ctx: StepContext,
  { bmc }: Account,
  { passwordHash, formerPasswordHashes = [] }: AccountRow,
): Promise<readonly string[]> {
  const { passwords } = ctx.services
  const [latest] = formerPasswordHashes
  if (bmc === undefined && passwordHash !== undefined)
    return latest === passwordHash ? formerPasswordHashes : [passwordHash, ...formerPasswordHashes]
  const current = bmc === undefined ? factoryPassword : bmcPassword(ctx, bmc)
  const isKnown = current === undefined || (latest !== undefined && (await passwords.verify(current, latest)))
  return isKnown ? formerPasswordHashes : [await passwords.hash(current), ...formerPasswordHashes]
}

async function matchesCurrent(
  ctx: StepContext,
  { bmc }: Account,
  passwordHash: string | undefined,
  password: string,
): Promise<boolean> {
  // The stored credential of a BMC can change without this kind.
  if (bmc !== undefined) return password === bmcPassword(ctx, bmc)
  return passwordHash === undefined
    ? password === factoryPassword
    : ctx.services.passwords.verify(password, passwordHash)
}

type Bmc = NonNullable<Account['bmc']>

const bmcPassword = ({ secrets }: StepContext | RecordContext, bmc: Bmc): string | undefined =>
  secrets.open('BmcInfo', bmc.extId, 'credential/password', bmc.credential?.password)

function accessOf(ctx: StepContext, { extId, cluster, host, bmc }: Account): SystemAccountAccess {
  return {
    extId,
    clusterExtId: cluster.extId,
    ...(host === undefined ? {} : { hostExtId: host.extId }),
    ...(bmc === undefined
      ? {}
      : {
          bmc: {
            hostExtId: bmc.extId,
            address: bmc.ipAddress?.ipv4?.value ?? bmc.ipAddress?.ipv6?.value ?? '',
            username: bmc.credential?.username ?? '',
            password: bmcPassword(ctx, bmc) ?? '',
          },
        }),
  }
}

async function countFailure(ctx: RecordContext, account: Account): Promise<void> {
  const row = await ctx.store.get(SystemAccount, account.extId)
  const now = ctx.clock.now()
  const failures = [...(row?.failures ?? []).filter((at) => Date.parse(at) > now - tenMinutes), ctx.clock.iso()]
  const isLocked = failures.length >= maximumFailures
  const next = {
    ...(row ?? emptyRow(account)),
    failures: isLocked ? [] : failures,
    ...(isLocked ? { lockedUntil: new Date(now + tenMinutes).toISOString() } : {}),
  }
  if (row === undefined) await ctx.store.insert(SystemAccount, next)
  else await ctx.store.replace(SystemAccount, next)
}

interface Before {
  readonly account?: AccountRow
  readonly user?: User
  readonly bmc?: Bmc
  readonly extId: string
}

async function recordChange(ctx: RecordContext, input: Changing): Promise<Before> {
  const { extId, newPassword } = input
  const account = await accountOf(ctx, input)
  const { hash, history = [], replaces } = judgedIn(ctx)
  const kept = await keptOf(ctx.store, account)
  // PC `admin` may have changed its password in iam since.
  if (kept.passwordHash !== replaces)
    throw new ApiError('SYSTEM_PASSWORD_NOT_CHANGED', { reason: 'another change at the same time' })
  const row = await ctx.store.get(SystemAccount, extId)
  const isStrong = isHighStrength(newPassword)
  const formerPasswordHashes = [hash, ...history].slice(0, historyLength) as string[]
  const { failures: _, lockedUntil: __, ...base } = row ?? emptyRow(account)
  const { bmc, user } = account
  const secret =
    user === undefined
      ? { passwordHash: hash, formerPasswordHashes, lastUpdateTime: ctx.clock.iso(), isPasswordStrong: isStrong }
      : {}
  const next = { ...base, ...secret } as AccountRow
  if (row === undefined) await ctx.store.insert(SystemAccount, next)
  else await ctx.store.replace(SystemAccount, next)
  if (bmc !== undefined) {
    const credential = { username: account.username, password: newPassword }
    await ctx.store.replace(BmcInfo, { ...bmc, credential, status: 'VALID' })
  }
  if (user !== undefined)
    await ctx.store.replace(User, {
      ...user,
      passwordHash: hash,
      formerPasswordHashes,
      passwordChangedTime: ctx.clock.iso(),
      isPasswordStrong: isStrong,
      isForceResetPasswordEnabled: false,
      previousPassword: {
        hash: replaces,
        taskExtId: ctx.taskExtId,
        until: new Date(ctx.clock.now() + tenMinutes).toISOString(),
      },
      lastUpdatedBy: ctx.owner.extId,
      lastUpdatedTime: ctx.clock.iso(),
    } as typeof user)
  return { extId, ...(row && { account: row }), ...(bmc && { bmc }), ...(user && { user }) }
}

async function unrecordChange(ctx: RecordContext): Promise<void> {
  const before = ctx.outputs[recorded] as Before | undefined
  if (before === undefined) return
  const { extId, account, user, bmc } = before
  if (account === undefined) await ctx.store.remove(SystemAccount, extId)
  else await ctx.store.replace(SystemAccount, account)
  if (user !== undefined) await ctx.store.replace(User, user)
  if (bmc !== undefined) await ctx.store.replace(BmcInfo, bmc)
}
