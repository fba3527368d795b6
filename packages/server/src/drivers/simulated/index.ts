import type { ContentStore } from '../content-store.ts'
import type { Drivers } from '../drivers.ts'
import type { KnowingObjectStore } from '../object-stores.ts'
import { noTraps } from '../traps.ts'
import { createBlockStorage } from './block-storage.ts'
import { createClusterFormation } from './cluster-formation.ts'
import { createContentSource } from './content-source.ts'
import { createSimulatedDirectory } from './directory.ts'
import { createExternalHypervisor } from './external-hypervisor.ts'
import { Flows } from './flows/flows.ts'
import { createHardware } from './hardware.ts'
import { createHypervisor } from './hypervisor.ts'
import { createNetworkFabric } from './network-fabric.ts'
import { createNodes } from './nodes.ts'
import { createObjectStore } from './object-store.ts'
import { createOvaFiles } from './ova-files.ts'
import { createSimulatedRemotes } from './remote-managers.ts'
import { createTelemetry } from './telemetry.ts'
import { createSimulatedWeb } from './web.ts'
import type { SimulatedWorld } from './world.ts'

interface SimulatedSettings {
  readonly folder: string
  readonly durations: 'instant' | 'natural'
  readonly contentStore?: ContentStore | undefined
}

type SimulatedDrivers = Drivers & { readonly objectStore: KnowingObjectStore }

export function createSimulatedDrivers(world: SimulatedWorld, settings: SimulatedSettings): SimulatedDrivers {
  const flows = new Flows(world)
  const networkFabric = createNetworkFabric(world, { durations: settings.durations, flows })
  return {
    blockStorage: createBlockStorage(world, { durations: settings.durations }),
    contentSource: createContentSource(world, settings),
    directory: createSimulatedDirectory(world, { durations: settings.durations }),
    externalHypervisor: createExternalHypervisor(world, { durations: settings.durations }),
    hardware: { ...createHardware(world, settings), ...createNodes(world), ...createClusterFormation(world) },
    hypervisor: createHypervisor(world, { durations: settings.durations, networkFabric }),
    networkFabric,
    ovaFiles: createOvaFiles(world, settings),
    objectStore: createObjectStore(world, settings),
    remoteManagers: createSimulatedRemotes(world),
    telemetry: createTelemetry(world, flows),
    traps: noTraps,
    web: createSimulatedWeb(world, { durations: settings.durations }),
  }
}
