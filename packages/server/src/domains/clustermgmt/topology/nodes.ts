/** Nodes as requests name and describe them. Source: behaviour clustermgmt.md 1.3. */

import type { ValueOf } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { IPAddress } from '@hyperplane/contract/shapes'
import { ApiError, invalid } from '../../../core/api-error.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { NodeBundle, NodeView } from '../../../drivers/nodes.ts'
import { isManager } from '../../containers/storage-containers.ts'
import { DriverError } from '../../context.ts'
import { requireReachable } from '../../registrations/reachability.ts'

type Address = ValueOf<typeof IPAddress>

/** Fields by which a request describes a node; each has to agree with the node. */
export interface GivenNode {
  readonly nodeUuid?: string | undefined
  readonly cvmIp?: Address | undefined
  readonly blockId?: string | undefined
  readonly model?: string | undefined
  readonly nodePosition?: string | undefined
  readonly currentNetworkInterface?: string | undefined
  readonly hypervisorType?: string | undefined
  readonly hypervisorVersion?: string | undefined
  readonly nosVersion?: string | undefined
  readonly luksStatus?: string | undefined
  readonly isComputeOnly?: boolean | undefined
  readonly isLightCompute?: boolean | undefined
  readonly isMinimumComputeNode?: boolean | undefined
  readonly isRoboMixedHypervisor?: boolean | undefined
  readonly digitalCertificateMapList?: readonly object[] | undefined
}

export const isModelSupported = ({ block: { model } }: NodeView): boolean => model.startsWith('NX-')

/** @throws ApiError 400 on the manager and for XEN, 503 while the cluster does not answer */
export function requireNodeCluster(ctx: { readonly drivers: Drivers }, cluster: Cluster, action: string): void {
  if (isManager(cluster)) throw new ApiError('NOT_SUPPORTED_ON_MANAGER', { name: cluster.name, action })
  if (cluster.config?.hypervisorTypes?.includes('XEN') === true)
    throw invalid('clusterExtId', `names a cluster whose hypervisor is XEN: ${action} is not supported for XEN`)
  requireReachable(ctx, cluster)
}

/** @throws DriverError, retryable, when the node does not answer */
export function requireNode({ hardware }: Drivers, nodeUuid: string): NodeView {
  const node = hardware.nodeOf(nodeUuid)
  if (node === undefined) throw DriverError.retryable(`the node ${nodeUuid} does not answer`)
  return node
}

export function givenFaults(nodes: readonly GivenNode[], path: string): ApiError[] {
  return nodes.flatMap(({ hypervisorType, digitalCertificateMapList = [] }, index) => [
    ...(hypervisorType === 'XEN'
      ? [invalid(`${path}[${index}]/hypervisorType`, 'expected another hypervisor: not supported for XEN')]
      : []),
    ...(digitalCertificateMapList.length > 0
      ? [invalid(`${path}[${index}]/digitalCertificateMapList`, 'expected none: nodes need no certificates here')]
      : []),
  ])
}

export const hasAddress = (given: Address | undefined): given is Address =>
  given?.ipv4 !== undefined || given?.ipv6 !== undefined

const isOf = ({ addresses, ipv6 }: NodeView, { ipv4, ipv6: given }: Address): boolean =>
  (ipv4 === undefined || ipv4.value === addresses.cvm) && (given === undefined || given.value === ipv6)

/** The node that the request names by its id or by the address of its controller VM. */
export function nodeNamed(nodes: readonly NodeView[], { nodeUuid, cvmIp }: GivenNode): NodeView | undefined {
  if (nodeUuid !== undefined) return nodes.find((node) => node.nodeUuid === nodeUuid.toLowerCase())
  return hasAddress(cvmIp) ? nodes.find((node) => isOf(node, cvmIp)) : undefined
}

export const nameOfNode = ({ nodeUuid, cvmIp }: GivenNode): string =>
  nodeUuid ?? cvmIp?.ipv4?.value ?? cvmIp?.ipv6?.value ?? 'without nodeUuid and cvmIp'

/** One sentence for each field in which the request and the node differ. */
export function disagreements(node: NodeView, given: GivenNode, path: string): string[] {
  const actual: Omit<Required<GivenNode>, 'cvmIp' | 'digitalCertificateMapList' | 'nodeUuid'> = {
    blockId: node.block.serialNumber,
    model: node.block.model,
    nodePosition: node.position,
    currentNetworkInterface: node.interfaceName,
    hypervisorType: node.hypervisor.type,
    hypervisorVersion: node.hypervisor.version,
    nosVersion: node.softwareVersion,
    luksStatus: 'NON_LUKS',
    isComputeOnly: false,
    isLightCompute: false,
    isMinimumComputeNode: false,
    isRoboMixedHypervisor: false,
  }
  return (Object.keys(actual) as (keyof typeof actual)[])
    .filter((field) => given[field] !== undefined && given[field] !== actual[field])
    .map((field) => `${path}/${field}: expected ${actual[field]}, as the node has it; found ${given[field]}`)
}

/** As `disagreements`, where the request does not give the node new addresses. */
export const addressDisagreements = (
  { addresses }: NodeView,
  { hypervisorIp, ipmiIp }: { readonly hypervisorIp?: Address | undefined; readonly ipmiIp?: Address | undefined },
  path: string,
): string[] =>
  [
    { field: 'hypervisorIp', found: hypervisorIp?.ipv4?.value, expected: addresses.hypervisor },
    { field: 'ipmiIp', found: ipmiIp?.ipv4?.value, expected: addresses.bmc },
  ]
    .filter(({ found, expected }) => found !== undefined && found !== expected)
    .map(({ field, found, expected }) => `${path}/${field}: expected ${expected ?? 'none'}; found ${found}`)

/** The node has another hypervisor or other cluster software than the members of the cluster. */
export const needsImaging = (node: NodeView, { hypervisor, softwareVersion }: NodeBundle): boolean =>
  node.hypervisor.type !== hypervisor.type ||
  node.hypervisor.version !== hypervisor.version ||
  node.softwareVersion !== softwareVersion

/** All faults of a task in one error. */
export function refuseWith(faults: readonly string[]): void {
  const [first, ...rest] = faults.map((fault) => new ApiError('CONFLICT', { fault }))
  if (first === undefined) return
  throw new ApiError('CONFLICT', { fault: faults[0] as string }, { further: rest.map(({ appMessage }) => appMessage) })
}
