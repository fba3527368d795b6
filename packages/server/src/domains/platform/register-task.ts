/** Before `exchange trust` the remote side knows nothing of this manager; a later rollback revokes the trust. Source: platform.md 4. */
import { apiKeyPrefix } from '@hyperplane/contract/iam/key'
import { DomainManager, registeredRel } from '@hyperplane/contract/platform/domain-manager'
import { Registration } from '@hyperplane/contract/platform/registration'
import { Task } from '@hyperplane/contract/platform/task'
import type { AppMessage } from '../../core/api-error.ts'
import { parseTime } from '../../core/time/clock.ts'
import {
  accountName,
  type Credentials,
  type InventoryRow,
  isApiKey,
  RemoteFault,
  type RemotePlace,
  type RemoteSide,
  type RemoteType,
} from '../../drivers/remote-managers.ts'
import { makeAccount, removeAccount } from '../accounts/manager-accounts.ts'
import { defineTask, type Plan, type StepContext } from '../context.ts'
import { insertInventory } from '../registrations/cluster-inventory.ts'
import { newRegistration, registrationIdOf } from '../registrations/registrations.ts'
import { managerOfRemote } from './manager-of-remote.ts'
import { ownManager } from './own-manager.ts'
import { RegistrationAttempt } from './registration-attempt.ts'
import { asAddress, asRefusal, notNotifiedWarning, precheckFailed, reasonsAgainst } from './registration-rules.ts'

export interface RegisterInput {
  readonly attemptExtId: string
  readonly address: string
  readonly type: RemoteType
  readonly cloudType?: string
  readonly credentials?: Credentials
}

interface Reached {
  readonly certificate: string
  readonly skewMillis: number
}

const keyBytes = 32
/** A rollback gives up on a remote manager that has not answered for this long. */
const farewellTimeoutMillis = 3_600_000

export const registerRemote = defineTask<RegisterInput>({
  name: 'platform.register-remote',
  cancelableUntil: 'exchange trust',
  pointOfNoReturn: 'done',
  steps: [
    {
      name: 'reach the address',
      progress: 20,
      seconds: [5, 10],
      run: reach,
      // No undo: the step only reads.
    },
    {
      name: 'authenticate',
      progress: 30,
      run: authenticate,
      record: async (ctx, _input, { extId, name, type }: RemoteSide) => {
        const manager = await ownManager(ctx.store)
        const rel = type === 'AOS' ? 'clustermgmt:config:cluster' : registeredRel
        ctx.affect({ extId, name, rel })
        ctx.affect({ extId: manager.extId, name: manager.config.name, rel: registeredRel })
      },
    },
    {
      name: 'precheck',
      progress: 40,
      record: async (ctx, input) => {
        const remote = remoteOf(ctx)
        const reasons = await reasonsAgainst(ctx, remote, input.type, remoteSide(ctx).skewMillis)
        if (reasons.length > 0) throw precheckFailed(input.address, reasons)
        const manager = await ownManager(ctx.store)
        // Reserves the registration's id: of two registrations of one remote side, only one reaches the trust exchange.
        await ctx.store.insert(
          Registration,
          newRegistration(
            {
              extId: remote.extId,
              name: remote.name,
              clusterType: remote.type,
              clusterVersion: remote.version,
              externalAddress: asAddress(input.address),
              ...(remote.nodeAddresses.length === 0 ? {} : { nodeIpAddresses: remote.nodeAddresses.map(asAddress) }),
            },
            {
              tenantId: ctx.tenantId,
              domainManagerExtId: manager.extId,
              address: input.address,
              certificate: remoteSide(ctx).certificate,
              ...(input.cloudType === undefined ? {} : { attributes: { cloudType: input.cloudType } }),
            },
          ),
          { pending: true },
        )
        if (remote.type === 'AOS') return
        const credentials = await credentialsOf(ctx, input)
        // With an API key this is a registration in return: the remote manager creates a key for its account by itself.
        const apiKey = isApiKey(credentials)
          ? undefined
          : `${apiKeyPrefix}${ctx.ids.secretBytes(keyBytes).toString('base64url')}`
        await makeAccount(ctx, remote, apiKey)
        if (apiKey !== undefined)
          await ctx.store.update(RegistrationAttempt, input.attemptExtId, { accountKey: apiKey })
      },
      unrecord: async (ctx) => {
        const { extId, type } = remoteOf(ctx)
        await ctx.store.remove(Registration, registrationIdOf(extId))
        if (type === 'DOMAIN_MANAGER') await removeAccount(ctx.store, extId)
      },
    },
    {
      name: 'exchange trust',
      progress: 60,
      seconds: [10, 25],
      run: exchangeTrust,
      record: async (ctx, input, { key }: { key?: string }) => {
        const extId = registrationIdOf(remoteOf(ctx).extId)
        if (key !== undefined) await ctx.store.update(Registration, extId, { trustKey: key })
        await ctx.store.remove(RegistrationAttempt, input.attemptExtId)
        ctx.complete([{ name: 'certificateSha256', value: remoteSide(ctx).certificate }])
        // The registration stores the key encrypted; keep it out of the task's outputs.
        return { keep: null }
      },
      undo: revokeTrust,
    },
    {
      name: 'import inventory',
      progress: 90,
      seconds: [8, 20],
      run: async (ctx) => {
        const { extId, type } = remoteOf(ctx)
        return type === 'AOS' ? ctx.drivers.remoteManagers.inventory(extId) : []
      },
      record: async (ctx, input, rows: readonly InventoryRow[]) => {
        const remote = remoteOf(ctx)
        if (remote.type === 'AOS')
          await insertInventory(ctx.store, rows, { tenantId: ctx.tenantId, ownerExtId: ctx.owner.extId })
        else await ctx.store.insert(DomainManager, managerOfRemote(remote, input.address, ctx))
        await ctx.store.publish(Registration, registrationIdOf(remote.extId))
        return { keep: null }
      },
    },
    {
      name: 'done',
      run: async (ctx) => {
        const { extId, type } = remoteOf(ctx)
        // The cluster drops its copy: this manager holds the inventory now.
        if (type === 'AOS') await ctx.drivers.remoteManagers.keepInventory(extId, undefined)
      },
    },
  ],
  plan: planRegistration,
  onUndone: async (ctx, { attemptExtId }) => {
    // The rollback may have removed the account of the remote manager.
    ctx.services.access.changed()
    if (await ctx.store.has(RegistrationAttempt, attemptExtId))
      await ctx.store.remove(RegistrationAttempt, attemptExtId)
  },
})

