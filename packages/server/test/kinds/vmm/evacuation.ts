/** The tasks of VMs that leave a host and come back to it are subtasks of its maintenance. */
import { entering, leaving } from '../clustermgmt/host-maintenance.ts'
import type { RestartScenario } from '../kind.ts'

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.leave-host': entering,
  'vmm.move-to-host': leaving,
  'vmm.stop-for-maintenance': entering,
}
