import type { RouteProgram, RouterPort, RouterProgram } from '../virtual-routing.ts'
import type { SimulatedWorld } from './world.ts'

export interface RouterFact {
  readonly program: RouterProgram
  readonly ports: readonly RouterPort[]
  /** Addresses of source translation (NAT). */
  readonly translated: readonly string[]
}

/** `since` is world time. */
type RouteFact = RouteProgram & { readonly since: number }

export const routerFacts = (world: SimulatedWorld) => world.collection<RouterFact>('fabric.router')
export const routeFacts = (world: SimulatedWorld) => world.collection<RouteFact>('fabric.route')
