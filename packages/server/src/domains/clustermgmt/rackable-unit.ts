/** Blocks of the hosts of a cluster. Source: behaviour clustermgmt.md 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { RackableUnit, rackableUnitOperations } from '@hyperplane/contract/clustermgmt/rackable-unit'
import { listOf, notFound } from '../../core/standard.ts'
import { implement, parentOf, type ReadContext } from '../context.ts'
import { hostsOf } from '../storage-space/capacity.ts'

type HostEntity = EntityOf<typeof Host>
type Unit = EntityOf<typeof RackableUnit>

export const rackableUnit = implement(rackableUnitOperations, {
  listRackableUnitsByClusterId: async (ctx, request) =>
    listOf(await unitsOf(ctx, parentOf(ctx, 'clusterExtId', Cluster)), request),
  async getRackableUnitById(ctx, { path: { extId } }) {
    const units = await unitsOf(ctx, parentOf(ctx, 'clusterExtId', Cluster))
    const unit = units.find((candidate) => candidate.extId === extId)
    if (unit === undefined) throw notFound(RackableUnit, RackableUnit.kind, extId, 'extId')
    return unit
  },
})

async function unitsOf(
  { store }: ReadContext,
  { extId, tenantId }: EntityOf<typeof Cluster>,
): Promise<readonly Unit[]> {
  const units = new Map<string, { readonly first: HostEntity; readonly nodes: { uuid: string; svmId: number }[] }>()
  for (const host of await hostsOf(store, extId)) {
    if (host.rackableUnitUuid === undefined) continue
    const unit = units.get(host.rackableUnitUuid) ?? { first: host, nodes: [] }
    unit.nodes.push({ uuid: host.extId, svmId: (await store.row(Host, host.extId))?.sequence ?? 0 })
    units.set(host.rackableUnitUuid, unit)
  }
  return [...units].map(([unitExtId, { first, nodes }]): Unit => {
    // Slots of a block are filled in the order of creation.
    nodes.sort((a, b) => a.svmId - b.svmId)
    return {
      extId: unitExtId,
      clusterExtId: extId,
      ...(tenantId && { tenantId }),
      id: nodes[0]?.svmId ?? 0,
      // No member of the list names a block of today; the layout of the block tells.
      model: 'USELAYOUT',
      ...(first.blockModel && { modelName: first.blockModel }),
      ...(first.blockSerial && { serial: first.blockSerial }),
      nodes: nodes.map((node, index) => ({ ...node, position: index + 1 })),
    } as Unit
  })
}
