/** Receivers of traps. Source: behaviour clustermgmt.md 1.12. */
import type { BodyOf } from '@hyperplane/contract'
import { SnmpTrap, snmpTrapOperations } from '@hyperplane/contract/clustermgmt/snmp-trap'
import { ApiError, invalid } from '../../../core/api-error.ts'
import { created, replaced } from '../../../core/updates.ts'
import type { Reader } from '../../../store/store.ts'
import { type AffectedEntity, affected, implement, type RecordContext } from '../../context.ts'
import { trapFaults, withCommunity } from '../settings-rules.ts'
import { type Section, type TrapRow, trapIn, trapKey, withTrap } from './section.ts'
import { receiverAddressOf } from './send-traps.ts'
import { clusterInPath, snmpChange, startSnmpChange } from './tasks.ts'

interface OfTrap {
  readonly trap: TrapRow
  readonly before?: string
}

const affectedTrap = ({ extId, address, recieverName }: TrapRow): AffectedEntity =>
  affected(SnmpTrap, { extId, name: recieverName ?? address.ipv4?.value ?? address.ipv6?.value ?? '' })

const put = {
  faults: (present: Section, { trap, before }: OfTrap): ApiError[] => [
    ...(before === undefined ? [] : requireTrap(present, trap.extId, before)),
    ...userFaults(present, trap),
    ...(trapKey(trap) !== before && present.traps.some((other) => trapKey(other) === trapKey(trap))
      ? [new ApiError('SNMP_TRAP_EXISTS', {})]
      : []),
  ],
  next: (present: Section, { trap, before }: OfTrap) => withTrap(present, trapIn(trap), before),
}

const createTrap = snmpChange<OfTrap>({
  operation: 'Create SNMP Trap',
  ...put,
  async record(ctx, { trap }) {
    await ctx.store.publish(SnmpTrap, trap.extId)
    warnUnlessSent(ctx, trap)
  },
  onUndone: ({ store }, { trap }) => store.remove(SnmpTrap, trap.extId),
})

const updateTrap = snmpChange<OfTrap>({
  operation: 'Update SNMP Trap',
  current: withStoredKey,
  ...put,
  async record(ctx, { trap }) {
    await ctx.store.replace(SnmpTrap, trap)
    warnUnlessSent(ctx, trap)
  },
})

const deleteTrap = snmpChange<OfTrap>({
  operation: 'Delete SNMP Trap',
  current: withStoredKey,
  faults: (present, { trap, before = '' }) => requireTrap(present, trap.extId, before),
  next: (present, { before }) => ({
    ...present,
    traps: present.traps.filter((other) => trapKey(other) !== before),
  }),
})

export const snmpTrap = implement(
  snmpTrapOperations,
  {
    async createSnmpTrap(ctx, { body }) {
      const cluster = clusterInPath(ctx)
      const given = withCommunity(body)
      const own = { clusterExtId: cluster.extId, receiver: trapKey(given) }
      const trap = await ctx.store.insert(SnmpTrap, created(ctx, SnmpTrap, given, own), { pending: true })
      return startSnmpChange(ctx, cluster, createTrap, { trap }, affectedTrap(trap))
    },

    async updateSnmpTrapById(ctx, { body }) {
      const stored = ctx.target
      const given = withCommunity(body)
      const trap = { ...replaced(SnmpTrap, stored, given, ctx.version), receiver: trapKey(given) }
      await ctx.store.touch(SnmpTrap, trap.extId)
      const input = { trap, before: trapKey(stored) }
      return startSnmpChange(ctx, clusterInPath(ctx), updateTrap, input, affectedTrap(trap))
    },

    deleteSnmpTrapById(ctx) {
      const trap = ctx.target
      const input = { trap, before: trapKey(trap) }
      return startSnmpChange(ctx, clusterInPath(ctx), deleteTrap, input, affectedTrap(trap))
    },
  },
  {
    rules: { createSnmpTrap: bodyFaults, updateSnmpTrapById: bodyFaults },
    tasks: [createTrap.task, updateTrap.task, deleteTrap.task],
  },
)

function bodyFaults({ body }: { readonly body: BodyOf<typeof SnmpTrap> }): ApiError[] {
  return trapFaults(body).map(([path, text]) => invalid(path, text))
}

function userFaults({ users }: Section, { version, username }: TrapRow): ApiError[] {
  if (version !== 'V3' || users.some((user) => user.username === username)) return []
  return [new ApiError('ENTITY_NOT_FOUND', { kind: 'SNMP user', id: username ?? '', attribute: 'username' })]
}

function warnUnlessSent(ctx: RecordContext, trap: TrapRow): void {
  const address = receiverAddressOf(trap, trap.protocol)
  const refusal = address === undefined ? undefined : ctx.drivers.traps.refusalOf(address)
  if (refusal !== undefined) ctx.warn(`No trap is sent to ${address} now: ${refusal}.`)
}

/** An earlier task may have changed the key of the trap, or deleted the trap. */
async function withStoredKey(store: Reader, { trap }: OfTrap): Promise<OfTrap> {
  const stored = await store.get(SnmpTrap, trap.extId)
  if (stored === undefined) throw noTrap(trap.extId)
  return { trap, before: trapKey(stored) }
}

/** The trap may have been removed at the cluster. */
const requireTrap = ({ traps }: Section, extId: string, key: string): ApiError[] =>
  traps.some((other) => trapKey(other) === key) ? [] : [noTrap(extId)]

const noTrap = (extId: string): ApiError =>
  new ApiError('ENTITY_NOT_FOUND', { kind: SnmpTrap.title, id: extId, attribute: 'extId' })
