/** Subnets that a layer-2 stretch joins with those of other sites. Source: behaviour networking.md 1.2, 1.12. */
import { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import { families, planOf, type SubnetEntity } from '../addressing/address-plan.ts'
import type { ReadContext, WriteContext } from '../context.ts'
import { inUse, shownUsers } from './in-use.ts'
import { refuseUnlike } from './layer2-stretch/rules.ts'
import { seen } from './seen.ts'

/** By subnet id; without stretches that the caller may not see. */
export async function stretchReferences(
  ctx: ReadContext,
): Promise<ReadonlyMap<string, SubnetEntity['layer2StretchReference']>> {
  const stretches = await seen(ctx, Layer2Stretch)
  return new Map(stretches.map((stretch) => [stretch.localSiteParams.stretchSubnetReference, stretch]))
}

/** @throws ApiError 409 for another prefix or gateway, and for pools that overlap those of the other site */
export async function refuseUnfitForStretch(
  ctx: WriteContext,
  stored: SubnetEntity,
  next: SubnetEntity,
): Promise<void> {
  const stretch = await ctx.store.findOne(Layer2Stretch, { subnetExtId: stored.extId })
  if (stretch === undefined) return
  const [before, after] = [planOf(stored.ipConfig), planOf(next.ipConfig)]
  const isSame = families.every(
    (family) =>
      before[family]?.prefix.first === after[family]?.prefix.first &&
      before[family]?.prefix.last === after[family]?.prefix.last &&
      before[family]?.gateway === after[family]?.gateway,
  )
  const user = { kind: Layer2Stretch, entity: stretch }
  if (!isSame) throw inUse('prefix or gateway of the subnet', stored.name, await shownUsers(ctx, [user]))
  refuseUnlike(after, planOf(stretch.remoteIpConfig), 'ipConfig')
}
