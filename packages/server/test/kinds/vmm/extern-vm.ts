/** Requests by which suites that cover every kind reach VMs of ESX clusters. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { tagged } from '../../restart/asked.ts'
import type { FactOwner, RestartScenario } from '../kind.ts'

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.change-power-of-external-vm': (app) => {
    const vm = `/vmm/v4.2/extern/config/vms/${seedId('extern-vm/legacy-test')}`
    return tagged(app, 'POST', `${vm}/$actions/power-on`, undefined, vm)
  },
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'extern.clusters': 'nobody',
  'extern.faults': 'nobody',
  'extern.vms': ({ ids }) => ids('ExternVm'),
}
