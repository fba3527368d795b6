/** Reads the body of an expansion. Source: behaviour clustermgmt.md 1.3 (Expand). */
import type { ValueOf } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { ExpandClusterParams } from '@hyperplane/contract/clustermgmt/cluster-expansion'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { type ApiError, invalid, refuseAll } from '../../../core/api-error.ts'
import { notFound } from '../../../core/standard.ts'
import type { NodeAddresses, NodeView } from '../../../drivers/nodes.ts'
import type { Reader } from '../../../store/store.ts'
import type { HostType } from '../topology/host-row.ts'
import { type GivenNode, givenFaults, nameOfNode, nodeNamed } from '../topology/nodes.ts'
import type { GivenNetwork } from '../topology/uplinks.ts'

type ExpansionBody = ValueOf<typeof ExpandClusterParams>
type NodeParam = ExpansionBody['nodeParams']
type NodeItem = NonNullable<NodeParam['nodeList']>[number]
type Item = Partial<NodeItem> & { readonly path: string; readonly hostType: HostType }

export interface JoiningNode {
  readonly nodeUuid: string
  readonly path: string
  readonly given: GivenNode
  readonly hostName: string
  readonly addresses: NodeAddresses
  readonly hostType: HostType
  readonly networks: readonly GivenNetwork[]
}

export interface Expansion {
  readonly clusterExtId: string
  readonly nodes: readonly JoiningNode[]
  readonly blockList: NonNullable<NodeParam['blockList']>
  readonly bundleName?: string | undefined
  readonly hypervisorIsos: NonNullable<NodeParam['hypervisorIsos']>
  readonly options: NonNullable<ExpansionBody['configParams']>
  readonly skipsNetworking: boolean
  readonly skipsChecks: boolean
}

function hostTypeOf({ isComputeOnly, isNeverScheduleable }: NonNullable<ExpansionBody['configParams']>): HostType {
  if (isComputeOnly === true) return 'COMPUTE_ONLY'
  return isNeverScheduleable === true ? 'STORAGE_ONLY' : 'HYPER_CONVERGED'
}

function itemsOf({ nodeParams, configParams }: ExpansionBody): Item[] {
  const { nodeList = [], computeNodeList = [] } = nodeParams
  const hostType = hostTypeOf(configParams ?? {})
  return [
    ...nodeList.map((item, index) => ({ ...item, path: `nodeParams/nodeList[${index}]`, hostType })),
    ...computeNodeList.map((item, index) => ({
      ...item,
      path: `nodeParams/computeNodeList[${index}]`,
      hostType: 'COMPUTE_ONLY' as const,
    })),
  ]
}

export function expansionFaults(body: ExpansionBody): ApiError[] {
  const { nodeParams, configParams = {} } = body
  const { nodeList = [], computeNodeList = [] } = nodeParams
  const items = itemsOf(body)
  const names = items.map(({ hypervisorHostname }) => hypervisorHostname?.toLowerCase())
  return [
    ...(items.length === 0 ? [invalid('nodeParams/nodeList', 'expected one node or more, or computeNodeList')] : []),
    ...givenFaults(nodeList, 'nodeParams/nodeList'),
    ...givenFaults(computeNodeList, 'nodeParams/computeNodeList'),
    ...items.flatMap(({ path, nodeUuid, cvmIp, hypervisorIp, ipmiIp }, index) => [
      ...(nodeUuid === undefined && cvmIp === undefined ? [invalid(path, 'expected nodeUuid or cvmIp')] : []),
      ...Object.entries({ cvmIp, hypervisorIp, ipmiIp })
        .filter(([, address]) => address !== undefined && address.ipv4 === undefined && nodeUuid !== undefined)
        .map(([field]) => invalid(`${path}/${field}/ipv4`, 'is required')),
      ...(names[index] !== undefined && names.indexOf(names[index]) < index
        ? [invalid(`${path}/hypervisorHostname`, 'expected a name that no other node of the request has')]
        : []),
    ]),
    ...(nodeParams.blockList ?? []).flatMap((block, index) =>
      (['blockId', 'rackName'] as const)
        .filter((field) => block[field] === undefined)
        .map((field) => invalid(`nodeParams/blockList[${index}]/${field}`, 'is required')),
    ),
    ...optionFaults(body),
    ...hypervFaults(nodeParams, configParams),
  ]
}

