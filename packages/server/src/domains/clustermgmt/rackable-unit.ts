/** Blocks of the hosts of a cluster. Source: behaviour clustermgmt.md 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { RackableUnit, rackableUnitOperations } from '@hyperplane/contract/clustermgmt/rackable-unit'
import { derivedId } from '../../core/ids/named-id.ts'
import { itemWithId, listOf } from '../../core/standard.ts'
import { implement, parentOf, type ReadContext } from '../context.ts'
import { hostsOf } from '../storage-space/capacity.ts'

type Unit = EntityOf<typeof RackableUnit>

export const rackableUnit = implement(rackableUnitOperations, {
  listRackableUnitsByClusterId: async (ctx, request) =>
    listOf(await unitsOf(ctx, parentOf(ctx, 'clusterExtId', Cluster)), request),
  getRackableUnitById: async (ctx, { path }) =>
    itemWithId(await unitsOf(ctx, parentOf(ctx, 'clusterExtId', Cluster)), RackableUnit, path.extId),
})

interface UnitNode {
  readonly uuid: string
  readonly position: number
  readonly svmId: number
}

/** 1 for A. Hosts of older worlds fill their block in the order of creation. */
const positionOf = ({ position }: Host, others: number): number =>
  position === undefined ? others + 1 : position.charCodeAt(0) - 'A'.charCodeAt(0) + 1

async function unitsOf({ store }: ReadContext, { extId, tenantId }: Cluster): Promise<readonly Unit[]> {
  const units = new Map<string, { readonly first: Host; readonly nodes: UnitNode[] }>()
  const racks = new Map<string, number>()
  for (const host of await hostsOf(store, extId)) {
    if (host.rackableUnitUuid === undefined) continue
    const unit = units.get(host.rackableUnitUuid) ?? { first: host, nodes: [] }
    const svmId = (await store.row(Host, host.extId))?.sequence ?? 0
    unit.nodes.push({ uuid: host.extId, position: positionOf(host, unit.nodes.length), svmId })
    if (host.rackName !== undefined) racks.set(host.rackName, Math.min(svmId, racks.get(host.rackName) ?? svmId))
    units.set(host.rackableUnitUuid, unit)
  }
  return [...units].map(([unitExtId, { first, nodes }]): Unit => {
    nodes.sort((a, b) => a.position - b.position)
    const { rackName } = first
    return {
      extId: unitExtId,
      clusterExtId: extId,
      ...(tenantId && { tenantId }),
      id: Math.min(...nodes.map(({ svmId }) => svmId)),
      // The list names no model of the simulated blocks, so the layout of the block decides.
      model: 'USELAYOUT',
      ...(first.blockModel && { modelName: first.blockModel }),
      ...(first.blockSerial && { serial: first.blockSerial }),
      ...(rackName && { rack: { id: racks.get(rackName), uuid: derivedId('rack', extId, rackName) } }),
      nodes,
    } as Unit
  })
}
