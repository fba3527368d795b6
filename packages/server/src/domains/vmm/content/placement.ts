/** Which clusters should hold an image, by its placement policies. Source: behaviour vmm.md 1.9 (PlacementPolicy). */
import type { EntityOf, ValueOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Image, type ImagePlacementStatus } from '@hyperplane/contract/vmm/content/image'
import { ImagePlacementPolicy } from '@hyperplane/contract/vmm/content/image-placement-policy'
import { maySee, type Reporting } from '../../../core/access/may-see.ts'
import { ApiError } from '../../../core/api-error.ts'
import type { Reader } from '../../../store/store.ts'
import { isNative } from '../vm/create/clusters.ts'
import { type CategoryFilter, matchesCategories, matchingClusters } from './category-filter.ts'

type ImageEntity = EntityOf<typeof Image>
type Status = ValueOf<typeof ImagePlacementStatus>
type IsReachable = (clusterExtId: string) => boolean

export interface ActivePolicy {
  readonly extId: string
  readonly name: string
  readonly changedAt: string
  readonly isHard: boolean
  readonly images: CategoryFilter
  readonly clusterExtIds: readonly string[]
}

export interface Placement {
  /** Active policies that select the image, oldest first. */
  readonly policies: readonly ActivePolicy[]
  /** The clusters that all HARD policies allow; undefined: there is no HARD policy. */
  readonly allowed: readonly string[] | undefined
  /** Clusters that should hold a copy. */
  readonly wanted: readonly string[]
}

export async function activePolicies(store: Reader): Promise<readonly ActivePolicy[]> {
  const policies = (await store.find(ImagePlacementPolicy)).filter((each) => each.enforcementState !== 'SUSPENDED')
  if (policies.length === 0) return []
  const clusters = (await store.find(Cluster)).filter(isNative)
  return policies.map(
    ({ extId, name, placementType, imageEntityFilter, clusterEntityFilter, lastUpdateTime = '' }) => ({
      extId,
      name,
      changedAt: lastUpdateTime,
      isHard: placementType === 'HARD',
      images: imageEntityFilter,
      clusterExtIds: matchingClusters(clusters, clusterEntityFilter),
    }),
  )
}

export function placementOf(active: readonly ActivePolicy[], categoryExtIds: readonly string[] = []): Placement {
  const carried = new Set(categoryExtIds)
  const policies = active.filter(({ images }) => matchesCategories(images, carried))
  const [first, ...others] = policies.filter(({ isHard }) => isHard)
  const allowed = first?.clusterExtIds.filter((extId) =>
    others.every(({ clusterExtIds }) => clusterExtIds.includes(extId)),
  )
  const wanted = allowed ?? [...new Set(policies.flatMap(({ clusterExtIds }) => clusterExtIds))]
  return { policies, allowed, wanted }
}

/** Reachable clusters without a copy that they should get. */
export const lackingCopies = (
  { wanted }: Placement,
  locations: readonly string[],
  isReachable: IsReachable,
): string[] => wanted.filter((extId) => !locations.includes(extId) && isReachable(extId))

/** Copies on reachable clusters that HARD policies forbid; none if no allowed copy would be left. */
export const extraCopies = (
  { allowed = [] }: Placement,
  locations: readonly string[],
  isReachable: IsReachable,
): string[] =>
  locations.some((extId) => allowed.includes(extId))
    ? locations.filter((extId) => !allowed.includes(extId) && isReachable(extId))
    : []

