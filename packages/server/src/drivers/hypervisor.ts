/** Hosts of VMs. Changing calls are idempotent, durable when resolved; absent things are no fault. Source: vmm.md 1.1, 1.2, 3.1-3.5. */
import type { Vlan } from './network-fabric.ts'

export interface Hypervisor extends Consoles, Domains, Disks, Guests, Migration, StartHolds, VmGroups {}

export interface Domains {
  /** Creates or reconfigures the domain; a running one gets new memory, CPUs, disks, NICs and serial ports at once. */
  defineVm(domain: Domain): Promise<void>
  /** @throws DriverError, final, when the domain runs */
  undefineVm(vmExtId: string): Promise<void>
  /** Also continues a paused domain. Resolves before the guest is up. @throws DriverError when the host refuses or lacks a device */
  startVm(vmExtId: string, hostExtId: string): Promise<void>
  /** Cuts the power. Repeated calls give the same answer. */
  stopVm(vmExtId: string): Promise<StoppedGuest>
  /** Host and addresses stay. Repeated calls with one `callKey` reset once. */
  resetVm(vmExtId: string, callKey: string): Promise<void>
  /** `ignored`: still up after 60 s, because the guest hangs, has not booted, or does not listen to `through`. */
  requestShutdown(vmExtId: string, through: GuestSignal): Promise<StoppedGuest | 'ignored'>
  /** As `requestShutdown`; host and addresses stay. Repeated calls with one `callKey` reboot once. */
  requestReboot(vmExtId: string, through: GuestSignal, callKey: string): Promise<'done' | 'ignored'>
  /**
   * Cuts the domain off from disks and network, and makes its silent host forget it before answering again, so that it cannot run twice.
   * Repeated calls give the same answer; undefined: the host answers.
   */
  fenceVm(vmExtId: string, hostExtId: string): Promise<StoppedGuest | undefined>
}

export interface Disks {
  /** Empty, or a copy-on-write layer over `source`. @throws DriverError, final, when the source does not exist */
  createDisk(disk: VirtualDisk): Promise<void>
  /** Keeps the contents of the disks at one instant, each as a layer that is deleted like a disk. */
  snapshotDisks(snapshots: readonly DiskSnapshot[]): Promise<void>
  /** The bytes stay while several disks lie over this one; a single one takes them over. */
  deleteDisk(diskExtId: string): Promise<void>
  /** Layers with others below or above them, by id; from memory. @param at default: now */
  layers(at?: number): ReadonlyMap<string, Layer>
  /** One of `layers`; from memory. */
  layer(diskExtId: string): Layer | undefined
  /** A running domain sees the new size at once. @throws DriverError, final, when the disk does not exist */
  resizeDisk(diskExtId: string, sizeBytes: number): Promise<void>
  /** The other disk takes the place and the id of this one, whose content is deleted. Without the other: no effect. */
  replaceDisk(diskExtId: string, byExtId: string): Promise<void>
  /**
   * Live, to another container of the cluster. `report` gets the progress, 0 to 1; if it throws, the disk stays in place.
   * @throws DriverError, final, when the disk does not exist
   */
  moveDisk(diskExtId: string, containerExtId: string, report: (share: number) => Promise<void>): Promise<void>
  /**
   * `copyExtId` is in any container of any cluster, with no layer below. `report` as in `moveDisk`; if it throws, there is no copy.
   * @throws DriverError, final, when the disk does not exist
   */
  copyDisk(diskExtId: string, copy: DiskCopy, report: (share: number) => Promise<void>): Promise<void>
  /** Starts or stops copying the rest of an external source. Without one: no effect. */
  hydrateDisk(diskExtId: string, isEnabled: boolean): Promise<void>
  /** Disks whose external source is not copied completely; from memory. */
  hydrations(diskExtIds: readonly string[]): ReadonlyMap<string, Hydration>
  /** Containers without free space, whose writers are paused; from memory. */
  fullContainers(): readonly string[]
  retryWrites(containerExtId: string): Promise<void>
}