async function reach(ctx: StepContext, { address }: RegisterInput): Promise<Reached> {
  const { certificate, clock } = await asRefusal(address, () => ctx.drivers.remoteManagers.reach(address))
  return { certificate, skewMillis: clock - ctx.clock.now() }
}

async function authenticate(ctx: StepContext, input: RegisterInput): Promise<RemoteSide> {
  const credentials = await credentialsOf(ctx, input)
  const manager = await ownManager(ctx.store)
  const place: RemotePlace = { address: input.address, certificate: remoteSide(ctx).certificate }
  return asRefusal(input.address, () => ctx.drivers.remoteManagers.identify(place, credentials, manager))
}

async function exchangeTrust(ctx: StepContext, input: RegisterInput): Promise<{ key?: string }> {
  // Activates the account that the step `precheck` created.
  ctx.services.access.changed()
  const attempt = await ctx.store.get(RegistrationAttempt, input.attemptExtId)
  const credentials = await credentialsOf(ctx, input)
  const remote = remoteOf(ctx)
  const password = ctx.secrets.open(RegistrationAttempt.kind, input.attemptExtId, 'accountKey', attempt?.accountKey)
  const manager = await ownManager(ctx.store)
  const introduction = {
    extId: manager.extId,
    name: manager.config.name,
    ...(password === undefined ? {} : { account: { username: accountName(remote.extId), password } }),
  }
  return asRefusal(input.address, () =>
    ctx.drivers.remoteManagers.exchangeTrust(placeOf(ctx, input), credentials, introduction, ctx.callKey),
  )
}

/** Retries until a cluster answers: it could be registered nowhere else. A silent manager is given up: its account here is removed. */
async function revokeTrust(ctx: StepContext, input: RegisterInput): Promise<void> {
  const attempt = await ctx.store.get(RegistrationAttempt, input.attemptExtId)
  const extId = registrationIdOf(remoteOf(ctx).extId)
  const row = await ctx.store.pending(Registration, extId)
  const proof =
    attempt === undefined
      ? { key: ctx.secrets.open(Registration.kind, extId, 'trustKey', row?.trustKey) }
      : { credentials: await credentialsOf(ctx, input) }
  try {
    await ctx.drivers.remoteManagers.revokeTrust(placeOf(ctx, input), proof, await ownManager(ctx.store))
  } catch (error) {
    const { type, name } = remoteOf(ctx)
    if (!(error instanceof RemoteFault) || type === 'AOS' || !(await isPermanent(ctx, error))) throw error
    await ctx.checkpoint(undefined, async ({ warn }) => warn(notNotifiedWarning(name, error)))
  }
}

async function isPermanent(ctx: StepContext, { reason }: RemoteFault): Promise<boolean> {
  if (reason === 'authentication' || reason === 'certificate') return true
  const since = (await ctx.store.get(Task, ctx.taskExtId))?.lastUpdatedTime
  return ctx.clock.now() - (parseTime(since ?? '') ?? Number.POSITIVE_INFINITY) >= farewellTimeoutMillis
}

async function credentialsOf(ctx: Pick<StepContext, 'store' | 'secrets'>, input: RegisterInput): Promise<Credentials> {
  if (input.credentials !== undefined) return input.credentials
  const attempt = await ctx.store.get(RegistrationAttempt, input.attemptExtId)
  const text = ctx.secrets.open(RegistrationAttempt.kind, input.attemptExtId, 'credentials', attempt?.credentials)
  if (text === undefined) throw new Error('a registration needs credentials that are no longer stored')
  return JSON.parse(text) as Credentials
}

async function planRegistration(ctx: StepContext, input: RegisterInput): Promise<Plan> {
  const reached = await reach(ctx, input)
  const remote = await authenticate({ ...ctx, outputs: { 'reach the address': reached } }, input)
  const reasons = await reasonsAgainst(ctx, remote, input.type, reached.skewMillis)
  const problems: AppMessage[] = reasons.length === 0 ? [] : [precheckFailed(input.address, reasons).appMessage]
  const rows = remote.type === 'AOS' ? await ctx.drivers.remoteManagers.inventory(remote.extId) : []
  const counts = new Map<string, number>()
  for (const { kind } of rows) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return {
    changes: [
      {
        attribute: `registration of ${remote.name}`,
        from: 'absent',
        to: `PENDING, certificate ${reached.certificate}`,
      },
      ...[...counts].map(([kind, count]) => ({ attribute: kind, from: '0', to: String(count) })),
    ],
    problems,
  }
}

const remoteSide = (ctx: Pick<StepContext, 'outputs'>): Reached => ctx.outputs['reach the address'] as Reached
const remoteOf = (ctx: Pick<StepContext, 'outputs'>): RemoteSide => ctx.outputs['authenticate'] as RemoteSide
const placeOf = (ctx: Pick<StepContext, 'outputs'>, { address }: RegisterInput): RemotePlace => ({
  address,
  certificate: remoteSide(ctx).certificate,
})
