/**
 * Machines that can be in a cluster; as a member a node has the id of its host. Views come from memory, as of the last announcement.
 * Source: behaviour clustermgmt.md 1.3, 3 (State).
 */
export interface Nodes {
  /** Nodes of no cluster that answer within `seconds`, in the order of their controller VMs' addresses. */
  unconfiguredNodes(seconds: number): readonly NodeView[]
  /** Also of a cluster; undefined for an unknown node, and for one that does not answer. */
  nodeOf(nodeUuid: string): NodeView | undefined
  /** Infinite before `admitNodes`. */
  memberSince(hostExtId: string): number
  /** Hypervisor and software for imaging new members; undefined while no member of the cluster answers. */
  imageOf(clusterExtId: string): NodeBundle | undefined
  /**
   * Writes hypervisor and cluster software to the node. Repeated calls with one `holder` change nothing.
   * @throws DriverError, retryable, when the node does not answer; final, when it is in a cluster
   */
  imageNode(nodeUuid: string, image: NodeImage, holder: string): Promise<void>
  /** The node is a member from now on; its devices can be used after `admitNodes`. @throws as `imageNode` */
  joinNode(nodeUuid: string, membership: Membership, holder: string): Promise<void>
  /** The last call of a `holder` for these nodes, which cannot be taken back. */
  admitNodes(nodeUuids: readonly string[], holder: string): Promise<void>
  /** Restores the node, without bridges, as before the calls of `holder`; resolves at once after `admitNodes`. */
  takeBackNode(nodeUuid: string, holder: string): Promise<void>
  /** The node leaves its cluster, loses its bridges, and can be discovered when it answers. */
  detachNode(nodeUuid: string): Promise<void>
}

export interface Membership {
  readonly clusterExtId: string
  readonly addresses: NodeAddresses
}

export interface NodeAddresses {
  readonly hypervisor: string
  readonly cvm: string
  readonly bmc?: string
}

export interface NodeImage {
  readonly hypervisor: NodeHypervisor
  readonly softwareVersion: string
}

export interface NodeBundle extends NodeImage {
  /** `hypervisor-AHV-10.3`; `fullName` is `Native hypervisor 10.3`. */
  readonly name: string
  readonly md5Sum: string
  /** False: it comes with the cluster software. */
  readonly isUploaded: boolean
}

export interface NodeHypervisor {
  readonly type: 'AHV' | 'ESX' | 'HYPERV' | 'XEN' | 'NATIVEHOST'
  readonly version: string
  readonly fullName: string
  readonly userName: string
}

export interface NodeView extends NodeImage {
  readonly nodeUuid: string
  readonly serialNumber: string
  /** Absent: the node can be discovered. */
  readonly clusterExtId?: string
  readonly addresses: NodeAddresses
  /** Link-local address of the controller VM. */
  readonly ipv6: string
  /** Interface on which the node announces itself: `eth0`. */
  readonly interfaceName: string
  readonly foundationVersion: string
  readonly cpu: NodeCpu
  readonly memorySizeBytes: number
  /** Names of GPUs and other devices that VMs may use. */
  readonly gpuList?: readonly string[]
  readonly block: NodeBlock
  readonly position: string
  readonly isSecureBooted: boolean
}

export interface NodeCpu {
  readonly model: string
  readonly sockets: number
  readonly coresPerSocket: number
  readonly threadsPerCore: number
  readonly hertz: number
}

export interface NodeBlock {
  readonly extId: string
  readonly serialNumber: string
  readonly model: string
  readonly maximumNodes: number
  readonly rackName?: string
}

export const coresOf = ({ cpu }: Pick<NodeView, 'cpu'>): number => cpu.sockets * cpu.coresPerSocket