function optionFaults({ nodeParams: { computeNodeList = [] }, configParams = {} }: ExpansionBody): ApiError[] {
  const { isComputeOnly, isNeverScheduleable, shouldSkipDiscovery } = configParams
  const computes = isComputeOnly === true || computeNodeList.length > 0
  return [
    ...(isNeverScheduleable === true && computes
      ? [invalid('configParams/isNeverScheduleable', 'expected nodes that store data: others join to run VMs only')]
      : []),
    ...(shouldSkipDiscovery === true
      ? [invalid('configParams/shouldSkipDiscovery', 'expected false: nodes that cannot be discovered cannot join')]
      : []),
  ]
}

const hypervFaults = (
  { hypervSku }: NodeParam,
  { hyperv, targetHypervisor }: NonNullable<ExpansionBody['configParams']>,
): ApiError[] => [
  ...(hypervSku === undefined
    ? []
    : [invalid('nodeParams/hypervSku', 'is for Hyper-V clusters, which are not supported')]),
  ...(hyperv === undefined ? [] : [invalid('configParams/hyperv', 'is for Hyper-V clusters, which are not supported')]),
  ...(targetHypervisor === 'XEN'
    ? [invalid('configParams/targetHypervisor', 'expected another hypervisor: not supported for XEN')]
    : []),
]

/** @throws ApiError 400, 404 for nodes that cannot be discovered, all together */
export async function expansionOf(
  { store }: { readonly store: Reader },
  cluster: Cluster,
  body: ExpansionBody,
  discovered: readonly NodeView[],
): Promise<Expansion> {
  const hosts = await store.findWhere(Host, { 'cluster/uuid': cluster.extId })
  const names = new Set(hosts.map(({ hostName }) => hostName.toLowerCase()))
  const { nodeParams, configParams = {}, shouldSkipPreExpandChecks = false } = body
  const nodes: JoiningNode[] = []
  const faults: ApiError[] = []
  for (const item of itemsOf(body)) {
    const node = nodeNamed(discovered, item)
    const found = node !== undefined && nodes.some(({ nodeUuid }) => nodeUuid === node.nodeUuid)
    if (node === undefined) faults.push(notFound('unconfigured node', nameOfNode(item), item.path))
    else if (found) faults.push(invalid(item.path, 'names a node twice'))
    else nodes.push(joining(node, item, item.hypervisorHostname ?? freeName(cluster.name, names)))
  }
  if (configParams.isNeverScheduleable === true && cluster.config?.hypervisorTypes?.includes('AHV') !== true)
    faults.push(
      invalid('configParams/isNeverScheduleable', 'is for AHV clusters: other hypervisors place VMs themselves'),
    )
  refuseAll(faults)
  return {
    clusterExtId: cluster.extId,
    nodes,
    blockList: nodeParams.blockList ?? [],
    bundleName: nodeParams.bundleInfo?.name,
    hypervisorIsos: nodeParams.hypervisorIsos ?? [],
    options: configParams,
    skipsNetworking: nodeParams.shouldSkipHostNetworking === true,
    skipsChecks: shouldSkipPreExpandChecks,
  }
}

function joining(node: NodeView, item: Item, hostName: string): JoiningNode {
  const { addresses } = node
  const { path, hostType, networks = [], hypervisorHostname: _, ...given } = item
  const bmc = item.ipmiIp?.ipv4?.value ?? addresses.bmc
  return {
    nodeUuid: node.nodeUuid,
    path,
    given,
    hostName,
    addresses: {
      hypervisor: item.hypervisorIp?.ipv4?.value ?? addresses.hypervisor,
      cvm: item.cvmIp?.ipv4?.value ?? addresses.cvm,
      ...(bmc !== undefined && { bmc }),
    },
    hostType,
    networks,
  }
}

/** `<cluster>-5`: the first free number from the number of hosts on; reserves the name. */
export function freeName(cluster: string, names: Set<string>): string {
  const prefix = cluster
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .slice(0, 50)
  let number = names.size + 1
  while (names.has(`${prefix}-${number}`)) number++
  names.add(`${prefix}-${number}`)
  return `${prefix}-${number}`
}
