/** Machines of the simulated world, in clusters and outside. Source: behaviour clustermgmt.md 1.3, 3 (State). */
import { hash } from 'node:crypto'
import { drawnFrom } from '../../core/ids/draws.ts'
import { parseHost, toSortable } from '../../core/ip-address.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { HostDevice } from '../hardware.ts'
import type { NodeAddresses, NodeBundle, Nodes, NodeView } from '../nodes.ts'
import { bridgeFacts } from './bridges.ts'
import { controllerVmFacts } from './controller-vms.ts'
import { type BmcFact, deviceFacts, maintenanceFacts } from './hardware.ts'
import { isDown } from './hardware-faults.ts'
import { accountFacts } from './system-accounts.ts'
import type { SimulatedWorld } from './world.ts'

export interface NodeFact extends NodeView {
  /** While the node is in no cluster; those of hosts are in `hardware.devices`. */
  readonly devices?: readonly HostDevice[]
  /** Absent: since the world began. */
  readonly memberSince?: number
  /** The calls of `holder` can still be undone; absent: nothing can. */
  readonly pending?: { readonly holder: string; readonly before: NodeView }
}

export const nodeFacts = (world: SimulatedWorld) => world.collection<NodeFact>('hardware.nodes')

/** When the host began to count in statistics of its cluster; never before `admitNodes`. */
export function memberSince(world: SimulatedWorld, hostExtId: string): number {
  const node = nodeFacts(world).get(hostExtId)
  return node?.pending === undefined ? (node?.memberSince ?? 0) : Number.POSITIVE_INFINITY
}

/** Seconds until a node answers a discovery. */
const answerSeconds = [1, 8] as const

export function createNodes(world: SimulatedWorld): Nodes {
  const nodes = nodeFacts(world)
  /** @throws DriverError when the node does not answer, or is in a cluster although it should not be */
  const answering = (nodeUuid: string, call: keyof Nodes): NodeFact => {
    const node = nodes.get(nodeUuid)
    if (node === undefined) throw DriverError.final(`${call}: there is no node ${nodeUuid}`)
    if (isDown(world, nodeUuid)) throw DriverError.retryable(`${call}: the node ${nodeUuid} did not answer within 10 s`)
    return node
  }
  const change = async (node: NodeFact, changes: Partial<NodeView>, holder: string): Promise<void> => {
    if (node.pending !== undefined && node.pending.holder !== holder)
      throw DriverError.final(`the node ${node.nodeUuid} is being changed by ${node.pending.holder}`)
    if (node.pending === undefined && node.clusterExtId !== undefined)
      throw DriverError.final(`the node ${node.nodeUuid} is in the cluster ${node.clusterExtId}`)
    await nodes.put(node.nodeUuid, {
      ...node,
      ...changes,
      pending: node.pending ?? { holder, before: viewOf(node) },
    })
  }
  const moveBmc = async (nodeUuid: string, { bmc: address }: NodeAddresses): Promise<void> => {
    const bmcs = world.collection<BmcFact>('hardware.bmcs')
    const bmc = bmcs.get(nodeUuid)
    if (bmc !== undefined && address !== undefined) await bmcs.put(nodeUuid, { ...bmc, address })
  }
  const clearNetworking = async (nodeUuid: string): Promise<void> => {
    for (const [key, { hostExtId }] of [...bridgeFacts(world).all()])
      if (hostExtId === nodeUuid) await bridgeFacts(world).remove(key)
  }
  return {
    ...createDiscovery(world),
    imageNode: async (nodeUuid, { hypervisor, softwareVersion }, holder) =>
      change(answering(nodeUuid, 'imageNode'), { hypervisor, softwareVersion }, holder),
    async joinNode(nodeUuid, { clusterExtId, addresses }, holder) {
      await change(answering(nodeUuid, 'joinNode'), { clusterExtId, addresses }, holder)
      await moveBmc(nodeUuid, addresses)
    },
    async admitNodes(nodeUuids, holder) {
      for (const nodeUuid of nodeUuids) {
        const { pending, devices = [], ...node } = nodes.get(nodeUuid) ?? {}
        if (pending?.holder !== holder) continue
        const { clusterExtId = '' } = node as NodeFact
        await deviceFacts(world).putAll(new Map(devices.map((device) => [device.extId, { ...device, clusterExtId }])))
        await nodes.put(nodeUuid, { ...(node as NodeFact), memberSince: world.clock.now() })
      }
    },
    async takeBackNode(nodeUuid, holder) {
      const fact = nodes.get(nodeUuid)
      // A node that was not imaged and could not join has the bridges of its cluster all the same.
      if (fact !== undefined && fact.pending === undefined && fact.clusterExtId === undefined)
        await clearNetworking(nodeUuid)
      const { pending, ...node } = fact ?? {}
      if (pending?.holder !== holder) return
      await moveBmc(nodeUuid, pending.before.addresses)
      await clearNetworking(nodeUuid)
      const { clusterExtId: _, ...rest } = node as NodeFact
      await nodes.put(nodeUuid, { ...rest, ...pending.before })
    },
    async detachNode(nodeUuid) {
      const fact = nodes.get(nodeUuid)
      if (fact?.clusterExtId === undefined) return
      const { clusterExtId, pending: _, memberSince: __, ...node } = fact
      const owned = [...deviceFacts(world).all().values()].filter(({ hostExtId }) => hostExtId === nodeUuid)
      // After a crash here devices are in both collections; the repeated call finds the rest.
      const devices = new Map([...(node.devices ?? []), ...owned].map((device) => [device.extId, device]))
      if (owned.length > 0) await nodes.put(nodeUuid, { ...node, clusterExtId, devices: [...devices.values()] })
      for (const { extId } of owned) await deviceFacts(world).remove(extId)
      await clearNetworking(nodeUuid)
      await maintenanceFacts(world).remove(nodeUuid)
      await controllerVmFacts(world).remove(nodeUuid)
      for (const [extId, { hostExtId }] of [...accountFacts(world).all()])
        if (hostExtId === nodeUuid) await accountFacts(world).remove(extId)
      await nodes.put(nodeUuid, { ...node, ...(devices.size > 0 && { devices: [...devices.values()] }) })
    },
  }
}

