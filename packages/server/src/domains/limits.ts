import type { Services } from '../core/world.ts'
/**
 * The most that there may be of a thing. What is beyond is refused with 422, which names the limit and what was found.
 * They are read through the context, so that a test can lower one instead of making ten thousand rows.
 * Source: behaviour iam.md 3, 8; networking.md 3.5; platform.md 1; vmm.md 3.9; volumes-storage.md 1.1.
 */

export const limits = {
  associationsOfCategory: 100_000,
  categories: 20_000,
  images: 2000,
  nicsOfSubnet: 10_000,
  reservedAddressesOfSubnet: 65_536,
  roles: 5000,
  routingPoliciesOfVpc: 991,
  subnets: 5000,
  users: 10_000,
  valuesOfCategoryKey: 1000,
  vmsOfCluster: 5000,
  volumeGroupsOfCluster: 6000,
  vpcs: 500,
} as const

export type LimitName = keyof typeof limits

/** What an app was started with, over what holds everywhere. */
export const limitOf = (ctx: { readonly services: Pick<Services, 'limits'> }, name: LimitName): number =>
  ctx.services.limits[name] ?? limits[name]
