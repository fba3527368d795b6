/** Requests by which suites that cover every kind reach rsyslog servers. */
import { created, deleting, requestOf, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { clustermgmt, ids } from '../../support/clustermgmt.ts'
import { updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { Creation, FieldBase, RestartScenario } from '../kind.ts'

const servers = `${clustermgmt}/clusters/${ids.extern}/rsyslog-servers`

/** A receiver of its own for each name; nothing is sent to it. */
const portOf = (name: string): number =>
  1024 + ([...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 60_000, 7) % 60_000)

const body = (serverName: string): object => ({
  ...{ serverName, ipAddress: { ipv4: { value: '10.44.1.9' } }, port: portOf(serverName), networkProtocol: 'UDP' },
})

const creation: Creation = { path: servers, body }

export const creations: Readonly<Record<string, Creation>> = { 'clustermgmt.createRsyslogServer': creation }

const aServer = async (app: TestApp): Promise<string> => `${servers}/${await created(app, creation, 'logs-killed')}`

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.updateRsyslogServerById': [updating(servers, () => body('logs-fields'))],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.create-rsyslog-server': async () => requestOf(creation),
  'clustermgmt.update-rsyslog-server': async (app) => {
    const path = await aServer(app)
    return tagged(app, 'PUT', path, { ...body('logs-killed'), port: 601 })
  },
  'clustermgmt.delete-rsyslog-server': async (app) => deleting(await aServer(app)),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createRsyslogServer: ({ draw }) => walk.post(servers, body(`logs-${draw.of([1, 2, 3, 4])}`)),
}
