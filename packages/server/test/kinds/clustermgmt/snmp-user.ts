/** Requests by which suites that cover every kind reach SNMP users. */
import { completed, requestOf, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { Creation, FieldBase, RestartScenario } from '../kind.ts'
import { snmp } from './snmp-config.ts'

const users = `${snmp}/users`
const keys = { authType: 'SHA', authKey: 'Key.For.Tests.1', privType: 'AES', privKey: 'Key.For.Tests.2' }
const aUser = (app: TestApp): Promise<string> =>
  completed(app, 'POST', users, { body: { username: 'killed', ...keys } })

export const creations = {
  'clustermgmt.createSnmpUser': {
    path: users,
    body: (username) => ({ username, authType: 'SHA', authKey: 'Key.For.Tests.1' }),
  },
} satisfies Record<string, Creation>

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.createSnmpUser': [creating(users, () => ({ username: named(), ...keys }))],
  'clustermgmt.updateSnmpUserById': [updating(users, () => ({ username: named(), ...keys }))],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.create-snmp-user': async () => requestOf(creations['clustermgmt.createSnmpUser']),
  'clustermgmt.update-snmp-user': async (app) =>
    tagged(app, 'PUT', `${users}/${await aUser(app)}`, { username: 'killed', authType: 'MD5' }),
  'clustermgmt.delete-snmp-user': async (app) => ({ method: 'DELETE', path: `${users}/${await aUser(app)}` }),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createSnmpUser: (asking) => walk.post(users, { username: walk.name(asking, 'user'), ...keys }),
}
