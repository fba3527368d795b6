/** Part of the traffic of the local VMs goes to the other site. Source: behaviour networking.md 1.12, 3.3. */
import { type MeasuredMember, readingSeconds, type StretchReading, type Telemetry } from '../telemetry.ts'
import type { Flows } from './flows/flows.ts'
import { keyOf, noise } from './noise.ts'
import { subnetAt } from './reachability/ports.ts'
import { surroundingsOf } from './router-surroundings.ts'
import { passingShare } from './stretch-path.ts'
import { roundTripMillis, stretchFacts } from './stretches.ts'

const stretchedShare = 0.2
const draws = { received: 1, transmitted: 2 }
/** Noise of each direction, around 1. */
const spread = 0.3

export async function readStretch(
  flows: Pick<Flows, 'connectedShares' | 'world'>,
  read: Telemetry['read'],
  stretchExtId: string,
  members: readonly MeasuredMember[],
  times: readonly number[],
): Promise<readonly StretchReading[]> {
  const { world } = flows
  const { stretches, paths } = stretchFacts(world)
  const [fact, path = { passing: [] }] = [stretches.get(stretchExtId), paths.get(stretchExtId)]
  const permitted = await permittedShares(flows, fact?.subnetExtId, times)
  const shares = times.map((time, index) => passingShare(path, time, 1000 * readingSeconds) * permitted[index]!)
  const bytes = times.map(() => ({ received: 0, transmitted: 0 }))
  for (const { vm, nics } of fact === undefined ? [] : members) {
    // Long spans have thousands of readings for each VM, so the event loop gets a turn.
    await new Promise(setImmediate)
    const readings = await read({ ...vm, disks: [] }, times)
    const part = (stretchedShare * nics) / Math.max(1, vm.connectedNics)
    for (const [index, reading] of readings.entries()) {
      // While a policy denies everything, the guest's packets do not cross the stretch.
      if (reading === undefined || reading.receivedBytes === 0) continue
      bytes[index]!.received += reading.receivedBytes * part
      bytes[index]!.transmitted += reading.transmittedBytes * part
    }
  }
  const key = keyOf(`${world.seed}/stretch ${stretchExtId}`)
  return times.map((time, index) => {
    const share = shares[index]!
    const { received, transmitted } = bytes[index]!
    const tenthKbps = (count: number, draw: number): number => {
      const around = 1 - spread / 2 + spread * noise(key, draw, time / 1000)
      return Math.floor((10 * 8 * count * share * around) / readingSeconds / 1000)
    }
    return {
      rtt: share === 0 || fact === undefined ? 0 : Math.round(10 * roundTripMillis(world, fact, time)),
      throughputRxKbps: tenthKbps(received, draws.received),
      throughputTxKbps: tenthKbps(transmitted, draws.transmitted),
    }
  })
}

/** At each time, the share of the subnet's NICs that policies let talk with a guest of the other site. */
async function permittedShares(
  flows: Pick<Flows, 'connectedShares' | 'world'>,
  subnetExtId: string | undefined,
  times: readonly number[],
): Promise<readonly number[]> {
  const vpcExtId = subnetExtId && subnetAt(flows.world, subnetExtId)?.vpcExtId
  // A VLAN has no policies.
  if (!vpcExtId) return times.map(() => 1)
  const own = surroundingsOf(flows.world, vpcExtId).prefixes.find((each) => each.subnetExtId === subnetExtId)
  if (own === undefined) return times.map(() => 1)
  const { prefix } = own
  const guest = { address: { family: prefix.family, value: prefix.last - 1n }, port: 443, isExternal: false }
  return flows.connectedShares(vpcExtId, times, guest, 'TCP', subnetExtId)
}
