/** Source: behaviour networking.md 1.2 (delete). */
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { usageOf } from '../addressing/leases.ts'
import { type Asking, inUse, namesOf, visibleReferrers } from './in-use.ts'

/** @throws ApiError 409 that names up to five referrers of the subnet, or the number of assigned addresses */
export async function refuseWhileUsed(ctx: Asking, subnet: SubnetEntity): Promise<void> {
  const referrers = await ctx.store.referrers('Subnet', subnet.extId)
  if (referrers.length > 0) throw inUse('subnet', subnet.name, await namesOf(ctx, referrers))
  const { assigned } = await usageOf(ctx.store, subnet)
  if (assigned > 0) throw inUse('subnet', subnet.name, [`${assigned} assigned addresses`])
}

export async function refuseWhileConnected(ctx: Asking, subnet: SubnetEntity): Promise<void> {
  const machines = await visibleReferrers(ctx, 'Subnet', subnet.extId, (kind) => kind === 'Vm')
  if (machines.length > 0) throw inUse('subnet', subnet.name, await namesOf(ctx, machines))
}

export async function refuseWhileAttached(ctx: Asking, subnet: SubnetEntity): Promise<void> {
  const users = await visibleReferrers(ctx, 'Subnet', subnet.extId, (kind) => kind === 'Vpc' || kind === 'FloatingIp')
  if (users.length > 0) throw inUse('subnet', subnet.name, await namesOf(ctx, users))
}
