/** Reads the body of createCluster. Source: behaviour clustermgmt.md 1.2 (createCluster). */
import type { BodyOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { type ApiError, invalid, refuseAll } from '../../../core/api-error.ts'
import { notFound } from '../../../core/standard.ts'
import { created } from '../../../core/updates.ts'
import type { NodeView } from '../../../drivers/nodes.ts'
import type { WriteContext } from '../../context.ts'
import { defaultAwareness } from '../../storage-space/fault-tolerance.ts'
import { freeName, type JoiningNode } from '../cluster-expansion/expansion.ts'
import { configFaults, copiesFor, defaultCopies } from '../cluster-rules.ts'
import { isContiguous, keepSecrets, withSettingDefaults } from '../settings-rules.ts'
import { softwareOf } from '../topology/cluster-row.ts'
import { hostRowOf, ipv4 } from '../topology/host-row.ts'
import { hasAddress, isModelSupported, nameOfNode, nodeNamed } from '../topology/nodes.ts'

type Body = BodyOf<typeof Cluster>
type NodeItem = NonNullable<NonNullable<Body['nodes']>['nodeList']>[number]
type Config = NonNullable<Body['config']>
type Function = NonNullable<Config['clusterFunction']>[number]

const maximumNodes = 32
const functions: readonly Function[] = ['AOS', 'ONE_NODE', 'TWO_NODE']

export function newClusterFaults({ config = {}, network = {}, nodes = {} }: Body): ApiError[] {
  const { nodeList = [] } = nodes
  const isCount = nodeList.length > 0 && nodeList.length <= maximumNodes
  return [
    ...(isCount ? [] : [invalid('nodes/nodeList', `expected 1 to ${maximumNodes} nodes, found ${nodeList.length}`)]),
    ...nodeList.flatMap(({ controllerVmIp, hostIp }, index) => [
      ...(hasAddress(controllerVmIp) ? [] : [invalid(`nodes/nodeList[${index}]/controllerVmIp`, 'is required')]),
      ...(hostIp === undefined || hostIp.ipv4 !== undefined
        ? []
        : [invalid(`nodes/nodeList[${index}]/hostIp/ipv4`, 'is required')]),
    ]),
    ...functionFaults(config.clusterFunction ?? [], nodeList.length),
    ...fieldsForUpdates(config).map((field) => invalid(`config/${field}`, 'is for updates of a cluster only')),
    ...(config.clusterType === 'COMPUTE' || config.clusterArch === 'PPC64LE'
      ? [invalid('config', 'expected a cluster of type HYPER_CONVERGED for X86_64: the nodes can form no other')]
      : []),
    ...backplaneFaults(network.backplane),
  ]
}

const fieldsForUpdates = ({ operationMode = 'NORMAL', authorizedPublicKeyList, pulseStatus }: Config): string[] => [
  ...(operationMode === 'NORMAL' ? [] : ['operationMode']),
  ...(authorizedPublicKeyList === undefined ? [] : ['authorizedPublicKeyList']),
  ...(pulseStatus?.isEnabled === true ? ['pulseStatus'] : []),
]

function functionFaults(given: readonly Function[], nodes: number): ApiError[] {
  const path = 'config/clusterFunction'
  if (given.length === 0) return [invalid(path, 'is required')]
  const others = given.filter((one) => !functions.includes(one))
  if (others.length > 0) return [invalid(path, `expected ${functions.join(', ')}; found ${others.join(', ')}`)]
  if (given.includes('TWO_NODE') && given.length > 1) return [invalid(path, 'expected TWO_NODE alone')]
  if (given.includes('ONE_NODE') && nodes !== 1) return [invalid(path, `ONE_NODE needs 1 node, found ${nodes}`)]
  if (given.includes('TWO_NODE') && nodes !== 2) return [invalid(path, `TWO_NODE needs 2 nodes, found ${nodes}`)]
  return []
}

function backplaneFaults(given: NonNullable<Body['network']>['backplane']): ApiError[] {
  if (given?.isSegmentationEnabled !== true) return []
  const path = 'network/backplane'
  const missing = (['subnet', 'netmask', 'vlanTag'] as const).filter((field) => given[field] === undefined)
  if (missing.length > 0) return missing.map((field) => invalid(`${path}/${field}`, 'is required for segmentation'))
  return isContiguous(given.netmask?.value ?? '')
    ? []
    : [invalid(`${path}/netmask`, `expected ones before zeros, found ${given.netmask?.value}`)]
}

/** @throws ApiError 400, 404 for nodes that cannot be discovered, all together */
export function namedNodes({ nodes }: Body, discovered: readonly NodeView[]): NodeView[] {
  const found: NodeView[] = []
  const faults: ApiError[] = []
  for (const [index, item] of (nodes?.nodeList ?? []).entries()) {
    const path = `nodes/nodeList[${index}]`
    const given = { cvmIp: item.controllerVmIp }
    const node = nodeNamed(discovered, given)
    if (node === undefined) faults.push(notFound('unconfigured node', nameOfNode(given), path))
    else if (found.includes(node)) faults.push(invalid(path, 'names a node twice'))
    else {
      found.push(node)
      faults.push(...unlike(node, found[0] as NodeView, item, path))
    }
  }
  refuseAll(faults)
  return found
}

function unlike(node: NodeView, first: NodeView, { hostIp }: NodeItem, path: string): ApiError[] {
  const hostAddress = hostIp?.ipv4?.value
  const softwareOfNode = ({ hypervisor, softwareVersion }: NodeView): string =>
    `${hypervisor.type} ${hypervisor.version} with software ${softwareVersion}`
  return [
    ...(hostAddress === undefined || hostAddress === node.addresses.hypervisor
      ? []
      : [invalid(`${path}/hostIp`, `expected ${node.addresses.hypervisor}, found ${hostAddress}`)]),
    ...(isModelSupported(node) ? [] : [invalid(path, `the model ${node.block.model} cannot be in a cluster`)]),
    ...(softwareOfNode(node) === softwareOfNode(first)
      ? []
      : [invalid(path, `expected ${softwareOfNode(first)}, as the first node has it; found ${softwareOfNode(node)}`)]),
  ]
}

export function joiningNodes(name: string, nodes: readonly NodeView[]): JoiningNode[] {
  const names = new Set<string>()
  return nodes.map(({ nodeUuid, addresses }, index) => ({
    nodeUuid,
    path: `nodes/nodeList[${index}]`,
    given: {},
    hostName: freeName(name, names),
    addresses,
    hostType: 'HYPER_CONVERGED',
    networks: [],
  }))
}

/** Secrets are not sealed yet. @throws ApiError 400 for settings that the nodes do not allow */
export function newCluster(ctx: WriteContext, body: Body, nodes: readonly NodeView[]): Cluster {
  const extId = ctx.ids.uuid()
  const { faultToleranceState = {}, ...config } = body.config ?? {}
  const tolerance = faultToleranceState.desiredClusterFaultTolerance
  const copies = config.redundancyFactor ?? (tolerance === undefined ? defaultCopies(nodes) : copiesFor(tolerance))
  const [first] = nodes as [NodeView]
  const row = created(ctx, Cluster, { ...body, config: { ...config, faultToleranceState } }, {
    extId,
    containerName: undefined,
    nodes: undefined,
  } as { extId: string })
  const { network } = row
  const cluster = {
    ...row,
    config: {
      ...softwareOf(extId, first.softwareVersion),
      ...row.config,
      hypervisorTypes: [first.hypervisor.type],
      redundancyFactor: copies,
      faultToleranceState: { domainAwarenessLevel: defaultAwareness(nodes), ...row.config?.faultToleranceState },
    },
    network: {
      externalSubnet: `${first.addresses.cvm.replace(/\d+$/, '0')}/255.255.255.0`,
      internalSubnet: '192.168.5.0/255.255.255.128',
      keyManagementServerType: 'LOCAL',
      ...(network && withSettingDefaults(keepSecrets(network, undefined))),
    },
    upgradeStatus: 'SUCCEEDED',
  } as Cluster
  const of = { tenantId: ctx.tenantId, cluster, bootedAt: ctx.clock.now() }
  const hosts = nodes.map((node) => hostRowOf(node, { ...of, hostName: node.serialNumber }))
  refuseAll([
    ...configFaults({ redundancyFactor: copies }, cluster.config ?? {}, hosts, ctx.drivers.hardware),
    ...overlapFaults(cluster),
  ])
  return cluster
}

function overlapFaults({ network = {} }: Cluster): ApiError[] {
  const { isSegmentationEnabled, subnet, netmask } = network.backplane ?? {}
  if (isSegmentationEnabled !== true || subnet === undefined || netmask === undefined) return []
  const [external = '', externalMask = ''] = (network.externalSubnet ?? '').split('/')
  const mask = numberOf(netmask.value) & numberOf(externalMask)
  if ((numberOf(subnet.value) & mask) !== (numberOf(external) & mask)) return []
  return [invalid('network/backplane/subnet', `expected one that does not overlap ${network.externalSubnet}`)]
}

const numberOf = (address: string): number => address.split('.').reduce((sum, part) => (sum << 8) | Number(part), 0)

/** At which the manager reaches the cluster: its own address, else that of its first controller VM. */
export const managementAddress = ({ network }: Cluster, [first]: readonly JoiningNode[]) =>
  network?.externalAddress?.ipv4 === undefined ? ipv4(first?.addresses.cvm ?? '') : network.externalAddress
