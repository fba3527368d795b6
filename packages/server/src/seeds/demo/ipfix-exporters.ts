/** The exporter of the demo. Source: behaviour networking.md 4. */
import { IpfixExporter } from '@hyperplane/contract/networking/ipfix-exporter'
import { seedId } from '../../core/ids/named-id.ts'
import { type ExporterEntity, exporterProgramOf } from '../../domains/networking/exporter-program.ts'
import { exporterFacts } from '../../drivers/simulated/flow-exporters.ts'
import type { SeedContext } from '../context.ts'

export async function seedExportersDemo(ctx: SeedContext): Promise<void> {
  const exporter: ExporterEntity = {
    tenantId: ctx.tenantId,
    extId: seedId('ipfix-exporter/flows'),
    name: 'flows',
    description: 'Flow records of all hosts',
    collectorIp: '10.44.1.50',
    collectorPort: 4739,
    protocol: 'UDP',
    exportScopes: [{ scopeType: 'PC', uuid: ctx.managerExtId, ipFamily: 'BOTH' }],
    metadata: { ownerReferenceId: ctx.adminId, ownerUserName: 'admin' },
  }
  await ctx.store.insert(IpfixExporter, exporter)
  await exporterFacts(ctx.world).put(exporter.extId, await exporterProgramOf(ctx.store, exporter))
}
