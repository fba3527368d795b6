/** Source: behaviour networking.md 1.5. */
import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { closedBecause } from '../scheduling/host-state.ts'
import { hostsOfSubnet } from './subnet-tasks.ts'

export type VpcEntity = EntityOf<typeof Vpc>
export type Attachment = NonNullable<VpcEntity['externalSubnets']>[number]
type GatewayNode = NonNullable<Attachment['activeGatewayNodes']>[number]

interface Asking {
  readonly store: Reader
  readonly drivers: Pick<Drivers, 'hardware'>
}

/** Excludes storage-only nodes. */
export async function schedulableHosts(store: Reader, subnet: SubnetEntity): Promise<EntityOf<typeof Host>[]> {
  return (await store.getMany(Host, await hostsOfSubnet(store, subnet))).filter(
    ({ hostType }) => hostType !== 'STORAGE_ONLY',
  )
}

export async function portsByHost(store: Reader): Promise<Map<string, number>> {
  const carried = new Map<string, number>()
  for (const { externalSubnets = [] } of await store.find(Vpc)) {
    for (const { nodeId } of externalSubnets.flatMap(({ activeGatewayNodes = [] }) => activeGatewayNodes)) {
      if (nodeId !== undefined) carried.set(nodeId, (carried.get(nodeId) ?? 0) + 1)
    }
  }
  return carried
}

/** Counts newly chosen hosts in `carried`. @returns no host while none is able */
export async function gatewayNodesFor(
  ctx: Asking,
  subnet: SubnetEntity,
  { gatewayNodes, activeGatewayCount = 1, activeGatewayNodes = [] }: Attachment,
  carried: Map<string, number>,
): Promise<GatewayNode[]> {
  const able = (await schedulableHosts(ctx.store, subnet)).filter(
    (host) =>
      (gatewayNodes?.includes(host.extId) ?? true) &&
      closedBecause(host, ctx.drivers.hardware.isHostUp(host.extId)) === undefined,
  )
  const hosts = new Map(able.map((host) => [host.extId, host]))
  const present = activeGatewayNodes.flatMap(({ nodeId }) => nodeId ?? [])
  const chosen = chooseNodes([...hosts.keys()], present, activeGatewayCount, carried)
  for (const nodeId of chosen) if (!present.includes(nodeId)) carried.set(nodeId, (carried.get(nodeId) ?? 0) + 1)
  return chosen.map((nodeId) => {
    const nodeIpAddress = hosts.get(nodeId)?.hypervisor?.externalAddress
    return { nodeId, ...(nodeIpAddress === undefined ? {} : { nodeIpAddress }) }
  })
}

/** Keeps present nodes that are able; adds the able nodes with the fewest ports. */
export function chooseNodes(
  able: readonly string[],
  present: readonly string[],
  count: number,
  carried: ReadonlyMap<string, number>,
): readonly string[] {
  const staying = present.filter((nodeId) => able.includes(nodeId)).slice(0, count)
  const others = able.filter((nodeId) => !staying.includes(nodeId))
  others.sort((a, b) => (carried.get(a) ?? 0) - (carried.get(b) ?? 0))
  return [...staying, ...others.slice(0, count - staying.length)]
}
