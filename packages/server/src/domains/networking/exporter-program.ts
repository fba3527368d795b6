/** Configuration of an exporter on its hosts. Source: behaviour networking.md 1.17. */

import { isDeepStrictEqual } from 'node:util'
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { IpfixExporter } from '@hyperplane/contract/networking/ipfix-exporter'
import type { ExporterProgram } from '../../drivers/flow-exporting.ts'
import type { Reader } from '../../store/store.ts'
import { DriverError, type Schedule, type ScheduleContext } from '../context.ts'
import { agentHosts } from './controller-tasks.ts'

export type ExporterEntity = EntityOf<typeof IpfixExporter>
type Scope = ExporterEntity['exportScopes'][number]
export async function exporterProgramOf(store: Reader, exporter: ExporterEntity): Promise<ExporterProgram> {
  const { extId, collectorIp, collectorPort, exportScopes, protocol } = exporter
  const { exportRateLimitPerNodeBps: bitsPerSecond } = exporter
  const hosts = (await agentHosts(store)).flatMap(({ extId: hostExtId, cluster }) => {
    const families = familiesOf(
      exportScopes.filter(({ scopeType, uuid }) => scopeType === 'PC' || uuid === cluster?.uuid),
    )
    return families.length === 0 ? [] : [{ hostExtId: hostExtId!, families }]
  })
  const collector = { address: collectorIp, port: collectorPort, ...(protocol !== 'UDP' && { protocol }) }
  return { extId, collector, hosts, ...(bitsPerSecond !== undefined && { bitsPerSecond }) }
}

function familiesOf(scopes: readonly Scope[]): readonly ('IPV4' | 'IPV6')[] {
  const has = (family: 'V4' | 'V6'): boolean =>
    scopes.some(({ ipFamily = 'BOTH' }) => ipFamily === 'BOTH' || ipFamily === family)
  return [...(has('V4') ? ['IPV4' as const] : []), ...(has('V6') ? ['IPV6' as const] : [])]
}

/** After a change of hosts or clusters. A leaving cluster takes its scope along. */
export const followHosts: Schedule = {
  name: 'networking.follow-exporter-hosts',
  everySeconds: 2,
  watch: ({ store }, changed) => store.watch([IpfixExporter, Cluster, Host], changed),
  async run(ctx) {
    let isWaiting = false
    for (const exporter of await ctx.store.find(IpfixExporter)) {
      // The task of this exporter programs the hosts itself, and its end triggers the next run.
      if (exporter.change === undefined && !(await follow(ctx, exporter))) isWaiting = true
    }
    if (isWaiting) return 'again'
  },
}

/** @returns false when a host does not answer; the schedule then tries again */
async function follow({ store, drivers }: ScheduleContext, exporter: ExporterEntity): Promise<boolean> {
  const clusters = new Set((await store.find(Cluster)).map(({ extId }) => extId))
  const exportScopes = exporter.exportScopes.filter(({ scopeType, uuid }) => scopeType === 'PC' || clusters.has(uuid))
  if (exportScopes.length < exporter.exportScopes.length)
    await store.transaction(async (transaction) => {
      const present = await transaction.get(IpfixExporter, exporter.extId)
      // If a task has begun since, the exporter is programmed again at the end of that task.
      if (present?.change === undefined && present !== undefined)
        await transaction.update(IpfixExporter, exporter.extId, { exportScopes })
    })
  try {
    const program = await exporterProgramOf(store, { ...exporter, exportScopes })
    const programmed = await drivers.networkFabric.exporter(exporter.extId)
    if (programmed !== undefined && !isDeepStrictEqual(programmed, program))
      await drivers.networkFabric.programExporter(program)
    return true
  } catch (error) {
    if (error instanceof DriverError) return false
    throw error
  }
}
