/**
 * The hosts that run virtual machines, in four capabilities. Implemented by `simulated/` and by each real backend.
 * Every call that changes something is idempotent, and resolves once its effect is durable.
 * Source: behaviour vmm.md 1.1, 1.2, 3.1 to 3.5.
 */
import type { Vlan } from './network-fabric.ts'

export interface Hypervisor extends Domains, Disks, Guests, Migration {}

/** Virtual machines as the hosts know them: configuration and power. */
export interface Domains {
  /** Registers the domain, or reconfigures it; a running domain gets its new memory, CPUs, NICs and serial ports at once. */
  defineVm(domain: Domain): Promise<void>
  /** Removes a domain that does not run; an absent one is no fault. @throws DriverError, final, when it runs */
  undefineVm(vmExtId: string): Promise<void>
  /**
   * Runs the domain on the host; a paused domain continues. Resolves when the domain runs, not when its guest is up.
   * @throws DriverError when the host refuses
   */
  startVm(vmExtId: string, hostExtId: string): Promise<void>
  /** Cuts the power at once, whatever the guest does. */
  stopVm(vmExtId: string): Promise<void>
  /** Reboots the guest; host and addresses stay. Repeated calls with the same `callKey` reset once. */
  resetVm(vmExtId: string, callKey: string): Promise<void>
  /**
   * Presses the power button. Resolves with `down` when the guest is down, or with `ignored` when it is still up after
   * 60 s: because it has not booted, or because it hangs.
   */
  requestShutdown(vmExtId: string): Promise<'down' | 'ignored'>
  /**
   * Takes the domain from a host that does not answer: cuts it off from disks and network, and makes the host forget it
   * before the host answers again. From then on the domain is stopped, so it cannot run twice. A repeated call gives the
   * same answer; `undefined` means that the host answers and nothing was changed.
   */
  fenceVm(vmExtId: string, hostExtId: string): Promise<FencedGuest | undefined>
}

/** Virtual disks, and the containers that hold them. */
export interface Disks {
  /**
   * Creates a virtual disk: empty, or a copy-on-write layer over `source`.
   * @throws DriverError, final, when the source does not exist
   */
  createDisk(disk: VirtualDisk): Promise<void>
  /** Removes a disk; an absent one is no fault. Its bytes stay while another disk is a layer over it. */
  deleteDisk(diskExtId: string): Promise<void>
  /** Containers whose writers are paused because there is no free space. Answers at once, from memory. */
  fullContainers(): readonly string[]
  /** Resumes the writers of a container that has free space again. */
  retryWrites(containerExtId: string): Promise<void>
}

/** The guests inside the domains: what they show, and what they do by themselves. */
export interface Guests {
  /** Ejects and deletes the ISO of a customisation, and marks the customisation of the next boot as done. */
  endCustomization(vmExtId: string, isoDiskExtId: string): Promise<void>
  /**
   * Domains in a state that no call brought about: halted or rebooted by their guests, or paused because their storage
   * stalls or is full. Domains that continued are left out. Reads only.
   */
  unaskedStates(): Promise<ReadonlyMap<string, UnaskedState>>
  /**
   * Calls `changed` when the answer of `unaskedStates` may have changed; the returned function ends the watch. A backend
   * without notifications calls it at the interval at which it wants to be polled.
   */
  watch(changed: () => void): () => void
  /** Confirms that the control plane has recorded the halt or reboot; the domain is no longer in `unaskedStates`. */
  acknowledge(vmExtId: string): Promise<void>
  /** The observable state of the guests of running domains, now. Other domains are left out. Reads only. */
  observeGuests(vmExtIds: readonly string[]): Promise<ReadonlyMap<string, GuestView>>
}

/** Live migration. */
export interface Migration {
  /** Moves a running domain to another host without stopping its guest. */
  migrateVm(vmExtId: string, toHostExtId: string): Promise<void>
}

export interface UnaskedState {
  /** RESTARTED: the domain runs, and its guest rebooted by itself. */
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
  /** The simulated world derives the guest from `name`. */
  | { readonly kind: 'image'; readonly extId: string; readonly name: string }
  | { readonly kind: 'volumeDisk'; readonly extId: string }

export interface Domain {
  readonly extId: string
  /** The cluster whose hosts may run the domain. */
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
  readonly serialPorts: readonly DomainSerialPort[]
  readonly hasGuestTools: boolean
  /** Its next boot runs a customisation. */
  readonly hasPendingCustomization: boolean
}

export interface DomainNic {
  readonly extId: string
  readonly macAddress: string
  readonly isConnected: boolean
  readonly subnetExtId?: string
  /** The address that the subnet's DHCP reserves for the NIC. */
  readonly address?: string
  /** An unmanaged VLAN: its DHCP server is outside the deployment. */
  readonly vlan?: Vlan
}

export interface DomainSerialPort {
  readonly extId: string
  readonly index: number
  readonly isConnected: boolean
}

export type BootPhase = 'firmware' | 'loader' | 'kernel' | 'network' | 'customization' | 'running'

export interface GuestView {
  readonly phase: BootPhase
  /** NIC id -> addresses that it was seen to use. */
  readonly learnedAddresses: ReadonlyMap<string, readonly string[]>
  readonly areToolsReachable: boolean
  /** No customisation is left for this guest to run. */
  readonly isCustomizationDone: boolean
  /** End of the boot; milliseconds since 1970. */
  readonly upSince: number | undefined
  /** Start of the guest's kernel; milliseconds since 1970. */
  readonly bootedAt: number | undefined
}
