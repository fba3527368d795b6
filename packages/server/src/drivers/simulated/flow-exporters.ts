/** Simulated exporters of flow records. Source: behaviour networking.md 1.17. */
import { isDeepStrictEqual } from 'node:util'
import { createPause } from '../../store/pause.ts'
import type { ExporterProgram, FlowExporting } from '../flow-exporting.ts'
import type { FlowRecord } from '../ipfix.ts'
import { readingSeconds } from '../telemetry.ts'
import type { Flow, FlowEnd } from './flows/flow-table.ts'
import type { Flows } from './flows/flows.ts'
import { bucketMillis } from './flows/integrals.ts'
import { hardwareFaults } from './hardware-faults.ts'
import { requireAgents } from './host-agents.ts'
import type { SimulatedWorld } from './world.ts'

export const exporterFacts = (world: SimulatedWorld) => world.collection<ExporterProgram>('fabric.exporter')

export function createExporting(world: SimulatedWorld): FlowExporting {
  const exporters = exporterFacts(world)
  return {
    async programExporter(exporter) {
      if (isDeepStrictEqual(exporters.get(exporter.extId), exporter)) return
      requireAgents(
        world,
        exporter.hosts.map(({ hostExtId }) => hostExtId),
        'fails',
      )
      await exporters.put(exporter.extId, exporter)
    },
    removeExporter: async (exporterExtId) => exporters.remove(exporterExtId),
    exporter: async (exporterExtId) => exporters.get(exporterExtId),
  }
}

const tcp = 6

/** By host: flows of its guests, and from outside to them, in the time before `to`, the largest first. Hosts that are down have none. */
export async function recordsOf(
  flows: Flows,
  hostExtIds: ReadonlySet<string>,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<ReadonlyMap<string, readonly FlowRecord[]>> {
  const faults = hardwareFaults(flows.world)
  const byHost = new Map<string, Map<string, FlowRecord>>()
  const pause = createPause()
  for (let time = from + bucketMillis; time <= to; time += bucketMillis)
    for (const segmentExtId of flows.segmentsOn(hostExtIds, time)) {
      await flows.prepare(segmentExtId, time)
      await pause()
      flows.tableAt(segmentExtId, time)?.visit(time / 1000, (flow, rate) => {
        const host = flow.source.hostExtId ?? flow.destination.hostExtId ?? ''
        if (!hostExtIds.has(host) || faults.get(host)?.isDown === true || isUnnumbered(flow)) return
        const records = byHost.get(host) ?? new Map<string, FlowRecord>()
        byHost.set(host, records)
        add(records, recordOf(flow, rate, time))
      })
    }
  return new Map(
    [...byHost].map(([host, records]) => [host, [...records.values()].sort((a, b) => b.bytes - a.bytes)] as const),
  )
}

const isUnnumbered = ({ source, destination }: Flow): boolean =>
  source.address.value === 0n || destination.address.value === 0n

function recordOf({ source, destination, decision, bytesPerPacket }: Flow, rate: number, time: number): FlowRecord {
  const number = ({ address }: FlowEnd): number => Number(address.value)
  return {
    ...{ source: number(source), destination: number(destination) },
    ...{ sourcePort: source.port ?? 0, destinationPort: destination.port ?? 0, protocol: tcp },
    isDropped: !decision.arrives,
    bytes: rate * readingSeconds,
    packets: Math.ceil(rate / bytesPerPacket) * readingSeconds,
    ...{ from: time - bucketMillis, to: time },
  }
}

/** A record ends its flow; one that was dropped since is a different flow. */
function add(records: Map<string, FlowRecord>, record: FlowRecord): void {
  const { source, destination, sourcePort, destinationPort, isDropped } = record
  const key = `${source} ${destination} ${sourcePort} ${destinationPort} ${isDropped}`
  const cached = records.get(key)
  records.set(
    key,
    cached === undefined
      ? record
      : { ...record, from: cached.from, bytes: cached.bytes + record.bytes, packets: cached.packets + record.packets },
  )
}
