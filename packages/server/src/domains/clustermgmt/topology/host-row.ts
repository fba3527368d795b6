/** The rows that a node has as a host of a cluster. Source: behaviour clustermgmt.md 1.4, 1.13. */
import type { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { coresOf, type NodeView } from '../../../drivers/nodes.ts'

/** COMPUTE_ONLY: no controller VM and no drives in the pool. STORAGE_ONLY: no VMs of users. */
export type HostType = NonNullable<Host['hostType']>

interface HostOfCluster {
  readonly tenantId: string | undefined
  readonly cluster: { readonly extId: string; readonly name: string }
  readonly hostName: string
  /** Milliseconds since 1970. */
  readonly bootedAt: number
  /** Default: HYPER_CONVERGED. */
  readonly hostType?: HostType
}

const microsPerMilli = 1000

export const ipv4 = (value: string) => ({ ipv4: { value, prefixLength: 32 } })

export function hostRowOf(node: NodeView, host: HostOfCluster): Host {
  const { cpu, addresses, block, gpuList } = node
  const { hostType = 'HYPER_CONVERGED' } = host
  const cores = coresOf(node)
  const { type, fullName, userName } = node.hypervisor
  return {
    extId: node.nodeUuid,
    tenantId: host.tenantId,
    hostName: host.hostName,
    cluster: { uuid: host.cluster.extId, name: host.cluster.name },
    nodeStatus: 'NORMAL',
    maintenanceState: 'normal',
    hypervisor: {
      type,
      fullName,
      userName,
      externalAddress: ipv4(addresses.hypervisor),
      state: 'ACROPOLIS_NORMAL',
      acropolisConnectionState: 'CONNECTED',
    },
    hostType,
    ...(hostType === 'COMPUTE_ONLY' ? {} : controllerVmOf(node)),
    cpuModel: cpu.model,
    cpuCapacityHz: cores * cpu.hertz,
    cpuFrequencyHz: cpu.hertz,
    numberOfCpuCores: cores,
    numberOfCpuSockets: cpu.sockets,
    numberOfCpuThreads: cores * cpu.threadsPerCore,
    memorySizeBytes: node.memorySizeBytes,
    bootTimeUsecs: Math.floor(host.bootedAt) * microsPerMilli,
    ...(gpuList === undefined ? {} : { gpuList: [...gpuList] }),
    blockModel: block.model,
    blockSerial: block.serialNumber,
    nodeSerial: node.serialNumber,
    rackableUnitUuid: block.extId,
    position: node.position,
    ...(block.rackName === undefined ? {} : { rackName: block.rackName }),
    hasCsr: false,
    isDegraded: false,
    isHardwareVirtualized: false,
    isRebootPending: false,
    isSecureBooted: node.isSecureBooted,
  } as Host
}

const controllerVmOf = ({ addresses: { cvm } }: NodeView) => ({
  controllerVm: {
    externalAddress: ipv4(cvm),
    backplaneAddress: ipv4(`192.168.5.${cvm.split('.')[3]}`),
    isInMaintenanceMode: false,
  },
})

/** A client sends the credential later, which only the owner of the machine knows. */
export const bmcRowOf = (
  { nodeUuid, addresses: { bmc } }: NodeView,
  { tenantId, cluster }: HostOfCluster,
): BmcInfo | undefined =>
  bmc === undefined
    ? undefined
    : ({
        extId: nodeUuid,
        tenantId,
        clusterExtId: cluster.extId,
        ipAddress: ipv4(bmc),
        status: 'INVALID',
      } as BmcInfo)
