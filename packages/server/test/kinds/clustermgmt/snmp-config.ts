/** Requests by which suites that cover every kind reach the SNMP agent of a cluster. */
import * as walk from '../../restart/walks/request-parts.ts'
import { clustermgmt } from '../../support/clustermgmt.ts'
import { type FieldBase, nativeCluster, type RestartScenario } from '../kind.ts'

export const snmp = `${clustermgmt}/clusters/${nativeCluster}/snmp`
const action = (name: string): string => `${snmp}/$actions/${name}`

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.addSnmpTransport': [
    async () => ({ path: action('add-transports'), readPath: snmp, body: { protocol: 'UDP', port: 1161 } }),
  ],
  'clustermgmt.removeSnmpTransport': [
    async (app) => {
      const body = { protocol: 'TCP', port: 1161 }
      await app.task(await app.call('POST', action('add-transports'), { body }))
      return { path: action('remove-transports'), readPath: snmp, body }
    },
  ],
  'clustermgmt.updateSnmpStatus': [
    async () => ({ path: action('update-status'), readPath: snmp, body: { isEnabled: true } }),
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.add-snmp-transport': async () => ({
    method: 'POST',
    path: action('add-transports'),
    body: { protocol: 'TCP', port: 161 },
  }),
  'clustermgmt.remove-snmp-transport': async (app) => {
    const body = { protocol: 'TCP', port: 161 }
    await app.task(await app.call('POST', action('add-transports'), { body }))
    return { method: 'POST', path: action('remove-transports'), body }
  },
  'clustermgmt.update-snmp-status': async () => ({
    method: 'POST',
    path: action('update-status'),
    body: { isEnabled: false },
  }),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  disableSnmp: () => walk.post(action('update-status'), { isEnabled: false }),
}