function createDiscovery(
  world: SimulatedWorld,
): Pick<Nodes, 'imageOf' | 'memberSince' | 'nodeOf' | 'unconfiguredNodes'> {
  const answeringNodes = (): readonly NodeFact[] =>
    [...nodeFacts(world).all().values()].filter(({ nodeUuid }) => !isDown(world, nodeUuid))
  return {
    memberSince: (hostExtId) => memberSince(world, hostExtId),
    unconfiguredNodes: (seconds) =>
      answeringNodes()
        .filter(({ clusterExtId }) => clusterExtId === undefined)
        .filter(({ nodeUuid }) => answersAfter(world, nodeUuid) <= seconds)
        .map(viewOf)
        .sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)),
    nodeOf(nodeUuid) {
      const node = nodeFacts(world).get(nodeUuid)
      return node === undefined || isDown(world, nodeUuid) ? undefined : viewOf(node)
    },
    imageOf: (clusterExtId) => bundleOf(answeringNodes().find((node) => node.clusterExtId === clusterExtId)),
  }
}

function bundleOf(node: NodeView | undefined): NodeBundle | undefined {
  if (node === undefined) return undefined
  const { hypervisor, softwareVersion } = node
  const name = `hypervisor-${hypervisor.type}-${hypervisor.version.replaceAll(' ', '-')}`
  return { name, md5Sum: hash('md5', name), isUploaded: hypervisor.type !== 'AHV', hypervisor, softwareVersion }
}

function placeOf({ addresses: { cvm } }: NodeView): string {
  const address = parseHost(cvm)
  return address === undefined ? cvm : toSortable(address)
}

const viewOf = ({ devices: _, pending: __, memberSince: ___, ...view }: NodeFact): NodeView => view

const answersAfter = (world: SimulatedWorld, nodeUuid: string): number =>
  drawnFrom(`${world.seed} discovery ${nodeUuid}`, answerSeconds)
