/** The tasks of VMs that leave a host and come back to it are subtasks of its maintenance. */
import { entering, leaving } from '../clustermgmt/host-maintenance.ts'
import type { RestartScenario } from '../kind.ts'

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.leave-host': entering,
  'vmm.move-to-host': leaving,
  'vmm.stop-for-maintenance': entering,
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'vmm.move-to-host': 'the maintenance that started it has ended, and the VM is on another host',
  'vmm.stop-for-maintenance': 'the journal of power says that other VMs moved and came back',
}
