/** Source: behaviour networking.md 1.3. */
import type { EntityOf } from '@hyperplane/contract'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { type ReservedIp, reservedIpOperations } from '@hyperplane/contract/networking/reserved-ip'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { formatAddress } from '../../core/ip-address.ts'
import { both, listOf, pathOf } from '../../core/standard.ts'
import { and, equals, evaluateFilter, type TypedFilter, type TypedOrderby } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import {
  holdersOf,
  isManaged,
  type Lease,
  leaseExactly,
  leaseLowest,
  release,
  requireSubnetAttachable,
  stateOf,
  tallyOf,
  textOfLease,
} from '../addressing/leases.ts'
import { defineTask, implement, type WriteContext } from '../context.ts'
import { limit, limitOf } from '../limits.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import { refusal } from './in-use.ts'
import { invalidField } from './ip-config.ts'
import { type RequestedAddresses, requestedAddresses } from './reserve-rules.ts'

interface ReservationInput {
  readonly subnetExtId: string
  readonly leases: readonly Lease[]
}

const textsOf = (leases: readonly Lease[]): string[] => leases.map((lease) => textOfLease(lease))

/** Clients expect exactly this pair in the completion details. */
const outcome = (key: 'reserved_ips' | 'unreserved_ips', leases: readonly Lease[]) => [
  { name: 'reserved_or_unreserved_ips', value: JSON.stringify({ [key]: textsOf(leases) }) },
]

const reserveTask = defineTask<ReservationInput>({
  name: 'networking.reserve-addresses',
  steps: [
    {
      name: 'announce',
      seconds: [0.03, 0.1],
      run: (ctx, { subnetExtId, leases }) =>
        ctx.drivers.networkFabric.announceAddresses(subnetExtId, { held: textsOf(leases) }),
      // No undo: the leases decide which addresses are held.
      record: async (ctx, { leases }) => ctx.complete(outcome('reserved_ips', leases)),
    },
  ],
  onUndone: (ctx, { leases }) => release(ctx.store, leases),
})

const unreserveTask = defineTask<ReservationInput>({
  name: 'networking.unreserve-addresses',
  steps: [
    {
      name: 'announce',
      seconds: [0.03, 0.1],
      run: (ctx, { subnetExtId, leases }) =>
        ctx.drivers.networkFabric.announceAddresses(subnetExtId, { freed: textsOf(leases) }),
      record: async (ctx, { leases }) => {
        await release(ctx.store, leases)
        ctx.complete(outcome('unreserved_ips', leases))
      },
    },
  ],
  onUndone: (ctx, { leases }) => markLeaving(ctx.store, leases, undefined),
})

/** Leases stay held until the task ends, so that a rollback only has to clear the mark. */
async function markLeaving(store: Transaction, leases: readonly Lease[], isLeaving: true | undefined): Promise<void> {
  for (const { extId } of leases) {
    if (await store.has(AddressLease, extId)) await store.observe(AddressLease, extId, { isLeaving } as Partial<Lease>)
  }
}

/** Per subnet. Source: behaviour networking.md 3.5. */
const maximumReserved = limit('reservedAddressesOfSubnet', 65_536)

export const reservedIp = implement(
  reservedIpOperations,
  {
    async listReservedIpsBySubnetId(ctx, request) {
      const { path, query } = request
      const { filter, orderby, page, limit } = query
      const where = reservationsOf(path.subnetExtId)
      if (filter === undefined || !isAboutAddress(filter)) {
        const found = await ctx.store.page(AddressLease, {
          filter: both(where, filter) as TypedFilter,
          ...(orderby === undefined ? {} : { orderby: orderby.map(byNumber) }),
          offset: page * limit,
          limit,
        })
        return { entities: found.entities.map(shown), total: found.total }
      }
      // Stored addresses are hexadecimal, so a filter on their text must read every reservation.
      const leases = await ctx.store.find(AddressLease, { filter: where })
      const matching = leases.filter((lease) => evaluateFilter(filter, shown(lease)) === true)
      const numericQuery = { ...query, ...(orderby === undefined ? {} : { orderby: orderby.map(byNumber) }) }
      const { entities, total } = listOf(matching, { query: { ...numericQuery, filter: undefined } })
      return { entities: entities.map(shown), total }
    },

    async reserveIpsBySubnetId(ctx, { body }) {
      const subnet = ctx.target
      const requested = requestedAddresses(body)
      await requireUsable(ctx, subnet)
      const terms = {
        kind: 'RESERVED' as const,
        ...(body.clientContext === undefined ? {} : { context: body.clientContext }),
      }
      await refuseBeyondLimit(ctx, subnet, requested)
      return start(ctx, reserveTask, subnet, await reserve(ctx, subnet, requested, terms))
    },

    async unreserveIpsBySubnetId(ctx, { body }) {
      const subnet = ctx.target
      const requested = requestedAddresses(body)
      await requireUsable(ctx, subnet)
      const leases = await reservations(ctx.store, subnet, requested, body.clientContext)
      await markLeaving(ctx.store, leases, true)
      return start(ctx, unreserveTask, subnet, leases)
    },
  },
  { tasks: [reserveTask, unreserveTask], limits: [maximumReserved] },
)

