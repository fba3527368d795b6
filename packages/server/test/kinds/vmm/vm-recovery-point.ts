/** Requests by which suites that cover every kind reach VM recovery points. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Asked, completed, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, creating, named, once } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'
import { aFullVm } from './vm.ts'

const points = '/vmm/v4.2/ahv/config/vm-recovery-points'
const vms = '/vmm/v4.2/ahv/config/vms'
const source = seedId('vm/template-source')

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createVmRecoveryPoint': { path: points, body: (name) => ({ name, vmExtId: source }) },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createVmRecoveryPoint': {
    path: '/ahv/config/vm-recovery-points',
    body: { vmExtId: unknown },
    broken: { expirationTime: '2001-01-01T00:00:00Z' },
  },
  'vmm.restoreVmRecoveryPoint': {
    path: async (app) => `${(await aPoint(app)).path.slice('/vmm/v4.2'.length)}/$actions/restore`,
    body: { vmConfigOverrideSpec: { categories: [{ extId: unknown }] } },
    broken: { vmConfigOverrideSpec: { categories: [{ extId: unknown }], name: '../up' } },
  },
}

/** A recovery point of a VM with a disk, a NIC and a category, and the id of the VM. */
async function aPoint(app: TestApp): Promise<{ path: string; extId: string; vm: string }> {
  const vm = await aFullVm(app)
  const extId = await completed(app, 'POST', points, { body: { vmExtId: vm } })
  return { path: `${points}/${extId}`, extId, vm }
}

const type = (name: string): string => `vmm.v4.ahv.config.VmRestoreVirtualEthernetNic${name}OverrideSpec`
const subnet = { extId: seedId('subnet/vlan-100-app') }

/** Restores a point that is made once; `nicSpecOf` gets the id of its NIC. */
const restoring =
  (nicSpecOf: (nicExtId: string) => object): FieldBase =>
  async (app) => {
    const path = await once(app, 'recovery point', () => createdPath(app, points, { vmExtId: source }))
    const { vm } = (await app.call('GET', path)).data
    return {
      path: `${path}/$actions/restore`,
      body: { vmConfigOverrideSpec: { nicSpec: nicSpecOf(vm.nics[0].extId) } },
    }
  }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.createVmRecoveryPoint': [
    creating(points, () => ({ name: named(), vmExtId: source, recoveryPointType: 'APPLICATION_CONSISTENT' })),
  ],
  'vmm.restoreVmRecoveryPoint': [
    restoring((nicExtId) => ({
      nicOverrideList: [{ nicExtId, nicNetworkInfo: { $objectType: type('NetworkInfo'), subnet } }],
    })),
    restoring((nicExtId) => ({
      nicOverrideList: [{ nicExtId, nicBackingInfo: { $objectType: type(''), macAddress: '50:6b:8d:00:03:99' } }],
    })),
    restoring((nicExtId) => ({ nicRemoveList: [nicExtId] })),
  ],
}

const address = (path: string): string =>
  `vmm.restoreVmRecoveryPoint vmConfigOverrideSpec/nicSpec/nicOverrideList/nicNetworkInfo<${type('NetworkInfo').slice('vmm.v4.ahv.config.'.length)}>/ipv4Config/${path}`

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  [address('ipAddress')]: [{ value: '10.10.100.240' }],
  [address('secondaryIpAddressList')]: [{ value: '10.10.100.241' }],
  'vmm.createVmRecoveryPoint expirationTime': ['2199-01-01T00:00:00.000000Z'],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-vm-recovery-point': async (app): Promise<Asked> => ({
    method: 'POST',
    path: points,
    body: { vmExtId: await aFullVm(app) },
  }),
  'vmm.delete-vm-recovery-point': async (app) => ({ method: 'DELETE', path: (await aPoint(app)).path }),
  'vmm.restore-vm-recovery-point': async (app) => {
    const { path } = await aPoint(app)
    return { method: 'POST', path: `${path}/$actions/restore`, body: {} }
  },
  'vmm.revert-vm': async (app) => {
    const { extId, vm } = await aPoint(app)
    const path = `${vms}/${vm}`
    const {
      method,
      path: powerOn,
      ...options
    } = await tagged(app, 'POST', `${path}/$actions/power-on`, undefined, path)
    await completed(app, method, powerOn, options)
    return tagged(app, 'POST', `${path}/$actions/revert`, { vmRecoveryPointExtId: extId }, path)
  },
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVmRecoveryPoint: (asking) =>
    walk.post(points, {
      vmExtId: asking.model.extId(asking.draw, walk.collections.vms),
      name: walk.name(asking, 'point'),
    }),
  restoreVmRecoveryPoint: walk.acting(points, 'restore', () => ({})),
  deleteVmRecoveryPoint: walk.removing(points),
  revertVm: async (asking) => {
    const point = asking.model.path(asking.draw, points)
    const vm = `${walk.collections.vms}/${(await asking.read(point))?.data.vmExtId ?? unknown}`
    return walk.tagged(asking, 'POST', `${vm}/$actions/revert`, { vmRecoveryPointExtId: walk.lastOf(point) }, vm)
  },
}

export const walkEntities = { [points]: ['recovery-point/db-01/60', 'recovery-point/db-01/36'] }

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'vmm.revert-vm': 'the VM was powered off first',
}
