/** Uplinks of virtual switches on hosts, as the fabric sees them. Source: behaviour networking.md 1.18. */
import type { EntityOf } from '@hyperplane/contract'
import { UplinkBond, uplinkBondOperations } from '@hyperplane/contract/networking/uplink-bond'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { itemWithId, listOf } from '../../core/standard.ts'
import { implement, type ReadContext } from '../context.ts'

type Bond = EntityOf<typeof UplinkBond>

export const uplinkBond = implement(uplinkBondOperations, {
  listUplinkBonds: async (ctx, request) => listOf(await visibleBonds(ctx), request),
  getUplinkBondById: async (ctx, { path }) => itemWithId(await visibleBonds(ctx), UplinkBond, path.extId),
})

/** A policy for some virtual switches limits them; an identity that may see bonds only gets all, without the names of switches. */
async function visibleBonds(ctx: ReadContext): Promise<readonly Bond[]> {
  const scope = await ctx.scopeOf(VirtualSwitch.kind)
  const switches = await ctx.store.find(VirtualSwitch, scope === undefined || scope === 'none' ? {} : { scope })
  return switches.flatMap(({ extId, name, tenantId, clusters }) =>
    clusters.flatMap((cluster) =>
      cluster.hosts.flatMap((host) => bondsOf(ctx, { extId, name, tenantId, clusterExtId: cluster.extId }, host.extId)),
    ),
  )
}

function bondsOf(
  { drivers: { networkFabric } }: ReadContext,
  of: {
    readonly extId: string
    readonly name: string
    readonly tenantId: string | undefined
    readonly clusterExtId: string
  },
  hostExtId: string,
): readonly Bond[] {
  const nics = networkFabric.hostNics(hostExtId)
  return networkFabric.bonds(hostExtId).flatMap((bond): readonly Bond[] =>
    bond.virtualSwitchExtId !== of.extId
      ? []
      : [
          {
            extId: bond.extId,
            ...(of.tenantId === undefined ? {} : { tenantId: of.tenantId }),
            name: bond.name,
            type: bond.mode,
            clusterReference: of.clusterExtId,
            hostReference: hostExtId,
            hostNicReferences: nics.flatMap((nic) => (bond.uplinks.includes(nic.name) ? nic.extId : [])),
            virtualSwitchInfo: { name: of.name, reference: of.extId },
            lacpStatus: bond.lacp,
          },
        ],
  )
}
