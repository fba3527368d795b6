/** Hosts of the simulated world send flow records to real collectors. Source: behaviour networking.md 1.17; RFC 7011. */
import type { pino } from 'pino'
import type { Clock, WorldClock } from '../core/time/clock.ts'
import type { ExporterProgram, FlowCollectors } from '../drivers/flow-exporting.ts'
import { ipfixMessages } from '../drivers/ipfix.ts'
import { exporterFacts, recordsOf } from '../drivers/simulated/flow-exporters.ts'
import { Flows } from '../drivers/simulated/flows/flows.ts'
import { keyOf } from '../drivers/simulated/noise.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'

interface Options {
  readonly world: SimulatedWorld
  readonly clock: WorldClock
  readonly collectors: FlowCollectors
  readonly real: Pick<Clock, 'now'>
  readonly log: pino.Logger
}

const batchSeconds = 60
const batchMillis = 1000 * batchSeconds
/** Per real second, over all exporters: a clock that is fast or moved by hand floods no collector. */
const maximumMessages = 1000
const maximumBatches = 30

export function startFlowExports({ world, clock, collectors, real, log }: Options): () => Promise<void> {
  const exporters = exporterFacts(world)
  const flows = new Flows(world)
  const sequences = new Map<string, number>()
  const mayBegin = createAllowance(real, maximumBatches)
  const maySend = createAllowance(real, maximumMessages)
  let stopTimer: (() => void) | undefined
  let running: Promise<void> | undefined
  let isEnded = false

  async function exportOne(exporter: ExporterProgram, to: number): Promise<void> {
    const families = new Map(exporter.hosts.map(({ hostExtId, families }) => [hostExtId, families]))
    const hosts = new Set([...families].flatMap(([host, of]) => (of.includes('IPV4') ? host : [])))
    for (const [host, records] of await recordsOf(flows, hosts, { from: to - batchMillis, to })) {
      const { address, port, protocol } = exporter.collector
      const stream = `${exporter.extId} ${protocol} ${address} ${port} ${host}`
      const sequence = sequences.get(stream) ?? 0
      const limit = exporter.bitsPerSecond === undefined ? undefined : (exporter.bitsPerSecond * batchSeconds) / 8
      const observationDomain = keyOf(host) >>> 0
      for (const { message, records: count } of ipfixMessages(
        records,
        { observationDomain, sequence, exportedAt: to },
        limit,
      )) {
        if (isEnded || !maySend()) return
        sequences.set(stream, (sequences.get(stream) ?? 0) + count)
        collectors.send(exporter.collector, message)
        await new Promise(setImmediate)
      }
    }
  }

  async function exportAll(): Promise<void> {
    if (!mayBegin()) return
    const to = lastBatch(clock.now())
    for (const exporter of exporters.all().values())
      if (collectors.refusalOf(exporter.collector.address) === undefined) await exportOne(exporter, to)
  }

  function due(): void {
    stopTimer = undefined
    // A clock that is moved far exports the last batch only.
    const last = lastBatch(clock.quietUntil())
    if (last > clock.now()) {
      plan(last)
      return
    }
    // A batch that takes longer than its time displaces the next one.
    running ??= clock
      .track(exportAll)
      .catch((error: unknown) => log.error({ err: error }, 'flow records could not be exported'))
      .finally(() => (running = undefined))
    plan(lastBatch(clock.now()) + batchMillis)
  }

  function plan(at: number): void {
    if (isEnded || stopTimer !== undefined || exporters.all().size === 0) return
    stopTimer = clock.setTimer(at - clock.now(), due, 'derived', 'export of flow records')
  }

  const start = (): void => plan(lastBatch(clock.now()) + batchMillis)
  const endWatch = world.watch(['fabric.exporter'], start)
  start()
  return async () => {
    isEnded = true
    endWatch()
    stopTimer?.()
    await running
    collectors.close()
  }
}

const lastBatch = (time: number): number => Math.floor(time / batchMillis) * batchMillis

function createAllowance(real: Pick<Clock, 'now'>, maximum: number): () => boolean {
  let [second, used] = [0, 0]
  return () => {
    const now = Math.floor(real.now() / 1000)
    if (now !== second) [second, used] = [now, 0]
    return used++ < maximum
  }
}
