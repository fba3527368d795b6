/** Requests by which suites that cover every kind reach VMs of ESX clusters. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Asked, completed, tagged } from '../../restart/asked.ts'
import { at } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type FactOwner, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const externVms = '/extern/config/vms'
const spare = `${externVms}/${seedId('extern-vm/legacy-test')}`
const erp = `/vmm/v4.2${externVms}/${seedId('extern-vm/legacy-erp')}`
const category = { categories: [{ extId: seedId('category/Environment/Dev') }] }

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.extern.assignVmOwner': {
    path: `${spare}/$actions/assign-owner`,
    body: { owner: { extId: unknown } },
    broken: { owner: {} },
  },
  'vmm.extern.associateCategories': {
    path: `${spare}/$actions/associate-categories`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{}] },
  },
  'vmm.extern.disassociateCategories': {
    path: `${spare}/$actions/disassociate-categories`,
    body: { categories: [{ extId: unknown }] },
    broken: { categories: [{}] },
  },
}

const points = '/vmm/v4.2/ahv/config/vm-recovery-points'
const aPoint = (app: TestApp): Promise<string> =>
  completed(app, 'POST', points, { body: { vmExtId: seedId('extern-vm/legacy-erp') } })

const aUser = async (app: TestApp): Promise<string> =>
  (await app.call('GET', '/iam/v4.1.b2/authn/users')).data.find(({ username }: any) => username !== 'admin').extId

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.extern.assignVmOwner': [
    async (app) => ({ path: `${erp}/$actions/assign-owner`, body: { owner: { extId: await aUser(app) } } }),
  ],
  'vmm.extern.associateCategories': [at(`${erp}/$actions/associate-categories`, category)],
  'vmm.extern.disassociateCategories': [at(`${erp}/$actions/disassociate-categories`, category)],
  'vmm.extern.revertVm': [
    async (app) => ({ path: `${erp}/$actions/revert`, body: { vmRecoveryPointExtId: await aPoint(app) } }),
  ],
}

const asking = (action: string, body: object): Asked => ({ method: 'POST', path: `${erp}/$actions/${action}`, body })

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.change-power-of-external-vm': (app) => {
    const vm = `/vmm/v4.2/extern/config/vms/${seedId('extern-vm/legacy-test')}`
    return tagged(app, 'POST', `${vm}/$actions/power-on`, undefined, vm)
  },
  'vmm.assign-owner-of-external-vm': async (app) =>
    asking('assign-owner', { owner: { entityType: 'USER', extId: await aUser(app) } }),
  'vmm.associate-categories-of-external-vm': async () => asking('associate-categories', category),
  'vmm.disassociate-categories-of-external-vm': async (app) => {
    await completed(app, 'POST', `${erp}/$actions/associate-categories`, { body: category })
    return asking('disassociate-categories', category)
  },
  'vmm.create-recovery-point-of-external-vm': async () => ({
    method: 'POST',
    path: points,
    body: { vmExtId: seedId('extern-vm/legacy-erp') },
  }),
  'vmm.delete-recovery-point-of-external-vm': async (app) => ({
    method: 'DELETE',
    path: `${points}/${await aPoint(app)}`,
  }),
  'vmm.revert-external-vm': async (app) =>
    tagged(app, 'POST', `${erp}/$actions/revert`, { vmRecoveryPointExtId: await aPoint(app) }, erp),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'extern.clusters': 'nobody',
  'extern.faults': 'nobody',
  'extern.vms': ({ ids }) => ids('ExternVm'),
}
