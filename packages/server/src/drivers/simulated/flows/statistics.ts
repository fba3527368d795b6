/** Traffic through external subnets. Source: behaviour networking.md 1.5, 3.3. */

import { createPause } from '../../../store/pause.ts'
import type { FlowStatistics, NorthSouthReading } from '../../flow-statistics.ts'
import type { FlowTable } from './flow-table.ts'
import type { Flows } from './flows.ts'
import { flowHistory } from './history.ts'
import { throughputOf } from './tunnels.ts'

export const createFlowStatistics = (flows: Flows): FlowStatistics => ({
  attachedSince: async (vpcExtId, subnetExtId) => attachedSince(flows, `${vpcExtId}/${subnetExtId}`),
  northSouth: async (vpcExtId, subnetExtId, times) => northSouthOf(flows, { vpcExtId, subnetExtId }, times),
  throughput: async (connectionExtId, times) => throughputOf(flows, connectionExtId, times),
})

async function northSouthOf(
  flows: Flows,
  { vpcExtId, subnetExtId }: { readonly vpcExtId: string; readonly subnetExtId: string },
  times: readonly number[],
): Promise<readonly NorthSouthReading[]> {
  const since = attachedSince(flows, `${vpcExtId}/${subnetExtId}`)
  if (since === undefined) return times.map(() => reading(nothing, nothing))
  const drawnRates = (time: number) => crossing(flows.tableAt(vpcExtId, time), subnetExtId, time / 1000)
  const ratesAt = (time: number) => flows.prepare(vpcExtId, time)?.then(() => drawnRates(time)) ?? drawnRates(time)
  const sums = await flows.integrals.at(`north-south ${vpcExtId}/${subnetExtId}`, since, ratesAt, times)
  const readings: NorthSouthReading[] = []
  const pause = createPause()
  for (const [index, time] of times.entries()) {
    readings.push(reading(time > since ? await ratesAt(time) : nothing, sums[index]!))
    await pause()
  }
  return readings
}

const nothing = [0, 0, 0, 0] as const

/** Earlier periods follow without a gap when the default route changed. */
function attachedSince(flows: Flows, id: string): number | undefined {
  const periods = flowHistory(flows.world).attachments.get(id)?.periods ?? []
  let since: number | undefined
  for (const { from, to } of periods.toReversed()) {
    if (to !== undefined && to !== since) break
    since = from
  }
  return since
}

function crossing(table: FlowTable | undefined, subnetExtId: string, second: number): readonly number[] {
  const rates: [number, number, number, number] = [0, 0, 0, 0]
  table?.visitCrossing(second, ({ kind, externalSubnetExtId, decision, bytesPerPacket }, rate) => {
    // Traffic from outside is counted before the policies judge it.
    if (externalSubnetExtId !== subnetExtId || (kind === 'egress' && !decision.arrives)) return
    const at = kind === 'egress' ? 2 : 0
    rates[at] += rate
    rates[at + 1]! += Math.ceil(rate / bytesPerPacket)
  })
  return rates
}

const reading = (rates: readonly number[], sums: readonly number[]): NorthSouthReading => ({
  northSouthIngressBytesPerSec: rates[0]!,
  northSouthIngressPacketsPerSec: rates[1]!,
  northSouthEgressBytesPerSec: rates[2]!,
  northSouthEgressPacketsPerSec: rates[3]!,
  northSouthIngressBytesAbs: sums[0]!,
  northSouthIngressPacketsAbs: sums[1]!,
  northSouthEgressBytesAbs: sums[2]!,
  northSouthEgressPacketsAbs: sums[3]!,
})
