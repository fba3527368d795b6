/** Requests by which suites that cover every kind reach baseboard controllers. */

import { tagged } from '../../restart/asked.ts'
import { clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { at } from '../../support/field-bases.ts'
import type { FactOwner, FieldBase, RestartScenario } from '../kind.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.updateBmcInfo': [at(`${clustermgmt}/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}/bmc-info`)],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.update-bmc-info': (app) =>
    tagged(app, 'PUT', `${clustermgmt}/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}/bmc-info`, {
      credential: { username: 'operator', password: 'N0t.The.Right.One' },
    }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.bmcs': ({ machines }) => machines(),
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'clustermgmt.update-bmc-info': 'the credential is stored whatever the probe finds',
}
