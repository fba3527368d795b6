/**
 * The outside world; `instance/drivers.ts` chooses the implementations. Times are milliseconds since 1970, sizes bytes, unless stated
 * otherwise.
 */
import type { BlockStorage } from './block-storage.ts'
import type { ContentSource } from './content-source.ts'
import type { Directory } from './directory.ts'
import type { ExternalHypervisor } from './external-hypervisor.ts'
import type { Hardware } from './hardware.ts'
import type { Hypervisor } from './hypervisor.ts'
import type { NetworkFabric } from './network-fabric.ts'
import type { ObjectStore } from './object-store.ts'
import type { OvaFiles } from './ova-files.ts'
import type { RemoteManagers } from './remote-managers.ts'
import type { Telemetry } from './telemetry.ts'
import type { TrapSender } from './traps.ts'
import type { Web } from './web.ts'

export interface Drivers {
  readonly blockStorage: BlockStorage
  readonly contentSource: ContentSource
  readonly directory: Directory
  readonly externalHypervisor: ExternalHypervisor
  readonly hardware: Hardware
  readonly hypervisor: Hypervisor
  readonly networkFabric: NetworkFabric
  readonly objectStore: ObjectStore
  readonly ovaFiles: OvaFiles
  readonly remoteManagers: RemoteManagers
  readonly telemetry: Telemetry
  readonly traps: TrapSender
  readonly web: Web
}
