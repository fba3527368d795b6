/** Requests by which suites that cover every kind reach the guest tools of external VMs. */
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import type { OutsideVmFact } from '../../../src/drivers/simulated/external-facts.ts'
import { outsideVms } from '../../../src/drivers/simulated/external-hypervisor.ts'
import { type Asked, tagged } from '../../restart/asked.ts'
import {
  anEmptyDrive,
  erp,
  externPath,
  externToolsDone,
  externToolsPath,
  withExternTools,
} from '../../support/extern-tools.ts'
import { at } from '../../support/field-bases.ts'
import { credential, install } from '../../support/guest-tools.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'

const tools = externToolsPath(erp)
const asked = (app: TestApp, action: string, body?: object): Promise<Asked> =>
  tagged(app, 'POST', `${tools}/$actions/${action}`, body, externPath(erp))

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.insert-guest-tools-of-external-vm': async (app) => {
    await anEmptyDrive(app)
    return asked(app, 'insert-iso', { capabilities: ['VSS_SNAPSHOT'] })
  },
  'vmm.install-guest-tools-of-external-vm': (app) => asked(app, 'install', install),
  'vmm.upgrade-guest-tools-of-external-vm': async (app) => {
    await withExternTools(app, '4.0')
    return asked(app, 'upgrade', { rebootPreference: { scheduleType: 'IMMEDIATE' } })
  },
  'vmm.uninstall-guest-tools-of-external-vm': async (app) => {
    await withExternTools(app)
    return asked(app, 'uninstall')
  },
  'vmm.update-guest-tools-of-external-vm': async (app) => {
    await withExternTools(app)
    return tagged(app, 'PUT', tools, { isEnabled: false, capabilities: ['VSS_SNAPSHOT'] })
  },
  // Installed, with a reboot that the clock reaches.
  'vmm.reboot-external-vm-for-guest-tools': async (app) => {
    const startTime = new Date(app.clock.now() + 3_600_000).toISOString()
    await externToolsDone(app, 'install', {
      credential,
      rebootPreference: { scheduleType: 'LATER', schedule: { startTime } },
    })
    await app.clock.advance(3_590_000)
    const path = '/control/v1/worlds/default/clock/$actions/advance'
    return { method: 'POST', path, body: { duration: 'PT30S' } }
  },
}

/** As before any installation, with an empty drive. */
async function withoutTools(app: TestApp): Promise<void> {
  const { tools: _tools, toolsIso: _iso, ...fact } = outsideVms(app.world).get(erp) as OutsideVmFact
  await outsideVms(app.world).put(erp, fact)
  const none = { nutanixGuestTools: undefined, toolsRebootAt: undefined } as object
  await app.store.transaction((store) => store.observe(ExternVm, erp, none))
  await anEmptyDrive(app)
}

const later = { scheduleType: 'LATER', schedule: { startTime: '2099-01-01T00:00:00Z' } }
const installing =
  (rebootPreference?: object): FieldBase =>
  async (app) => {
    await withoutTools(app)
    const body = { credential, ...(rebootPreference === undefined ? {} : { rebootPreference }) }
    return { path: `${tools}/$actions/install`, body }
  }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.extern.updateNutanixGuestToolsById': [at(tools, { isEnabled: true })],
  'vmm.extern.insertNutanixGuestTools': [
    async (app) => {
      await withoutTools(app)
      return { path: `${tools}/$actions/insert-iso`, body: {} }
    },
  ],
  'vmm.extern.installNutanixGuestTools': [installing(), installing(later)],
  'vmm.extern.upgradeNutanixGuestTools': [
    async (app) => {
      await withoutTools(app)
      await withExternTools(app, '4.0')
      return { path: `${tools}/$actions/upgrade`, body: { rebootPreference: later } }
    },
  ],
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'vmm.install-guest-tools-of-external-vm': 'the guest was rebooted',
  'vmm.upgrade-guest-tools-of-external-vm': 'the guest was rebooted',
}
