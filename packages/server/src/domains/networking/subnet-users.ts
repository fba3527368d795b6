/** Who keeps a subnet from being deleted or changed. Source: behaviour networking.md 1.2 (delete). */
import { ApiError } from '../../core/api-error.ts'
import type { Kinds } from '../../core/ports.ts'
import type { Reader, Referrer } from '../../store/store.ts'
import type { SubnetEntity } from '../address-plan.ts'
import { usageOf } from '../addresses.ts'

interface Asking {
  readonly store: Reader
  readonly kinds: Kinds
}

/** Users that a refusal names. */
const shown = 5

/** @throws ApiError 409 that names up to five users: whatever refers to the subnet, or holds an address of it */
export async function refuseWhileUsed(ctx: Asking, subnet: SubnetEntity): Promise<void> {
  const referrers = await ctx.store.referrers('Subnet', subnet.extId)
  if (referrers.length > 0) throw inUse(subnet, await namesOf(ctx, referrers))
  const { assigned } = await usageOf(ctx.store, subnet)
  if (assigned > 0) throw inUse(subnet, [`${assigned} assigned addresses`])
}

/** @throws ApiError 409 that names VMs with a NIC on the subnet */
export async function refuseWhileConnected(ctx: Asking, subnet: SubnetEntity): Promise<void> {
  const referrers = await ctx.store.referrers('Subnet', subnet.extId)
  const machines = referrers.filter(({ kind }) => kind === 'Vm')
  if (machines.length > 0) throw inUse(subnet, await namesOf(ctx, machines))
}

/** @throws ApiError 409 that names VPCs attached to an external subnet */
export async function refuseWhileAttached(ctx: Asking, subnet: SubnetEntity): Promise<void> {
  const vpcs = (await ctx.store.referrers('Subnet', subnet.extId)).filter(({ kind }) => kind === 'Vpc')
  if (vpcs.length > 0) throw inUse(subnet, await namesOf(ctx, vpcs))
}

export const inUse = (subnet: SubnetEntity, users: readonly string[]): ApiError => {
  const more = users.length > shown ? ` and ${users.length - shown} more` : ''
  return new ApiError('NETWORKING_ENTITY_IN_USE', {
    kind: 'subnet',
    name: subnet.name,
    users: `${users.slice(0, shown).join(', ')}${more}`,
  })
}

async function namesOf(ctx: Asking, referrers: readonly Referrer[]): Promise<readonly string[]> {
  const names = new Set<string>()
  for (const { kind, extId } of referrers) {
    const resource = ctx.kinds.resource(kind)
    // A user that is still in the making counts, and is named, as well.
    const user: any = resource === undefined ? undefined : await ctx.store.pending(resource, extId)
    names.add(`${kind === 'Vm' ? 'VM' : (resource?.title ?? kind)} ${user?.name ?? extId}`)
  }
  return [...names]
}