/** @throws ApiError 400 (no address management), 409 (subnet being created or deleted), 503 (cluster unreachable) */
async function requireUsable(ctx: WriteContext, subnet: SubnetEntity): Promise<void> {
  if (!isManaged(subnet)) throw invalidField('extId', `subnet ${subnet.name} is not managed`)
  requireSubnetAttachable(subnet)
  await requireClusterReachable(ctx, subnet.clusterReference)
}

async function reserve(
  ctx: WriteContext,
  subnet: SubnetEntity,
  requested: RequestedAddresses,
  terms: { readonly kind: 'RESERVED'; readonly context?: string },
): Promise<readonly Lease[]> {
  if (requested.kind === 'exactly') return leaseExactly(ctx, subnet, requested.addresses, terms, requested.pathOf)
  if (requested.kind === 'context') throw invalidField('reserveType', 'a context chooses no addresses')
  const { count, start } = requested
  const [config] = subnet.ipConfig ?? []
  const family = start?.family ?? (config?.ipv4 === undefined ? 'IPV6' : 'IPV4')
  return leaseLowest(ctx, subnet, { ...terms, family, count, ...(start === undefined ? {} : { start: start.value }) })
}

/** @throws ApiError 409 if an address is not reserved; none is released then */
async function reservations(
  store: Reader,
  subnet: SubnetEntity,
  requested: RequestedAddresses,
  context: string | undefined,
): Promise<readonly Lease[]> {
  if (requested.kind === 'context') {
    const found = await store.findWhere(AddressLease, { clientContext: requested.context, subnetExtId: subnet.extId })
    return found.filter((lease) => lease.kind === 'RESERVED' && lease.isLeaving !== true)
  }
  if (requested.kind === 'lowest') throw invalidField('unreserveType', 'a count chooses no addresses')
  const leases = await holdersOf(store, subnet.extId, requested.addresses)
  const held = new Map(leases.map((lease) => [textOfLease(lease), lease]))
  refuseAll(
    requested.addresses.flatMap((address) => {
      const text = formatAddress(address)
      const lease = held.get(text)
      if (lease === undefined) return [refusal(`${text} is not reserved.`)]
      if (lease.isLeaving === true) return [refusal(`${text} is being given back already.`)]
      if (lease.kind !== 'RESERVED') {
        return [new ApiError('IP_ADDRESS_UNAVAILABLE', { address: text, state: stateOf[lease.kind!] })]
      }
      if (context === undefined || lease.clientContext === context) return []
      return [refusal(`${text} is reserved with another context.`)]
    }),
  )
  return leases
}

/** Does not lock the subnet: reservations of one subnet run concurrently. */
function start(ctx: WriteContext, definition: typeof reserveTask, subnet: SubnetEntity, leases: readonly Lease[]) {
  const keyOf = (lease: Lease): string => `${lease.family} ${lease.address}`
  const inOrder = [...leases].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const input: ReservationInput = { subnetExtId: subnet.extId, leases: inOrder }
  return ctx.startTask(definition, input, {
    operation: 'kSubnetReserveIp',
    description: 'Reserve or Unreserve IP on Managed Subnet',
    affected: [{ extId: subnet.extId, rel: 'networking:config:subnet' }],
    locks: [],
    ...(subnet.subnetType === 'VLAN' && subnet.clusterReference !== undefined
      ? { clusterExtIds: [subnet.clusterReference] }
      : {}),
  })
}

async function refuseBeyondLimit(
  ctx: WriteContext,
  subnet: SubnetEntity,
  requested: RequestedAddresses,
): Promise<void> {
  const more =
    requested.kind === 'exactly' ? requested.addresses.length : requested.kind === 'lowest' ? requested.count : 0
  const maximum = limitOf(ctx, maximumReserved)
  const found = (await tallyOf(ctx.store, subnet.extId)).reserved + more
  if (found <= maximum) return
  const limit = `Reserved addresses of subnet ${subnet.name}`
  throw new ApiError('NETWORKING_LIMIT_EXCEEDED', { limit, maximum, found })
}

const shown = (lease: Lease): EntityOf<typeof ReservedIp> => ({
  extId: lease.extId,
  ipv4Address: textOfLease(lease),
  ...(lease.clientContext === undefined ? {} : { clientContext: lease.clientContext }),
})

const reservationsOf = (subnetExtId: string): TypedFilter =>
  and(
    equals(pathOf(AddressLease, 'subnetExtId'), subnetExtId),
    equals(pathOf(AddressLease, 'kind'), 'RESERVED'),
    equals(pathOf(AddressLease, 'family'), 'IPV4'),
  )

const isAboutAddress = (filter: TypedFilter): boolean => JSON.stringify(filter).includes('"ipv4Address"')

/** The stored hexadecimal text sorts numerically. */
const byNumber = (key: TypedOrderby): TypedOrderby =>
  key.field.names[0] === 'ipv4Address' ? { ...key, field: { ...key.field, names: ['address'] } } : key
