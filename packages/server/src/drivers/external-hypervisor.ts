/**
 * The management of an external hypervisor, which owns its VMs: others may change them at any time. Implemented by
 * `simulated/` and by each real backend.
 * Source: behaviour vmm.md 1.7.
 */
import type { EntityOf } from '@hyperplane/contract'
import type { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import type { Run } from './telemetry.ts'

export interface ExternalHypervisor {
  /** The result of the last heartbeat of the cluster's management. Answers at once, from memory. */
  isConnected(clusterExtId: string): boolean
  /** The hypervisor's own tools run in the guest, as far as its management knows. Answers at once, from memory. */
  areToolsRunning(vmExtId: string): boolean
  /** The current inventory of each management; without VMs while a management is not connected. */
  inventory(): Promise<readonly ExternalInventory[]>
  /**
   * Calls `changed` when the inventory may show something new; the answer ends that. A management that tells nobody has it
   * called as often as it wants to be asked.
   */
  watch(changed: () => void): () => void
  /**
   * Asks the management for the change, and resolves when the VM has the new state, which it answers. The same `callKey`
   * changes once. A reset is one call: nothing comes between off and on.
   * @throws DriverError, final, after 30 s without an answer, or when the VM is gone or in no state for it
   */
  changePower(vmExtId: string, change: PowerChange, callKey: string): Promise<OutsideVm>
  /** When the VM ran, oldest first, as far back as the management remembers. */
  runs(vmExtId: string): Promise<readonly Run[]>
}

export type PowerChange = 'GUEST_REBOOT' | 'GUEST_SHUTDOWN' | 'OFF' | 'ON' | 'RESET' | 'SUSPEND'

export interface ExternalInventory {
  readonly clusterExtId: string
  readonly isConnected: boolean
  readonly vms: readonly OutsideVm[]
}

/** A VM as its management shows it. The id stays as long as it is the same VM outside. */
export type OutsideVm = Omit<
  EntityOf<typeof ExternVm>,
  'categories' | 'nutanixGuestTools' | 'ownershipInfo' | 'tenantId'
>
