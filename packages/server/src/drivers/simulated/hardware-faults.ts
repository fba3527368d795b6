/** Faults of simulated clusters and hosts: `hardware.faults` by cluster or host. Source: behaviour clustermgmt.md 3. */
import { DriverError } from '../../core/tasks/define-task.ts'
import type { SimulatedWorld } from './world.ts'

export interface HardwareFault {
  /** The BMC answers all the same. */
  readonly isDown?: boolean
  readonly since?: number
  /** A power loss also stops the guests of the host. */
  readonly hasLostPower?: boolean
  /** All uplinks of the management network are lost. */
  readonly isCutOff?: boolean
  readonly lostUplinks?: readonly string[]
  /** By name of a NIC whose link comes and goes. */
  readonly flaps?: Readonly<Record<string, { readonly since: number; readonly periodSeconds: number }>>
  readonly isAgentSilent?: boolean
  readonly isBmcSilent?: boolean
  /** Factor by which its drives are slower. */
  readonly slowdown?: number
  /** Names of calls, such as `writeSettings`. */
  readonly refuses?: readonly string[]
}

export const hardwareFaults = (world: SimulatedWorld) => world.collection<HardwareFault>('hardware.faults')

export const isDown = (world: SimulatedWorld, id: string): boolean => hardwareFaults(world).get(id)?.isDown === true

/** @throws DriverError when the cluster or host `id`, if given, cannot do `call` now */
export type RequireAnswer = (id: string | undefined, call: string) => void

export function answering(world: SimulatedWorld): RequireAnswer {
  const faults = hardwareFaults(world)
  return (id, call) => {
    const fault = faults.get(id ?? '')
    if (fault?.isDown === true) throw DriverError.retryable(`${call}: no answer within 10 s`)
    if (fault?.refuses?.includes(call)) throw DriverError.final(`${call} was refused`)
  }
}
