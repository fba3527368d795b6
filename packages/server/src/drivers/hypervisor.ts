/**
 * What the control plane asks of the hosts that run virtual machines. Implemented by `simulated/` and by each real backend.
 * Every call that changes something may be repeated and then changes nothing more; it resolves once its effect is durable.
 * Source: behaviour vmm.md 1.1, 1.2, 3.1 to 3.5.
 */
import type { Vlan } from './network-fabric.ts'

export interface Hypervisor {
  /**
   * Makes a virtual disk: empty, or a layer over what `source` holds, without a copy.
   * @throws DriverError, final, when the source is not there
   */
  createDisk(disk: VirtualDisk): Promise<void>
  /** Removes a disk. Its bytes stay while another disk is a layer over it. One that is not there is no fault. */
  deleteDisk(diskExtId: string): Promise<void>

  /** Makes the domain known, or gives a known one this configuration; one that runs takes memory, CPUs and NICs at once. */
  defineVm(domain: Domain): Promise<void>
  /** Forgets a domain that does not run. One that is not there is no fault. */
  undefineVm(vmExtId: string): Promise<void>
  /**
   * Runs the domain on the host; a paused one goes on where it was. Resolves when it runs, not when its guest is up.
   * @throws DriverError when the host refuses
   */
  startVm(vmExtId: string, hostExtId: string): Promise<void>
  /** Ends it at once, whatever its guest does. */
  stopVm(vmExtId: string): Promise<void>
  /** The guest begins anew; host and addresses stay. `callKey`: the same key resets once. */
  resetVm(vmExtId: string, callKey: string): Promise<void>
  /**
   * Presses the power button. Resolves when the guest is down, or with `ignored` when it did not go down within 60 s:
   * because it has not booted, or does not listen.
   */
  requestShutdown(vmExtId: string): Promise<'down' | 'ignored'>
  /**
   * Takes the domain from a host that does not answer: whatever runs of it there is cut off from disks and network, and the host
   * forgets it before it answers again. From then on it counts as one that does not run, and never runs twice. Answers the
   * same when it is repeated; undefined: the host answers, and nothing was changed.
   */
  fenceVm(vmExtId: string, hostExtId: string): Promise<FencedGuest | undefined>
  /** Moves a running domain to another host without stopping its guest. */
  migrateVm(vmExtId: string, toHostExtId: string): Promise<void>

  /** The ISO leaves its drive and goes; what the domain was to run at its next boot is done. */
  endCustomization(vmExtId: string, isoDiskExtId: string): Promise<void>

  /**
   * Domains that are in a state which nobody asked for: halted by their guests, begun anew, paused because their storage
   * stalls or is full. One that goes on is left out again. Reads only.
   */
  unaskedStates(): Promise<ReadonlyMap<string, UnaskedState>>
  /**
   * Calls `changed` when `unaskedStates` may answer something else than before; the answer ends that. A backend that is
   * not told has it called as often as it wants to be asked.
   */
  watch(changed: () => void): () => void
  /** That the guest halted, or began anew, is known: the domain is like any other. */
  acknowledge(vmExtId: string): Promise<void>
  /** Containers whose writers are paused for want of room. Answers at once, from memory. */
  fullContainers(): readonly string[]
  /** There is room in the container again: its writers go on where they were. */
  retryWrites(containerExtId: string): Promise<void>

  /** What the guests of running domains show at this moment; those that do not run are left out. Reads only. */
  observeGuests(vmExtIds: readonly string[]): Promise<ReadonlyMap<string, GuestView>>
}

export interface UnaskedState {
  /** RESTARTED: it runs, and its guest began anew by itself. */
  readonly state: 'OFF' | 'PAUSED' | 'RESTARTED'
  /** No customisation was left for this guest to run. */
  readonly isCustomizationDone: boolean
}

export interface FencedGuest {
  /** No customisation was left for this guest to run. */
  readonly isCustomizationDone: boolean
}

export interface VirtualDisk {
  readonly extId: string
  readonly containerExtId: string
  readonly sizeBytes: number
  readonly source?: DiskSource
}

export type DiskSource =
  | { readonly kind: 'disk'; readonly extId: string }
  /** The name tells the simulated world which guest is inside. */
  | { readonly kind: 'image'; readonly extId: string; readonly name: string }
  | { readonly kind: 'volumeDisk'; readonly extId: string }

export interface Domain {
  readonly extId: string
  /** Whose hosts may run it. */
  readonly clusterExtId: string
  readonly name: string
  readonly memoryBytes: number
  readonly vcpus: number
  /** In the order in which the firmware tries them. */
  readonly bootOrder: readonly ('CDROM' | 'DISK' | 'NETWORK')[]
  readonly diskExtIds: readonly string[]
  /** Content of CD-ROM drives that are not empty. */
  readonly isoExtIds: readonly string[]
  readonly nics: readonly DomainNic[]
  readonly hasGuestTools: boolean
  /** Its next boot runs a customisation. */
  readonly hasPendingCustomization: boolean
}

export interface DomainNic {
  readonly extId: string
  readonly macAddress: string
  readonly isConnected: boolean
  readonly subnetExtId?: string
  /** The address that the subnet's DHCP keeps for it. */
  readonly address?: string
  /** An unmanaged VLAN: whoever serves DHCP there is outside the deployment. */
  readonly vlan?: Vlan
}

export type BootPhase = 'firmware' | 'loader' | 'kernel' | 'network' | 'customization' | 'running'

export interface GuestView {
  readonly phase: BootPhase
  /** NIC -> addresses that were seen of it. */
  readonly learnedAddresses: ReadonlyMap<string, readonly string[]>
  readonly areToolsReachable: boolean
  /** No customisation is left for this guest to run. */
  readonly isCustomizationDone: boolean
  /** Milliseconds since 1970; when the boot was over. */
  readonly upSince: number | undefined
  /** Milliseconds since 1970; when the guest's kernel began. */
  readonly bootedAt: number | undefined
}
