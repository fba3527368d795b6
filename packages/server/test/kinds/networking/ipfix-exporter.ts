/** Requests by which suites that cover every kind reach IPFIX exporters. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { creating, named, once, updating } from '../../support/field-bases.ts'
import { clusterScope, exporterBody, exporters } from '../../support/ipfix-exporters.ts'
import { made } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

let lastPort = 10_000
const onOwnPort = (name: string): object => exporterBody(name, { collectorPort: ++lastPort })

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createIpfixExporter': { path: exporters, body: onOwnPort },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createIpfixExporter': {
    path: '/config/ipfix-exporters',
    body: exporterBody('by-order', { exportScopes: [clusterScope(unknown)] }),
    broken: { exportScopes: [clusterScope(unknown), clusterScope(unknown)] },
  },
  'networking.updateIpfixExporterById': {
    path: `/config/ipfix-exporters/${seedId('ipfix-exporter/flows')}`,
    body: exporterBody('by-order', { exportScopes: [clusterScope(unknown)] }),
    broken: { exportScopes: [clusterScope(unknown), clusterScope(unknown)] },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-ipfix-exporter': async () => ({ method: 'POST', path: exporters, body: exporterBody('killed') }),
  'networking.delete-ipfix-exporter': async (app) => deleting(await made(app, exporters, exporterBody('killed'))),
  'networking.update-ipfix-exporter': async (app) =>
    changing(app, await made(app, exporters, exporterBody('killed')), { collectorPort: 4740 }),
}

const limited = () => exporterBody(named(), { collectorPort: ++lastPort, exportRateLimitPerNodeBps: 5000 })

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createIpfixExporter': [creating(exporters, limited)],
  'networking.updateIpfixExporterById': [
    updating(exporters, limited),
    async (app) => ({
      path: await once(app, 'exporter of a cluster', () => made(app, exporters, limited())),
      body: exporterBody(named(), {
        collectorIp: '192.0.2.11',
        collectorPort: ++lastPort,
        exportScopes: [{ scopeType: 'PC', uuid: seedId('manager'), ipFamily: 'V4' }],
      }),
    }),
  ],
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.exporter': ({ ids }) => ids('IPFIXExporter'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createExporter: (asking) =>
    walk.post(exporters, exporterBody(walk.name(asking, 'exporter'), { collectorPort: asking.draw.of([4739, 4740]) })),
  changeExporter: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, exporters), { collectorPort: asking.draw.of([4739, 4740]) }),
  deleteExporter: walk.removing(exporters),
}

export const walkEntities = { [exporters]: ['ipfix-exporter/flows'] }
