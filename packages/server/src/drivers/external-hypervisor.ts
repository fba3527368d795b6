/** Management of an external hypervisor; its VMs can change outside at any time. Source: behaviour vmm.md 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import type { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import type { ExternalMoves } from './external-moves.ts'
import type { DiskSnapshot, GuestCredential, GuestSystem, Layer } from './hypervisor.ts'
import type { ManagementExtensions } from './management-extensions.ts'
import type { Run } from './telemetry.ts'

export interface ExternalHypervisor extends ExternalGuests, ExternalMoves, ExternalSnapshots, ManagementExtensions {
  /** Result of the last heartbeat, from memory. */
  isConnected(clusterExtId: string): boolean
  /** Without the VMs of a management that is not connected. */
  inventory(): Promise<readonly ExternalInventory[]>
  /** Returns the end of the watch. A backend without notifications calls `changed` at its polling interval. */
  watch(changed: () => void): () => void
  /**
   * Resolves with the VM in its new state. Repeated calls with one `callKey` change once; a reset is atomic.
   * @throws DriverError, final, after 30 s without an answer, or when the VM is gone or in the wrong state
   */
  changePower(vmExtId: string, change: PowerChange, callKey: string): Promise<OutsideVm>
  /** Name of the datastore through which the VM is registered, if the management says it; from memory. */
  datastoreOf(vmExtId: string): string | undefined
  /** Oldest first, as far as the management remembers. */
  runs(vmExtId: string): Promise<readonly Run[]>
}

/** The management keeps each snapshot with its VM, and deletes both together. Errors as of `changePower`. */
export interface ExternalSnapshots {
  /** All disks at one instant. The management freezes and thaws the guest if `isQuiesced`. Repeated calls return the first. */
  takeSnapshot(
    vmExtId: string,
    snapshot: { readonly extId: string; readonly isQuiesced: boolean },
  ): Promise<TakenSnapshot>
  /** Absent snapshots and VMs are no fault. */
  removeSnapshot(vmExtId: string, snapshotExtId: string): Promise<void>
  /** In one step; the VM is OFF then. Repeated calls with the same `callKey` revert once. */
  revertToSnapshot(vmExtId: string, snapshotExtId: string, callKey: string): Promise<RevertedVm>
  /** Layers of snapshots and of the disks over them, by id; from memory. @param at default: now */
  layers(at?: number): ReadonlyMap<string, Layer>
}

export interface TakenSnapshot {
  readonly vm: OutsideVm
  readonly layers: readonly DiskSnapshot[]
}

export interface RevertedVm {
  readonly vm: OutsideVm
  /** NICs that got a new MAC address, because another VM had taken theirs. */
  readonly renewedNicExtIds: readonly string[]
}

/** Guest tools of this control plane. Errors as of `changePower`. */
export interface ExternalGuests {
  /** From the last heartbeat, from memory; undefined: the VM is gone, or its management not connected. */
  guestOf(vmExtId: string): OutsideGuest | undefined
  /** The hypervisor's own tools in the guest, from memory. */
  areToolsRunning(vmExtId: string): boolean
  /** Into the first empty drive, else into a new one if `canAddDrive`. An inserted ISO stays. @returns the VM with its drives */
  insertToolsIso(vmExtId: string, isoExtId: string, canAddDrive: boolean): Promise<OutsideVm>
  /** Removes the drive too if it was added for the ISO. An ISO that is not inserted is no fault. */
  ejectToolsIso(vmExtId: string): Promise<OutsideVm>
  copyTools(vmExtId: string, credential: GuestCredential): Promise<'copied' | 'refused'>
  /** Sets the copied tools up. They start with the next boot. Repeated calls with the same `callKey` do it once. */
  setUpTools(vmExtId: string, callKey: string): Promise<GuestSystem>
  /** Undoes `setUpTools` with the same `callKey`: tools that ran before run again. */
  revertTools(vmExtId: string, callKey: string): Promise<void>
  /** Tools that are switched on again start with the next boot. */
  switchTools(vmExtId: string, isOn: boolean): Promise<void>
  removeTools(vmExtId: string): Promise<void>
}

export interface OutsideGuest {
  /** Absent: the guest has not booted. */
  readonly bootedAt?: number | undefined
  readonly isUp: boolean
  readonly hasAddress: boolean
  readonly areToolsReachable: boolean
  readonly system: GuestSystem
  readonly isoExtId?: string | undefined
}

export type PowerChange = 'GUEST_REBOOT' | 'GUEST_SHUTDOWN' | 'OFF' | 'ON' | 'RESET' | 'SUSPEND'

export interface ExternalInventory {
  readonly clusterExtId: string
  readonly isConnected: boolean
  readonly vms: readonly OutsideVm[]
}

/** The id is stable while the VM is the same outside. */
export type OutsideVm = Omit<
  EntityOf<typeof ExternVm>,
  'categories' | 'nutanixGuestTools' | 'ownershipInfo' | 'tenantId' | 'toolsRebootAt'
>
