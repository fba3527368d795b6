/** Networks of other managers, which layer-2 stretches join. Source: behaviour networking.md 1.13. */
import type { EntityOf } from '@hyperplane/contract'
import type {
  RemoteSubnet,
  RemoteVpnConnection,
  RemoteVtepGateway,
} from '@hyperplane/contract/networking/remote-entities'

export interface RemoteNetworkEntities {
  /** Managed ones that are not external. */
  readonly subnets: EntityOf<typeof RemoteSubnet>
  readonly vpnConnections: EntityOf<typeof RemoteVpnConnection>
  /** Local gateways of the other manager; `addresses` are those of their VTEPs. */
  readonly vtepGateways: EntityOf<typeof RemoteVtepGateway> & { readonly addresses: readonly string[] }
}

export type RemoteSort = keyof RemoteNetworkEntities

/** Proves to the other manager who the caller is. */
export interface RemoteProof {
  readonly key: string | undefined
  readonly manager: { readonly extId: string }
}

export interface RemoteNetworks {
  /** As they are now. @throws RemoteFault */
  networkEntities<S extends RemoteSort>(
    place: { readonly address: string; readonly certificate: string },
    proof: RemoteProof,
    sort: S,
  ): Promise<readonly RemoteNetworkEntities[S][]>
}
