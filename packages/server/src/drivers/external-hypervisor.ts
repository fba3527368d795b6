/** Management of an external hypervisor; its VMs can change outside at any time. Source: behaviour vmm.md 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import type { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import type { Run } from './telemetry.ts'

export interface ExternalHypervisor {
  /** Result of the last heartbeat, from memory. */
  isConnected(clusterExtId: string): boolean
  /** The hypervisor's own tools in the guest, from memory. */
  areToolsRunning(vmExtId: string): boolean
  /** Without the VMs of a management that is not connected. */
  inventory(): Promise<readonly ExternalInventory[]>
  /** Returns the end of the watch. A backend without notifications calls `changed` at its polling interval. */
  watch(changed: () => void): () => void
  /**
   * Resolves with the VM in its new state. Repeated calls with the same `callKey` change once; a reset is atomic.
   * @throws DriverError, final, after 30 s without an answer, or when the VM is gone or in the wrong state
   */
  changePower(vmExtId: string, change: PowerChange, callKey: string): Promise<OutsideVm>
  /** Oldest first, as far back as the management remembers. */
  runs(vmExtId: string): Promise<readonly Run[]>
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
