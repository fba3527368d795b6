/** generateConsoleTokenById, and the check of a token. Source: behaviour vmm.md 1.0 (secrets), 1.1, 1.16. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { arrayOf, type EntityOf, object, optional, resource, secret, text, timestamp, uuid } from '@hyperplane/contract'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { Caller } from '../../../core/caller.ts'
import { defined } from '../../../core/defined.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { pathOf } from '../../../core/standard.ts'
import { type Clock, formatTime } from '../../../core/time/clock.ts'
import type { SecretReader } from '../../../core/world.ts'
import { compares, equals } from '../../../odata/index.ts'
import type { Reader, Transaction } from '../../../store/store.ts'
import { defineTask, type WriteContext } from '../../context.ts'
import { requireClusterReachable } from '../../registrations/reachability.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { type OfVm, requireVm, taskOf } from './admission.ts'
import { requireState } from './states.ts'

const validMilliseconds = 5 * 60 * 1000

/** The token itself is stored only with the task that issued it. */
export const ConsoleToken = resource('internal.v1.vmm.ConsoleToken', {
  fields: {
    vmExtId: uuid(),
    expiryTime: timestamp(),
    key: secret(text()),
    /** Its rights are those of the console. */
    holder: object('', {
      extId: uuid(),
      name: text(),
      type: text(),
      groups: arrayOf(text()),
      tenantId: uuid(),
      credential: text(),
      credentialId: optional(text()),
    }),
  },
  indexed: ['vmExtId'],
  ofCluster: { by: 'vmExtId', partOf: 'Vm' },
  leftOut: { what: 'console tokens', instead: 'generate others' },
})

/** The VM does not change: its entity tag stays, and the task does not wait for other tasks of the VM. */
export async function generateConsoleToken(ctx: WriteContext<VmEntity>): Promise<TaskStarted> {
  const vm = ctx.target
  await requireClusterReachable(ctx, vm.cluster?.extId)
  requireState(vm, 'generate-console-token')
  const options = { ...taskOf('GenerateConsoleToken', vm), locks: [] }
  return ctx.startTask(issueConsoleToken, { vmExtId: vm.extId }, options)
}

export const issueConsoleToken = defineTask<OfVm>({
  name: 'vmm.generate-console-token',
  steps: [
    {
      name: 'issue',
      record: async (ctx, { vmExtId }) => {
        await requireVm(ctx.store, vmExtId, 'generate-console-token')
        await removeExpired(ctx.store, ctx.clock.iso())
        const key = ctx.ids.secretBytes(32).toString('base64url')
        const expiryTime = formatTime(ctx.clock.now() + validMilliseconds)
        const { extId, name, type, groups, tenantId, credential, credentialId } = ctx.owner
        const holder = { extId, name, type, groups: [...groups], tenantId, credential, ...defined({ credentialId }) }
        const row = await ctx.store.insert(ConsoleToken, { extId: ctx.ids.uuid(), vmExtId, expiryTime, key, holder })
        ctx.completeForOwner([
          { name: 'VmConsoleToken', value: `${row.extId}.${signatureOf(row, key)}` },
          { name: 'WsUri', value: `/console/vms/${vmExtId}` },
        ])
      },
    },
  ],
})

interface Checking {
  readonly clock: Pick<Clock, 'iso'>
  readonly secrets: SecretReader
  readonly store: Reader
}

/** A token opens the console of its VM once, before it expires, and only while the VM is ON. Undefined: nothing. */
export async function tokenHolder(
  { clock, secrets, store }: Checking,
  vmExtId: string,
  token: string,
): Promise<Caller | undefined> {
  const [extId = '', signature = ''] = token.split('.')
  const row = await store.get(ConsoleToken, extId)
  if (row === undefined || row.vmExtId !== vmExtId || row.expiryTime <= clock.iso()) return undefined
  const key = secrets.open(ConsoleToken.kind, extId, 'key', row.key) as string
  if (!isEqual(signature, signatureOf(row, key))) return undefined
  if ((await store.get(Vm, vmExtId))?.powerState !== 'ON') return undefined
  const { type, credential, ...holder } = row.holder
  return { ...holder, type: type as Caller['type'], credential: credential as Caller['credential'] }
}

/** Uses the token up if it opens the console. */
export async function redeemConsoleToken(
  checking: Checking & { readonly store: Transaction },
  vmExtId: string,
  token: string,
): Promise<Caller | undefined> {
  const holder = await tokenHolder(checking, vmExtId, token)
  if (holder !== undefined) await checking.store.remove(ConsoleToken, token.split('.')[0] ?? '')
  return holder
}

export async function forgetConsoleTokens(store: Transaction, vmExtId: string): Promise<void> {
  await store.removeWhere(ConsoleToken, equals(pathOf(ConsoleToken, 'vmExtId'), vmExtId))
}

async function removeExpired(store: Transaction, now: string): Promise<void> {
  await store.removeWhere(ConsoleToken, compares(pathOf(ConsoleToken, 'expiryTime'), 'le', now))
}

const signatureOf = (row: Pick<EntityOf<typeof ConsoleToken>, 'extId' | 'expiryTime' | 'vmExtId'>, key: string) =>
  createHmac('sha256', key).update(`${row.extId} ${row.vmExtId} ${row.expiryTime}`).digest('base64url')

function isEqual(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}
