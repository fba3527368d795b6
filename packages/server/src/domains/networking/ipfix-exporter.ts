/** Source: behaviour networking.md 1.17, 1.22. */
import type { BodyOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { IpfixExporter, ipfixExporterOperations } from '@hyperplane/contract/networking/ipfix-exporter'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { affected, bodyRules, implement, mayRefer, type WriteContext } from '../context.ts'
import { limit } from '../limits.ts'
import { type ExporterEntity, exporterProgramOf, followHosts } from './exporter-program.ts'
import { invalidField } from './ip-config.ts'
import { lifecycle, refuseBeyond } from './lifecycle.ts'

type ExporterBody = BodyOf<typeof IpfixExporter>
type Collector = Pick<ExporterBody, 'collectorIp' | 'collectorPort' | 'exportScopes'>

/** Source: behaviour networking.md 3.5. */
const maximumExporters = limit('ipfixExporters', 8)

const exporters = lifecycle<ExporterEntity, ExporterBody, void>(IpfixExporter, {
  phases: [
    {
      create: ['configure hosts', 100, [0.1, 0.6]],
      update: ['configure hosts', 100, [0.1, 0.6]],
      delete: ['remove from hosts', 100, [0.1, 0.6]],
      program: async ({ drivers, store }, exporter) =>
        drivers.networkFabric.programExporter(await exporterProgramOf(store, exporter)),
      remove: ({ drivers }, { extId }) => drivers.networkFabric.removeExporter(extId),
    },
  ],
  resolve: refuseUnknownScopes,
  async configure(ctx, { entity, stored }) {
    const all = await ctx.store.find(IpfixExporter)
    if (stored === undefined) refuseBeyond(ctx, maximumExporters, 'IPFIX exporters', all.length + 1)
    refuseSameExport(entity, all)
    return { collectorIp: canonical(entity.collectorIp) }
  },
  async task({ store }, { exportScopes }) {
    const scopes = exportScopes.filter(({ scopeType }) => scopeType === 'PE')
    const clusters = await store.getMany(Cluster, [...new Set(scopes.map(({ uuid }) => uuid))])
    return {
      affected: clusters.map((each) => affected(Cluster, each)),
      ...(clusters.length === 1 && { clusterExtIds: clusters.map(({ extId }) => extId) }),
    }
  },
  unique: { fields: ['name'], among: ({ store }) => store.find(IpfixExporter), text: () => 'name' },
})

const exporterFaults = ({ exportScopes }: ExporterBody): readonly ApiError[] =>
  exportScopes.flatMap(({ uuid }, index) =>
    exportScopes.findIndex((other) => other.uuid === uuid) < index
      ? [invalidField(`exportScopes[${index}]/uuid`, 'expected distinct scopes')]
      : [],
  )

export const ipfixExporter = implement(
  ipfixExporterOperations,
  {
    createIpfixExporter: exporters.create,
    updateIpfixExporterById: exporters.update,
    deleteIpfixExporterById: exporters.remove,
  },
  {
    rules: bodyRules('createIpfixExporter, updateIpfixExporterById', exporterFaults),
    tasks: exporters.tasks,
    schedules: [followHosts],
    limits: [maximumExporters],
  },
)

/** @throws ApiError 404 for managers and clusters that the caller cannot see */
async function refuseUnknownScopes(
  ctx: WriteContext,
  { name, exportScopes }: ExporterBody,
  stored: ExporterEntity | undefined,
): Promise<void> {
  const storedScopes = new Set(stored?.exportScopes.map(({ uuid }) => uuid))
  const faults: ApiError[] = []
  for (const [index, { scopeType, uuid }] of exportScopes.entries()) {
    const kind = scopeType === 'PC' ? DomainManager : Cluster
    const found = await ctx.store.get(kind, uuid)
    if (found !== undefined && (storedScopes.has(uuid) || (await mayRefer(ctx, kind, found)))) continue
    const values = { kind: IpfixExporter.title, name, referencedKind: kind.title, referencedExtId: uuid }
    const extra = { attributePath: `exportScopes[${index}]/uuid` }
    faults.push(new ApiError('NETWORKING_REFERENCE_NOT_FOUND', { verb: ctx.operation.verb, ...values }, { extra }))
  }
  refuseAll(faults)
}

/** The pattern admits leading zeros. */
const canonical = (address: string): string => address.split('.').map(Number).join('.')

/** Compares with running updates of other exporters, too. @throws ApiError 409 */
function refuseSameExport(exporter: ExporterEntity, all: readonly ExporterEntity[]): void {
  const keysOf = ({ collectorIp, collectorPort, exportScopes }: Partial<Collector>): readonly string[] =>
    (exportScopes ?? []).map(({ uuid }) => `${canonical(collectorIp ?? '')} ${collectorPort} ${uuid}`)
  const wanted = new Set(keysOf(exporter))
  for (const other of all) {
    if (other.extId === exporter.extId) continue
    if (![...keysOf(other), ...keysOf(other.change ?? {})].some((key) => wanted.has(key))) continue
    const kind = IpfixExporter.title
    throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind, fields: 'collector, port and scope' })
  }
}
