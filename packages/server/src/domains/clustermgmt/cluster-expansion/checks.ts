/** Obstacles to joining, all at once. Source: behaviour clustermgmt.md 1.3 (Expand, pre-checks). */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { rowWithId } from '../../../core/standard.ts'
import type { NodeBundle, NodeView } from '../../../drivers/nodes.ts'
import type { StepContext } from '../../context.ts'
import { hostsOf } from '../../storage-space/capacity.ts'
import { usersOfAddresses } from '../cluster-addresses.ts'
import { bundleFor } from '../topology/hypervisors.ts'
import { racksOf } from '../topology/membership.ts'
import { disagreements, isModelSupported, needsImaging, refuseWith } from '../topology/nodes.ts'
import { type NodeUplinks, planUplinks, switchesOf } from '../topology/uplinks.ts'
import type { Expansion, JoiningNode } from './expansion.ts'

export interface NodePlan {
  readonly isImaged: boolean
  readonly uplinks: readonly NodeUplinks[]
}

export type ExpansionPlan = Readonly<Record<string, NodePlan>>

export async function planExpansion(ctx: StepContext, expansion: Expansion): Promise<ExpansionPlan> {
  const { clusterExtId, nodes, skipsChecks, skipsNetworking } = expansion
  const cluster = await rowWithId(ctx.store, Cluster, clusterExtId, 'clusterExtId')
  const bundle = bundleFor(ctx.drivers, clusterExtId)
  const switches = await switchesOf(ctx, clusterExtId)
  const switchesToJoin = skipsNetworking ? switches.filter(({ row }) => row.isDefault === true) : switches
  const faults: string[] = []
  const plans: Record<string, NodePlan> = {}
  const found = new Map(nodes.map(({ nodeUuid }) => [nodeUuid, ctx.drivers.hardware.nodeOf(nodeUuid)]))
  for (const joining of nodes) {
    const node = found.get(joining.nodeUuid)
    if (node === undefined || node.clusterExtId !== undefined) {
      faults.push(`${joining.path}: the node ${joining.nodeUuid} does not answer, or is in a cluster by now`)
      continue
    }
    const networks = skipsNetworking ? [] : joining.networks
    const { uplinks, faults: own } = planUplinks(
      ctx,
      switchesToJoin,
      node.nodeUuid,
      networks,
      `${joining.path}/networks`,
    )
    plans[node.nodeUuid] = { isImaged: needsImaging(node, bundle), uplinks }
    faults.push(...own, ...nodeFaults(expansion, joining, node, bundle))
  }
  const present = [...found.values()].filter((node) => node !== undefined)
  faults.push(
    ...(await addressFaults(ctx, expansion)),
    ...(await nameFaults(ctx, expansion)),
    ...(await rackFaults(ctx, cluster, present, expansion)),
  )
  const areAllFound = Object.keys(plans).length === nodes.length
  if (!skipsChecks || !areAllFound) refuseWith(faults)
  return plans
}

function nodeFaults(
  { hypervisorIsos, options, bundleName }: Expansion,
  { path, given }: JoiningNode,
  node: NodeView,
  bundle: NodeBundle,
): string[] {
  const { type } = bundle.hypervisor
  const { cvmIp: _, ...described } = given
  const faults = disagreements(node, described, path)
  if (!isModelSupported(node)) faults.push(`${path}: the model ${node.block.model} cannot be in a cluster`)
  const target = options.targetHypervisor
  if (target !== undefined && target !== type)
    faults.push(`configParams/targetHypervisor: expected ${type}, as the hosts have it; found ${target}`)
  if (bundleName !== undefined && bundleName !== bundle.name)
    faults.push(`nodeParams/bundleInfo/name: expected ${bundle.name}; found ${bundleName}`)
  const isoOf = hypervisorIsos.find((iso) => iso.type === type)
  if (isoOf?.md5Sum !== undefined && isoOf.md5Sum.toLowerCase() !== bundle.md5Sum)
    faults.push(`nodeParams/hypervisorIsos: expected the checksum ${bundle.md5Sum} for ${type}; found ${isoOf.md5Sum}`)
  if (!needsImaging(node, bundle)) return faults
  const { hypervisor, softwareVersion } = node
  const found = `${hypervisor.type} ${hypervisor.version} with software ${softwareVersion}`
  const expected = `${type} ${bundle.hypervisor.version} with software ${bundle.softwareVersion}`
  if (options.shouldSkipImaging === true)
    faults.push(`${path}: the node has ${found}, the cluster ${expected}; it has to be imaged`)
  else if (bundle.isUploaded && isoOf === undefined)
    faults.push(`nodeParams/hypervisorIsos: expected an image of ${type}: the node ${node.serialNumber} has ${found}`)
  if (options.isNosCompatible === true && softwareVersion !== bundle.softwareVersion)
    faults.push(`configParams/isNosCompatible: the node has software ${softwareVersion}, not ${bundle.softwareVersion}`)
  return faults
}

async function addressFaults({ store, drivers }: StepContext, { nodes }: Expansion): Promise<string[]> {
  const users = new Map(await usersOfAddresses(store, {}))
  const joining = new Set(nodes.map(({ nodeUuid }) => nodeUuid))
  for (const { nodeUuid, addresses, serialNumber } of drivers.hardware.unconfiguredNodes(Number.POSITIVE_INFINITY))
    if (!joining.has(nodeUuid))
      for (const address of Object.values(addresses)) users.set(address, `the unconfigured node ${serialNumber}`)
  const faults: string[] = []
  for (const { nodeUuid, path, addresses } of nodes) {
    for (const [what, address] of Object.entries(addresses)) {
      const user = users.get(address)
      if (user !== undefined) faults.push(`${path}: the ${what} address ${address} is in use by ${user}`)
      users.set(address, `the node ${nodeUuid}`)
    }
  }
  return faults
}

async function nameFaults({ store }: StepContext, { clusterExtId, nodes }: Expansion): Promise<string[]> {
  const hosts = await store.findWhere(Host, { 'cluster/uuid': clusterExtId })
  const taken = new Set(hosts.map(({ hostName }) => hostName.toLowerCase()))
  return nodes
    .filter(({ hostName }) => taken.has(hostName.toLowerCase()))
    .map(({ path, hostName }) => `${path}/hypervisorHostname: the cluster has a host "${hostName}" already`)
}

/** A cluster that survives the loss of a rack must know the rack of each block. */
async function rackFaults(
  { store }: StepContext,
  { config }: Cluster,
  nodes: readonly NodeView[],
  { clusterExtId, blockList, options }: Expansion,
): Promise<string[]> {
  const isRackAware = config?.faultToleranceState?.domainAwarenessLevel === 'RACK'
  const isNeeded = isRackAware || options.shouldValidateRackAwareness === true
  const racks = racksOf(await hostsOf(store, clusterExtId), blockList)
  const blocks = new Map(nodes.map(({ block }) => [block.serialNumber, block.rackName]))
  const others = blockList.flatMap(({ blockId }, index) =>
    blockId === undefined || blocks.has(blockId)
      ? []
      : [`nodeParams/blockList[${index}]/blockId: expected ${[...blocks.keys()].join(' or ')}; found ${blockId}`],
  )
  const unlike = [...blocks].flatMap(([serialNumber, rackName]) => {
    const named = racks.get(serialNumber) ?? rackName
    if (named === undefined && isNeeded) return `nodeParams/blockList: expected the rackName of block ${serialNumber}`
    if (rackName === undefined || named === rackName) return []
    return `nodeParams/blockList: block ${serialNumber} is in rack ${rackName}, not in ${named}`
  })
  return [...others, ...unlike]
}
