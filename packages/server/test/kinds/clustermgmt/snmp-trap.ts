/** Requests by which suites that cover every kind reach SNMP traps. */
import { completed, requestOf, tagged } from '../../restart/asked.ts'
import { creating, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { ip } from '../../support/vpcs.ts'
import type { Creation, FieldBase, RestartScenario } from '../kind.ts'
import { snmp } from './snmp-config.ts'

const traps = `${snmp}/traps`
let last = 10_000
const aPort = (): number => ++last
const aTrap = (app: TestApp): Promise<string> =>
  completed(app, 'POST', traps, { body: { address: ip('10.9.9.8'), version: 'V2' } })

export const creations = {
  'clustermgmt.createSnmpTrap': {
    path: traps,
    body: () => ({ address: ip('10.9.9.9'), port: aPort(), version: 'V2' }),
  },
} satisfies Record<string, Creation>

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.createSnmpTrap': [
    creating(traps, () => ({ address: ip('10.9.9.9'), port: aPort(), version: 'V3', username: 'monitor' })),
  ],
  'clustermgmt.updateSnmpTrapById': [
    updating(traps, () => ({ address: ip('10.9.9.9'), port: aPort(), version: 'V2' })),
    updating(traps, () => ({ address: ip('10.9.9.9'), port: aPort(), version: 'V3', username: 'monitor' })),
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.create-snmp-trap': async () => requestOf(creations['clustermgmt.createSnmpTrap']),
  'clustermgmt.update-snmp-trap': async (app) =>
    tagged(app, 'PUT', `${traps}/${await aTrap(app)}`, { address: ip('10.9.9.8'), version: 'V2', port: 1162 }),
  'clustermgmt.delete-snmp-trap': async (app) => ({ method: 'DELETE', path: `${traps}/${await aTrap(app)}` }),
}