export interface Consoles {
  /** @throws DriverError when the host refuses */
  openConsole(vmExtId: string): Promise<void>
  /** From memory; undefined: the domain does not run. */
  screenOf(vmExtId: string): Screen | undefined
}

export interface Screen {
  readonly lines: readonly string[]
  /** Time of the next line; absent: none is due. */
  readonly changesAt?: number
}

export interface Guests {
  /** The guest tools stop all writes. @throws DriverError, final, when the guest does not within 10 s */
  freezeGuest(vmExtId: string): Promise<void>
  /** A guest that is not frozen is no fault. */
  thawGuest(vmExtId: string): Promise<void>
  /** Deletes the ISO; the customisation of the next boot counts as done. */
  endCustomization(vmExtId: string, isoDiskExtId: string): Promise<void>
  /** Domains that a call or their guest stopped, that their guest rebooted, or that are paused because their storage stalls or is full. */
  unaskedStates(): Promise<ReadonlyMap<string, UnaskedState>>
  /** For `unaskedStates`. A backend without notifications calls `changed` at its polling interval. */
  watch(changed: () => void): () => void
  /** The control plane has recorded the stop or reboot; `unaskedStates` omits it from now on. */
  acknowledge(vmExtId: string): Promise<void>
  /** On the boot disk, also of a domain that is OFF. */
  installedSystem(vmExtId: string): Promise<GuestSystem | undefined>
  copyTools(vmExtId: string, credential: GuestCredential): Promise<'copied' | 'refused'>
  /** The tools start with the next boot. Repeated calls with one `callKey` set them up once. */
  setUpTools(vmExtId: string, callKey: string): Promise<GuestSystem>
  /** Undoes `setUpTools`: tools that ran before run again. */
  revertTools(vmExtId: string): Promise<void>
  /** The script that a guest keeps for changes of its power. */
  runPowerScript(vmExtId: string): Promise<'succeeded' | 'failed'>
  /** Domains that do not run are left out. */
  observeGuests(vmExtIds: readonly string[]): Promise<ReadonlyMap<string, GuestView>>
}

export interface Migration {
  /**
   * Live migration, once both hosts have a free place. @param report gets the copied share of the memory; if it throws, the domain stays in
   * place
   * @throws DriverError, final, when the guest writes faster than its memory can be copied
   */
  migrateVm(vmExtId: string, toHostExtId: string, report?: (share: number) => Promise<void>): Promise<void>
  /**
   * To another cluster, a running domain as in `migrateVm`; its disks and their copies exchange ids at one instant. A repeated call changes
   * nothing; a call with the former places undoes it.
   */
  moveVm(move: ClusterMove, report?: (share: number) => Promise<void>): Promise<void>
}

export interface DiskCopy {
  readonly copyExtId: string
  readonly containerExtId: string
}

export interface ClusterMove {
  readonly domain: Domain
  readonly hostExtId?: string
  /** `containerExtId`: of the disk after the move. */
  readonly disks: readonly (DiskCopy & { readonly diskExtId: string })[]
}

/** After a loss of power these VMs do not start with their host: the control plane starts them, in its order. */
export interface StartHolds {
  /** From memory. */
  heldAtStart(): ReadonlySet<string>
  holdAtStart(vmExtIds: ReadonlySet<string>): Promise<void>
}

export interface VmGroups {
  /** Groups of VMs that the hosts of a cluster keep apart by themselves; from memory. */
  vmGroups(): readonly VmGroup[]
  /** Resolves also for an absent group. */
  removeVmGroup(groupExtId: string): Promise<void>
  watchVmGroups(changed: () => void): () => void
}

export interface VmGroup {
  readonly extId: string
  readonly name: string
  readonly clusterExtId: string
  readonly vmExtIds: readonly string[]
}

export interface DiskSnapshot {
  readonly diskExtId: string
  readonly layerExtId: string
}

export interface Layer {
  readonly containerExtId: string
  /** Bytes that no other layer holds. */
  readonly ownBytes: number
  /** Readers among disks; default: one. */
  readonly disks?: number
  /** Readers among recovery points. */
  readonly snapshots?: number
}

