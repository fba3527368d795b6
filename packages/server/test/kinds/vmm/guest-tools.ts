/** Requests by which suites that cover every kind reach the guest tools of VMs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Asked, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { at } from '../../support/field-bases.ts'
import {
  aBootedVm,
  aVmWithDrive,
  credential,
  install,
  setVersion,
  toolsDone,
  toolsPath,
} from '../../support/guest-tools.ts'
import { aNativeCluster } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'

const vmPath = (vm: string): string => toolsPath(vm).slice(0, -'/guest-tools'.length)
const booted = async (app: TestApp): Promise<string> => aBootedVm(app, await aNativeCluster(app))
/** With tools that answer. */
async function withTools(app: TestApp): Promise<string> {
  const vm = await booted(app)
  await toolsDone(app, vm, 'install', install)
  await app.clock.advance(1000)
  return vm
}
async function withOlderTools(app: TestApp): Promise<string> {
  const vm = await withTools(app)
  await setVersion(app, vm, '4.0')
  return vm
}
const asked = (app: TestApp, vm: string, action: string, body?: object): Promise<Asked> =>
  tagged(app, 'POST', `${toolsPath(vm)}/$actions/${action}`, body, vmPath(vm))

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.insert-vm-guest-tools': async (app) => {
    const vm = await aVmWithDrive(app, await aNativeCluster(app))
    return asked(app, vm, 'insert-iso', { capabilities: ['VSS_SNAPSHOT'] })
  },
  'vmm.install-vm-guest-tools': async (app) => asked(app, await booted(app), 'install', install),
  'vmm.upgrade-vm-guest-tools': async (app) =>
    asked(app, await withOlderTools(app), 'upgrade', { rebootPreference: { scheduleType: 'IMMEDIATE' } }),
  'vmm.uninstall-vm-guest-tools': async (app) => asked(app, await withTools(app), 'uninstall'),
  'vmm.update-guest-tools': async (app) => {
    const vm = await withTools(app)
    return tagged(app, 'PUT', toolsPath(vm), { isEnabled: false, capabilities: ['VSS_SNAPSHOT'] })
  },
  // Installed, with a reboot that the clock reaches.
  'vmm.reboot-for-guest-tools': async (app) => {
    const vm = await booted(app)
    const startTime = new Date(app.clock.now() + 3_600_000).toISOString()
    await toolsDone(app, vm, 'install', {
      credential,
      rebootPreference: { scheduleType: 'LATER', schedule: { startTime } },
    })
    await app.clock.advance(3_590_000)
    const path = '/control/v1/worlds/default/clock/$actions/advance'
    return { method: 'POST', path, body: { duration: 'PT30S' } }
  },
}

const installing =
  (rebootPreference?: object): FieldBase =>
  async (app) => ({
    path: `${toolsPath(await booted(app))}/$actions/install`,
    body: { credential, ...(rebootPreference === undefined ? {} : { rebootPreference }) },
  })

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateGuestToolsById': [at(toolsPath(seedId('vm/template-source')), { isEnabled: true })],
  'vmm.insertVmGuestTools': [
    async (app) => ({
      path: `${toolsPath(await aVmWithDrive(app, await aNativeCluster(app)))}/$actions/insert-iso`,
      body: {},
    }),
    async (app) => {
      const vm = await withTools(app)
      return { path: `${toolsPath(vm)}/$actions/insert-iso`, body: { isConfigOnly: true } }
    },
  ],
  'vmm.installVmGuestTools': [
    installing(),
    installing({ scheduleType: 'LATER', schedule: { startTime: '2099-01-01T00:00:00Z' } }),
  ],
  'vmm.upgradeVmGuestTools': [
    async (app) => ({
      path: `${toolsPath(await withOlderTools(app))}/$actions/upgrade`,
      body: { rebootPreference: { scheduleType: 'LATER', schedule: { startTime: '2099-01-01T00:00:00Z' } } },
    }),
  ],
}

const toolsRequest =
  (action: string, body?: (asking: walk.Asking) => object): walk.Builder =>
  (asking) => {
    const vm = asking.model.path(asking.draw, walk.collections.vms)
    return walk.tagged(asking, 'POST', `${vm}/guest-tools/$actions/${action}`, body?.(asking), vm)
  }
const rebootOf = ({ model, draw }: walk.Asking): object => {
  const startTime = new Date(model.time + 1_800_000).toISOString()
  return draw.of([
    { scheduleType: 'IMMEDIATE' },
    { scheduleType: 'LATER', schedule: { startTime } },
    { scheduleType: 'SKIP' },
  ])
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  insertVmGuestTools: toolsRequest('insert-iso', ({ draw }) => ({ isConfigOnly: draw.isOneIn(3) })),
  installVmGuestTools: toolsRequest('install', (asking) => ({
    credential: { username: 'root', password: walk.walkersPassword },
    rebootPreference: rebootOf(asking),
  })),
  upgradeVmGuestTools: toolsRequest('upgrade', (asking) => ({ rebootPreference: rebootOf(asking) })),
  uninstallVmGuestTools: toolsRequest('uninstall'),
  switchGuestTools: (asking) => {
    const vm = asking.model.path(asking.draw, walk.collections.vms)
    return walk.tagged(asking, 'PUT', `${vm}/guest-tools`, { isEnabled: asking.draw.isOneIn(2) }, vm)
  },
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'vmm.install-vm-guest-tools': 'the guest was rebooted',
  'vmm.upgrade-vm-guest-tools': 'the guest was rebooted',
}
