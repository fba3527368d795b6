/** The networks of simulated managers; only the seed sets them. Source: behaviour networking.md 1.13, 4. */
import type { RemoteNetworkEntities } from '../remote-networks.ts'
import type { SimulatedWorld } from './world.ts'

interface RemoteGuest {
  readonly macAddress: string
  readonly subnetExtId: string
}

export interface RemoteSite {
  readonly networks: { readonly [S in keyof RemoteNetworkEntities]: readonly RemoteNetworkEntities[S][] }
  readonly guests: readonly RemoteGuest[]
}

export const remoteSites = (world: SimulatedWorld) => world.collection<RemoteSite>('remotes.networks')
