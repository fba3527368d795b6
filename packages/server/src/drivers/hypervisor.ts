/** Hosts of VMs. Changing calls are idempotent and resolve when durable. Source: behaviour vmm.md 1.1, 1.2, 3.1-3.5. */
import type { Vlan } from './network-fabric.ts'

export interface Hypervisor extends Domains, Disks, Guests, Migration {}

export interface Domains {
  /** Creates or reconfigures it; a running domain gets new memory, CPUs, NICs and serial ports at once. */
  defineVm(domain: Domain): Promise<void>
  /** An absent domain is no fault. @throws DriverError, final, when it runs */
  undefineVm(vmExtId: string): Promise<void>
  /** Also continues a paused domain. Resolves before the guest is up. @throws DriverError when the host refuses */
  startVm(vmExtId: string, hostExtId: string): Promise<void>
  /** Cuts the power. */
  stopVm(vmExtId: string): Promise<void>
  /** Host and addresses stay. Repeated calls with the same `callKey` reset once. */
  resetVm(vmExtId: string, callKey: string): Promise<void>
  /** Presses the power button. `ignored`: still up after 60 s, because the guest hangs or has not booted. */
  requestShutdown(vmExtId: string): Promise<'down' | 'ignored'>
  /**
   * Cuts the domain off from disks and network, and makes its silent host forget it before the host answers again: the
   * domain is stopped and cannot run twice. Repeated calls give the same answer; undefined: the host answers.
   */
  fenceVm(vmExtId: string, hostExtId: string): Promise<FencedGuest | undefined>
}

export interface Disks {
  /** Empty, or a copy-on-write layer over `source`. @throws DriverError, final, when the source does not exist */
  createDisk(disk: VirtualDisk): Promise<void>
  /** An absent disk is no fault. Its bytes stay while another disk is a layer over it. */
  deleteDisk(diskExtId: string): Promise<void>
  /** Containers without free space, whose writers are paused; from memory. */
  fullContainers(): readonly string[]
  /** Resumes the writers. */
  retryWrites(containerExtId: string): Promise<void>
}

export interface Guests {
  /** Deletes the ISO and marks the customisation of the next boot as done. */
  endCustomization(vmExtId: string, isoDiskExtId: string): Promise<void>
  /** Domains that their guests halted or rebooted, or that are paused because their storage stalls or is full. */
  unaskedStates(): Promise<ReadonlyMap<string, UnaskedState>>
  /** For `unaskedStates`. A backend without notifications calls `changed` at its polling interval. */
  watch(changed: () => void): () => void
  /** The control plane has recorded the halt or reboot: `unaskedStates` leaves it out from now on. */
  acknowledge(vmExtId: string): Promise<void>
  /** Domains that do not run are left out. */
  observeGuests(vmExtIds: readonly string[]): Promise<ReadonlyMap<string, GuestView>>
}

export interface Migration {
  /**
   * Live migration of a running domain. Waits until the host that it leaves and the one that it enters have a free place.
   * @param report hears the copied share of the memory; if it throws, the domain stays where it is
   * @throws DriverError, final, when the guest writes faster than its memory can be copied
   */
  migrateVm(vmExtId: string, toHostExtId: string, report?: (share: number) => Promise<void>): Promise<void>
}

export interface UnaskedState {
  /** RESTARTED: the guest rebooted by itself. */
  readonly state: 'OFF' | 'PAUSED' | 'RESTARTED'
  /** No customisation is left for this guest to run. */
  readonly isCustomizationDone: boolean
}

export interface FencedGuest {
  readonly isCustomizationDone: boolean
}

export interface VirtualDisk {
  readonly extId: string
  readonly containerExtId: string
  readonly sizeBytes: number
  readonly source?: DiskSource
}

export type DiskSource =
  /** `isFullCopy`: the new disk is no layer, because the source is on another cluster. */
  | { readonly kind: 'disk'; readonly extId: string; readonly isFullCopy?: true }
  /** The simulated world derives the guest from `name`. */
  | { readonly kind: 'image'; readonly extId: string; readonly name: string }
  | { readonly kind: 'volumeDisk'; readonly extId: string }
  /** A file of the OVA. */
  | { readonly kind: 'ova'; readonly extId: string; readonly clusterExtId: string; readonly fileName: string }

export interface Domain {
  readonly extId: string
  readonly clusterExtId: string
  readonly name: string
  readonly memoryBytes: number
  readonly vcpus: number
  /** In the order of attempts. */
  readonly bootOrder: readonly ('CDROM' | 'DISK' | 'NETWORK')[]
  readonly diskExtIds: readonly string[]
  /** Content of CD-ROM drives that are not empty. */
  readonly isoExtIds: readonly string[]
  readonly nics: readonly DomainNic[]
  readonly serialPorts: readonly DomainSerialPort[]
  readonly hasGuestTools: boolean
  /** The next boot runs a customisation. */
  readonly hasPendingCustomization: boolean
}

export interface DomainNic {
  readonly extId: string
  readonly macAddress: string
  readonly isConnected: boolean
  readonly subnetExtId?: string
  /** Reserved in DHCP. */
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
  /** NIC id -> addresses seen on it. */
  readonly learnedAddresses: ReadonlyMap<string, readonly string[]>
  readonly areToolsReachable: boolean
  readonly isCustomizationDone: boolean
  /** End of the boot; milliseconds since 1970. */
  readonly upSince: number | undefined
  /** Start of the guest's kernel; milliseconds since 1970. */
  readonly bootedAt: number | undefined
}
