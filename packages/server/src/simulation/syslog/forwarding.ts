/** Log lines of simulated clusters go to real receivers. Source: behaviour clustermgmt.md 1.11. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { pino } from 'pino'
import type { Clock } from '../../core/time/clock.ts'
import type { ClusterSettings } from '../../drivers/hardware.ts'
import type { ClusterFact } from '../../drivers/simulated/hardware.ts'
import type { SimulatedWorld } from '../../drivers/simulated/world.ts'
import { type LogLine, type SyslogReceiver, type SyslogTransports, severities } from '../../drivers/syslog.ts'
import type { Store } from '../../store/store.ts'
import { startActivity } from './activity.ts'
import { LineQueue } from './line-queue.ts'
import { syslogMessage } from './message.ts'

export interface SyslogOptions {
  readonly store: Store
  readonly world: SimulatedWorld
  readonly clock: Pick<Clock, 'now'>
  readonly transports: SyslogTransports
  readonly log: pino.Logger
}

type Server = NonNullable<ClusterSettings['RSYSLOG_SERVER_CONFIG']>[number]

interface Destination {
  readonly clusterExtId: string
  /** Replaced when only the modules change. */
  server: Server
  readonly receiver: SyslogReceiver
  readonly queue: LineQueue
}

export function startSyslog({ store, world, clock, transports, log }: SyslogOptions): () => Promise<void> {
  const clusters = world.collection<ClusterFact>('hardware.clusters')
  /** Servers that `--allow-address` opens; others are skipped. */
  let destinations = new Map<string, Destination>()
  let names: ReadonlyMap<string, string> = new Map()
  const hostNameOf = (clusterExtId: string): string => names.get(clusterExtId) ?? clusterExtId

  function queueFor(clusterExtId: string, receiver: SyslogReceiver): LineQueue {
    const lossLine = (count: number): string =>
      syslogMessage(
        {
          module: 'SYSLOG_MODULE',
          severity: 'WARNING',
          time: clock.now(),
          id: 'LINES_LOST',
          text: `${count} lines were lost while this receiver did not take them.`,
          parameters: { count },
        },
        hostNameOf(clusterExtId),
      )
    return new LineQueue({ receiver, connect: transports.connect, lossLine })
  }

  function reconcile(): void {
    const next = new Map<string, Destination>()
    for (const [clusterExtId, { settings }] of clusters.all())
      for (const server of settings.RSYSLOG_SERVER_CONFIG ?? []) {
        const receiver = syslogReceiver(server)
        const key = [clusterExtId, server.serverName, receiver.protocol, receiver.port, receiver.address].join(' ')
        if (transports.refusalOf(receiver.address) !== undefined) continue
        const existing = destinations.get(key)
        if (existing !== undefined) existing.server = server
        next.set(key, existing ?? { clusterExtId, server, receiver, queue: queueFor(clusterExtId, receiver) })
      }
    for (const [key, { queue }] of destinations) if (!next.has(key)) queue.close()
    const isFirst = destinations.size === 0 && next.size > 0
    destinations = next
    if (isFirst) activity.look()
  }

  function forward(clusterExtId: string, line: LogLine): void {
    for (const destination of destinations.values()) {
      if (destination.clusterExtId === clusterExtId && isWanted(destination.server, line))
        destination.queue.add(syslogMessage(line, hostNameOf(clusterExtId)))
    }
  }

  async function readNames(): Promise<void> {
    names = new Map((await store.find(Cluster)).map(({ extId, name }) => [extId, name]))
  }
  const learnNames = (): void =>
    void readNames().catch((error: unknown) => log.error({ err: error }, 'the names of clusters could not be read'))

  const activity = startActivity({ store, world, log, isNeeded: () => destinations.size > 0 })
  const ends = [
    world.watch(['hardware.clusters'], reconcile),
    world.log.watch(forward),
    store.watch([Cluster], learnNames),
  ]
  reconcile()
  learnNames()
  return async () => {
    await activity.stop()
    for (const end of ends) end()
    for (const { queue } of destinations.values()) queue.close()
  }
}

const syslogReceiver = ({ ipAddress: { ipv4, ipv6 }, port, networkProtocol }: Server): SyslogReceiver => ({
  address: ipv4?.value ?? ipv6?.value ?? '',
  port,
  protocol: networkProtocol,
})

function isWanted({ modules = [] }: Server, { module, severity, isOfMonitor }: LogLine): boolean {
  const wanted = modules.find(({ name }) => name === module)
  if (wanted === undefined || (isOfMonitor === true && wanted.shouldLogMonitorFiles === false)) return false
  return severities.indexOf(severity) <= severities.indexOf(wanted.logSeverityLevel)
}
