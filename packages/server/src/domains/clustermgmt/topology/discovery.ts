/** Source: behaviour clustermgmt.md 1.3 (discoverUnconfiguredNodes). */
import type { ValueOf } from '@hyperplane/contract'
import type { UnconfigureNodeDetails } from '@hyperplane/contract/clustermgmt/task-response'
import type { NodeDiscoveryParams } from '@hyperplane/contract/clustermgmt/unconfigured-node'
import type { NodeView } from '../../../drivers/nodes.ts'
import { defineTask } from '../../context.ts'
import { ipv4 } from './host-row.ts'
import { isModelSupported } from './nodes.ts'
import { NodeReservation } from './reservations.ts'
import { keepResult } from './task-results.ts'

type Params = ValueOf<typeof NodeDiscoveryParams>
type DiscoveredNode = ValueOf<typeof UnconfigureNodeDetails>['nodeList'][number]

export const discoverNodes = defineTask<Params & { readonly clusterExtId: string }>({
  name: 'clustermgmt.discover-unconfigured-nodes',
  cancelableUntil: 'discover',
  steps: [
    {
      name: 'discover',
      seconds: [8, 20],
      run: async ({ drivers, store }, params) => {
        const found = drivers.hardware.unconfiguredNodes(params.timeout ?? 60).filter((node) => matches(node, params))
        const reserved = await store.getMany(
          NodeReservation,
          found.map(({ nodeUuid }) => nodeUuid),
        )
        const taken = new Set(reserved.map(({ extId }) => extId))
        return found.filter(({ nodeUuid }) => !taken.has(nodeUuid)).map((node) => discovered(node, params))
      },
      record: (ctx, _, nodeList: readonly DiscoveredNode[]) =>
        keepResult(ctx, 'UNCONFIGURED_NODES', { nodeList: [...nodeList] }),
    },
  ],
})

function matches(node: NodeView, { ipFilterList, uuidFilterList, interfaceFilterList }: Params): boolean {
  const own = new Set([...Object.values(node.addresses), node.ipv6])
  return (
    isNamed(ipFilterList, ({ ipv4, ipv6 }) => own.has(ipv4?.value ?? '') || own.has(ipv6?.value ?? '')) &&
    isNamed(uuidFilterList, (uuid) => uuid.toLowerCase() === node.nodeUuid) &&
    isNamed(interfaceFilterList, (name) => name === node.interfaceName)
  )
}

/** An absent or empty list names every node. */
const isNamed = <T>(list: readonly T[] | undefined, names: (item: T) => boolean): boolean =>
  list === undefined || list.length === 0 || list.some(names)

function discovered(node: NodeView, { addressType }: Params): DiscoveredNode {
  const { addresses, block, hypervisor } = node
  return {
    nodeUuid: node.nodeUuid,
    arch: 'x86_64',
    attributes: {
      defaultWorkload: 'vm',
      isModelSupported: isModelSupported(node),
      isRoboMixedHypervisor: false,
      lcmFamily: block.model,
      shouldWorkWith1GNic: false,
    },
    cpuType: [node.cpu.model],
    currentCvmVlanTag: '0',
    currentNetworkInterface: node.interfaceName,
    cvmIp: {
      ...ipv4(addresses.cvm),
      ...(addressType === 'IPV6' && { ipv6: { value: node.ipv6, prefixLength: 64 } }),
    },
    foundationVersion: node.foundationVersion,
    hostType: 'HYPER_CONVERGED',
    hypervisorIp: ipv4(addresses.hypervisor),
    hypervisorType: hypervisor.type,
    hypervisorVersion: hypervisor.version,
    interfaceIpv6: node.ipv6,
    ...(addresses.bmc !== undefined && { ipmiIp: ipv4(addresses.bmc) }),
    isCvmExists: true,
    isSecureBooted: node.isSecureBooted,
    luksStatus: 'NON_LUKS',
    nodePosition: node.position,
    nosVersion: node.softwareVersion,
    rackableUnitMaxNodes: block.maximumNodes,
    rackableUnitModel: block.model,
    rackableUnitSerial: block.serialNumber,
  }
}
