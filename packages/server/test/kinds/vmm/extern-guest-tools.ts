/** Requests by which suites that cover every kind reach the guest tools of external VMs. */
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

const later = { scheduleType: 'LATER', schedule: { startTime: '2099-01-01T00:00:00Z' } }
const installing =
  (rebootPreference?: object): FieldBase =>
  async (app) => {
    const { data } = await app.call('GET', tools)
    if (data.isInstalled === true) {
      if (data.isReachable !== true) await app.clock.advance(1000)
      await externToolsDone(app, 'uninstall')
    }
    return {
      path: `${tools}/$actions/install`,
      readPath: externPath(erp),
      body: { credential, ...(rebootPreference === undefined ? {} : { rebootPreference }) },
    }
  }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.extern.updateNutanixGuestToolsById': [at(tools, { isEnabled: true })],
  'vmm.extern.installNutanixGuestTools': [installing(), installing(later)],
}
