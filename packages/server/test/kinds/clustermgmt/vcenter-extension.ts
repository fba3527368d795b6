/** Requests by which suites that cover every kind reach extensions in vCenters. */

import { vcenterExtensionId, vcenterLogin } from '../../../src/seeds/demo/vcenters.ts'
import { clustermgmt, ids } from '../../support/clustermgmt.ts'
import { at } from '../../support/field-bases.ts'
import type { FactOwner, FieldBase, RestartScenario } from '../kind.ts'

const path = `${clustermgmt}/vcenter-extensions/${vcenterExtensionId(ids.extern)}/$actions`

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.registerVcenterExtension': [at(`${path}/register`, vcenterLogin)],
  'clustermgmt.unregisterVcenterExtension': [at(`${path}/unregister`, vcenterLogin)],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.register-vcenter': async (app) => {
    await app.task(await app.call('POST', `${path}/unregister`, { body: vcenterLogin, requestId: crypto.randomUUID() }))
    return { method: 'POST', path: `${path}/register`, body: vcenterLogin }
  },
  'clustermgmt.unregister-vcenter': async () => ({ method: 'POST', path: `${path}/unregister`, body: vcenterLogin }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'extern.vcenters': ({ ids }) => ids('Cluster'),
}