export function statusesOf(
  { policies, allowed }: Placement,
  locations: readonly string[],
  isReachable: IsReachable,
): readonly Status[] {
  const hard = policies.filter(({ isHard }) => isHard)
  return policies.map((policy) => {
    const { clusterExtIds } = policy
    const enforced = clusterExtIds.filter((extId) => allowed?.includes(extId) ?? true)
    const lacking = enforced.filter((extId) => !locations.includes(extId))
    const isExclusive = !policy.isHard || locations.every((extId) => clusterExtIds.includes(extId))
    const isWhole = policy.isHard
      ? enforced.length > 0
      : enforced.length === clusterExtIds.length && enforced.length > 0
    const canEnforce = isWhole && lacking.every(isReachable)
    return {
      placementPolicyExtId: policy.extId,
      complianceStatus: isWhole && lacking.length === 0 && isExclusive ? 'COMPLIANT' : 'NON_COMPLIANT',
      enforcementMode: canEnforce ? 'ENFORCING' : 'ENFORCEMENT_FAILED',
      policyClusterExtIds: [...clusterExtIds],
      enforcedClusterExtIds: enforced,
      conflictingPolicyExtIds: policy.isHard && allowed?.length === 0 ? conflictsOf(policy, hard) : [],
    }
  })
}

/** Policies and conflicts of an answer; policies that the image breaks come first. */
const maximumListed = 100

/** HARD policies that share no cluster with this one; where each pair shares one and all together none, all others. */
function conflictsOf(policy: ActivePolicy, hard: readonly ActivePolicy[]): string[] {
  const disjoint = (one: ActivePolicy, other: ActivePolicy): boolean =>
    !one.clusterExtIds.some((extId) => other.clusterExtIds.includes(extId))
  const others = hard.filter(({ extId }) => extId !== policy.extId)
  const isPairwise = hard.some((one) => hard.some((other) => one !== other && disjoint(one, other)))
  return others
    .filter((other) => !isPairwise || disjoint(policy, other))
    .map(({ extId }) => extId)
    .slice(0, maximumListed)
}

/** For new disks and CD-ROMs. @throws ApiError IMAGE_PLACEMENT_FORBIDDEN when a HARD policy keeps an image off the cluster */
export async function requireImagesAllowed(
  ctx: Reporting & { readonly store: Reader },
  imageExtIds: readonly string[],
  clusterExtId: string,
): Promise<void> {
  const active = imageExtIds.length === 0 ? [] : await activePolicies(ctx.store)
  if (active.length === 0) return
  for (const { name, categoryExtIds } of await ctx.store.getMany(Image, imageExtIds)) {
    const { policies } = placementOf(active, categoryExtIds)
    const forbidding = policies.find((policy) => policy.isHard && !policy.clusterExtIds.includes(clusterExtId))
    if (forbidding === undefined) continue
    const cluster = await ctx.store.get(Cluster, clusterExtId)
    const row = await ctx.store.get(ImagePlacementPolicy, forbidding.extId)
    throw new ApiError('IMAGE_PLACEMENT_FORBIDDEN', {
      image: name,
      cluster: cluster !== undefined && (await maySee(ctx, Cluster, cluster)) ? cluster.name : clusterExtId,
      policy: (await maySee(ctx, ImagePlacementPolicy, row)) ? forbidding.name : '(not shown)',
    })
  }
}

export async function withPlacementStatus(
  ctx: { readonly store: Reader; readonly drivers: { readonly hardware: { isReachable: IsReachable } } },
  images: readonly ImageEntity[],
): Promise<readonly ImageEntity[]> {
  const active = await activePolicies(ctx.store)
  const isReachable: IsReachable = (extId) => ctx.drivers.hardware.isReachable(extId)
  return images.map((image) => {
    const placement = placementOf(active, image.categoryExtIds)
    if (placement.policies.length === 0) return image
    const statuses = statusesOf(placement, image.clusterLocationExtIds ?? [], isReachable)
    const isBroken = ({ complianceStatus }: Status): boolean => complianceStatus !== 'COMPLIANT'
    const shown =
      statuses.length > maximumListed
        ? statuses.toSorted((a, b) => Number(isBroken(b)) - Number(isBroken(a)))
        : statuses
    return { ...image, placementPolicyStatus: shown.slice(0, maximumListed) }
  })
}
