/** The simulated implementation of every capability, over one world. */
import type { Drivers } from '../drivers.ts'
import { createBlockStorage } from './block-storage.ts'
import { createContentSource } from './content-source.ts'
import { createExternalHypervisor } from './external-hypervisor.ts'
import { createHardware } from './hardware.ts'
import { createHypervisor } from './hypervisor.ts'
import { createNetworkFabric } from './network-fabric.ts'
import { createObjectStore } from './object-store.ts'
import { createTelemetry } from './telemetry.ts'
import type { SimulatedWorld } from './world.ts'

export interface SimulatedSettings {
  /** Folder for the world's files. */
  readonly folder: string
  readonly durations: 'instant' | 'natural'
}

export function createSimulatedDrivers(world: SimulatedWorld, settings: SimulatedSettings): Drivers {
  const networkFabric = createNetworkFabric(world)
  return {
    blockStorage: createBlockStorage(world),
    contentSource: createContentSource(world, { durations: settings.durations }),
    externalHypervisor: createExternalHypervisor(world, { durations: settings.durations }),
    hardware: createHardware(world),
    hypervisor: createHypervisor(world, { durations: settings.durations, networkFabric }),
    networkFabric,
    objectStore: createObjectStore(world, settings),
    telemetry: createTelemetry(world),
  }
}
