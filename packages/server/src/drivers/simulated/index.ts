/** The simulated implementation of every capability, over one world. */
import type { Drivers } from '../drivers.ts'
import type { SimulatedWorld } from './world.ts'

export interface SimulatedSettings {
  /** Folder for the world's files. */
  readonly folder: string
}

export function createSimulatedDrivers(_world: SimulatedWorld, _settings: SimulatedSettings): Drivers {
  return {
    blockStorage: {},
    contentSource: {},
    hardware: {},
    hypervisor: {},
    networkFabric: {},
    objectStore: {},
    telemetry: {},
  }
}