/** The power button, the guest tools, or a command that runs inside the guest. */
export type GuestSignal = 'ACPI' | 'COMMAND' | 'TOOLS'

export interface GuestCredential {
  readonly username: string
  readonly password: string
}

export interface GuestSystem {
  readonly version: string
  readonly fullName: string
  readonly buildNumber: string
  readonly dnsName: string
  readonly virtIoVersion: string
}

export interface UnaskedState {
  /** RESTARTED: the guest rebooted by itself. HELD: its host is back, and the domain waits to be started. */
  readonly state: 'HELD' | 'OFF' | 'PAUSED' | 'RESTARTED'
  /** This guest has no customisation left to run. */
  readonly isCustomizationDone: boolean
}

export interface StoppedGuest {
  readonly isCustomizationDone: boolean
}

export interface VirtualDisk {
  readonly extId: string
  readonly containerExtId: string
  readonly sizeBytes: number
  readonly source?: DiskSource
  /** No guest writes to it, only to layers over it. */
  readonly isReadOnly?: true
}

export type DiskSource =
  /** `isFullCopy`: the new disk is no layer, because the source is on another cluster. */
  | { readonly kind: 'disk'; readonly extId: string; readonly isFullCopy?: true }
  /** The simulated world derives the guest from `name`. */
  | { readonly kind: 'image'; readonly extId: string; readonly name: string }
  | { readonly kind: 'volumeDisk'; readonly extId: string }
  /** Read from the repository on demand, and copied in the background if `isHydrated`. */
  | { readonly kind: 'external'; readonly repository: string; readonly path: string; readonly isHydrated: boolean }
  | { readonly kind: 'ova'; readonly extId: string; readonly clusterExtId: string; readonly fileName: string }

export interface Hydration {
  /** FAILED: the repository does not answer. */
  readonly status: 'IN_PROGRESS' | 'FAILED' | 'DISABLED'
  readonly remainingBytes: number
}

export interface Domain {
  readonly extId: string
  readonly clusterExtId: string
  readonly name: string
  readonly memoryBytes: number
  readonly vcpus: number
  readonly bootOrder: readonly ('CDROM' | 'DISK' | 'NETWORK')[]
  readonly diskExtIds: readonly string[]
  readonly isoExtIds: readonly string[]
  readonly nics: readonly DomainNic[]
  readonly serialPorts: readonly DomainSerialPort[]
  /** Devices of one host that the domain gets entirely. */
  readonly deviceExtIds?: readonly string[]
  readonly virtualGpus?: readonly number[]
  readonly hasGuestTools: boolean
  readonly hasPendingCustomization: boolean
  readonly guestSettings?: GuestSettings
  /** Static addresses by NIC id, set by the guest tools. */
  readonly toolsAddresses?: Readonly<Record<string, readonly string[]>>
}

export interface GuestSettings {
  readonly computerName?: string
  /** By id of a NIC: its static address. */
  readonly addresses: Readonly<Record<string, string>>
}

export interface DomainNic {
  readonly extId: string
  readonly macAddress: string
  readonly isConnected: boolean
  readonly model: 'VIRTIO' | 'E1000'
  readonly numQueues: number
  readonly subnetExtId?: string
  /** Tags that the port lets through; empty: all. Absent: the port is an access port. */
  readonly trunkedVlans?: readonly number[]
  readonly allowsUnknownMacs: boolean
  /** A virtual function of a host NIC with this NIC profile, instead of an emulated NIC. */
  readonly virtualFunction?: { readonly profileExtId: string; readonly vlanId?: number }
  /** Reserved in DHCP. */
  readonly address?: string
  /** A network function, instead of that of the subnet; a chain that the fabric does not know redirects nothing. */
  readonly functionChainExtId?: string
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
  /** Reported by the guest tools. */
  readonly system: GuestSystem | undefined
  readonly isCustomizationDone: boolean
  /** End of the boot. */
  readonly upSince: number | undefined
  /** Start of the guest's kernel. */
  readonly bootedAt: number | undefined
  /** The view changes with stored facts only, no longer with time. Drivers of real guests never set it. */
  readonly isSettled: boolean
}
