/** Sends flow records of hosts to a collector (RFC 7011). Source: catalogue networking.json; behaviour networking.md 1.17, 2. */
import { create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { mirrorReaders, mirrorWriters, mutationRate } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, nameText, ownAttributes } from './shapes.ts'

export const ExportScope = s.object('networking.v4.config.ExportScope', {
  /** PC: all clusters of the manager; PE: one cluster. */
  scopeType: s.enumeration(['PC', 'PE']),
  // Not a reference: a cluster that leaves takes its scope along.
  uuid: s.uuid(),
  ipFamily: s.withDefault(s.enumeration(['V4', 'V6', 'BOTH']), 'BOTH'),
})
const collector = {
  collectorIp: s.text({
    pattern: '^(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)\\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9][0-9]?)$',
  }),
  collectorPort: s.integer({ minimum: 1, maximum: 65535 }),
  exportScopes: s.arrayOf(ExportScope, { minItems: 1, maxItems: 64 }),
}

export const IpfixExporter = resource('networking.v4.config.IPFIXExporter', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    ...collector,
    protocol: s.enumeration(['TCP', 'UDP', 'TLS_TCP']),
    exportRateLimitPerNodeBps: s.optional(s.integer({ minimum: 1000 })),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    change: changeHolding({
      name: s.optional(s.text()),
      collectorIp: s.optional(collector.collectorIp),
      collectorPort: s.optional(collector.collectorPort),
      exportScopes: s.optional(collector.exportScopes),
    }),
  },
  unique: [{ fields: ['name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  iam: ownAttributes,
  ofCluster: { stays: 'an exporter loses the scope of a cluster that leaves' },
})

const mutation = { roles: mirrorWriters, rateLimit: mutationRate }
const view = { roles: mirrorReaders }
const entity = '/config/ipfix-exporters/{extId}'

export const ipfixExporterOperations = {
  listIpfixExporters: list('/config/ipfix-exporters', IpfixExporter, {
    ...view,
    filter: ['collectorIp', 'extId', 'name'],
    orderby: ['collectorIp', 'name'],
  }),
  createIpfixExporter: create('/config/ipfix-exporters', IpfixExporter, mutation),
  getIpfixExporterById: get(entity, IpfixExporter, view),
  updateIpfixExporterById: update(entity, IpfixExporter, mutation),
  deleteIpfixExporterById: remove(entity, IpfixExporter, mutation),
}
