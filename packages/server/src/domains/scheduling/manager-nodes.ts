/** System VMs that no list shows: nodes of managers, appliances of gateways. Source: behaviour platform.md 4, 5, 13; networking.md 1.9. */

import { ApiError } from '../../core/api-error.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { defaultContainer } from '../containers/default-container.ts'
import { HostAllocation } from './host-allocation.ts'
import { chooseHost, type Demand, type HostCandidate } from './placement.ts'
import { candidatesOf } from './scheduler.ts'

export interface NodeSize {
  readonly vcpus: number
  readonly memoryBytes: number
  readonly switchExtIds?: readonly string[]
}

interface Asking<S extends Reader = Reader> {
  readonly store: S
  readonly drivers: Pick<Drivers, 'hardware' | 'networkFabric'>
}

/** @param taken excluded hosts @returns a host, or the reasons against each one */
export async function hostForNode(
  ctx: Asking,
  clusterExtId: string,
  size: NodeSize,
  taken: readonly string[],
): Promise<{ readonly hostExtId: string } | { readonly reasons: readonly string[] }> {
  const hosts = (await candidatesOf(ctx, clusterExtId)).filter(({ extId }) => !taken.includes(extId))
  return chooseHost(hosts, await ctx.store.findWhere(HostAllocation, { clusterExtId }), demandOf(size))
}

export const containerForNodes = async (store: Reader, clusterExtId: string): Promise<string> =>
  (await defaultContainer(store, clusterExtId)).extId

export async function holdNode(
  store: Transaction,
  node: { readonly extId: string; readonly hostExtId: string; readonly clusterExtId: string },
  { vcpus, memoryBytes }: NodeSize,
): Promise<void> {
  const { extId, hostExtId, clusterExtId } = node
  await store.insert(HostAllocation, {
    extId: `${extId}/${hostExtId}`,
    vmExtId: extId,
    hostExtId,
    clusterExtId,
    memoryBytes,
    vcpus,
    isPinned: false,
  })
}

export async function releaseManagerNodes(store: Transaction, nodeExtIds: readonly string[]): Promise<void> {
  for (const held of await heldBy(store, nodeExtIds)) await store.remove(HostAllocation, held.extId)
}

/** @returns the reasons; undefined if the hosts have room */
export async function growthShortfall(
  ctx: Asking,
  nodeExtIds: readonly string[],
  growth: NodeSize,
): Promise<string | undefined> {
  const reasons: string[] = []
  for (const node of await heldBy(ctx.store, nodeExtIds)) {
    const others = (await ctx.store.findWhere(HostAllocation, { clusterExtId: node.clusterExtId })).filter(
      ({ extId }) => extId !== node.extId,
    )
    // A host in maintenance may let its own VMs grow.
    const hosts = (await candidatesOf(ctx, node.clusterExtId))
      .filter(({ extId }) => extId === node.hostExtId)
      .map(({ closed: _, ...open }): HostCandidate => open)
    const grown = { vcpus: node.vcpus + growth.vcpus, memoryBytes: node.memoryBytes + growth.memoryBytes }
    const choice = chooseHost(hosts, others, demandOf(grown))
    if ('reasons' in choice) reasons.push(...choice.reasons)
  }
  return reasons.length === 0 ? undefined : reasons.join('; ')
}

/** Negative numbers shrink. */
export async function growNodes(store: Transaction, nodeExtIds: readonly string[], growth: NodeSize): Promise<void> {
  for (const { extId, vcpus, memoryBytes } of await heldBy(store, nodeExtIds)) {
    await store.update(HostAllocation, extId, {
      vcpus: vcpus + growth.vcpus,
      memoryBytes: memoryBytes + growth.memoryBytes,
    })
  }
}

async function heldBy(store: Reader, nodeExtIds: readonly string[]) {
  const held = await Promise.all(nodeExtIds.map((vmExtId) => store.findWhere(HostAllocation, { vmExtId })))
  return held.flat()
}

const demandOf = ({ vcpus, memoryBytes, switchExtIds = [] }: NodeSize): Demand => ({
  vcpus,
  memoryBytes,
  isPinned: false,
  switchExtIds,
})

export const doesNotFit = (shortfall: string): ApiError => new ApiError('DOMAIN_MANAGER_DOES_NOT_FIT', { shortfall })
