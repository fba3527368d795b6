/** Rsyslog servers of a cluster. Source: behaviour clustermgmt.md 1.1 (task shape), 1.11. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { RsyslogServer, rsyslogServerOperations } from '@hyperplane/contract/clustermgmt/rsyslog-server'
import { ApiError, invalid } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import type { RecordContext, TaskDefinition } from '../../../core/tasks/define-task.ts'
import { created, replaced } from '../../../core/updates.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { ClusterSettings } from '../../../drivers/hardware.ts'
import { defineTask, implement, parentOf, type WriteContext } from '../../context.ts'
import { limit, limitOf } from '../../limits.ts'
import { checkCluster, requireReachable } from '../../registrations/reachability.ts'
import { recordCompliance } from '../compliance.ts'
import { maximumRsyslogServers, rsyslogFaults } from '../settings-rules.ts'
import { addressOf, endpointKey, followRsyslog, type Server, type ServerRow, serverIn } from './follow.ts'

interface OfServer {
  readonly clusterExtId: string
  readonly server: ServerRow
}

const maximumServers = limit('rsyslog servers of a cluster', maximumRsyslogServers)

/** @throws ApiError 422 */
function requireRoom(ctx: Pick<WriteContext, 'services'>, found: number): void {
  const maximum = limitOf(ctx, maximumServers)
  if (found > maximum) throw new ApiError('LIMIT_EXCEEDED', { limit: maximumServers.name, maximum, found })
}

const without = (servers: readonly Server[], { serverName }: ServerRow): readonly Server[] =>
  servers.filter((other) => other.serverName !== serverName)

/** @param next the servers of the cluster after the change; it makes the same of its own result */
function changeOf(
  operation: string,
  next: (present: readonly Server[], server: ServerRow) => readonly Server[],
  more: Partial<Pick<TaskDefinition<Drivers, OfServer>, 'onUndone'>> & { readonly publishes?: true } = {},
): TaskDefinition<Drivers, OfServer> {
  return defineTask<OfServer>({
    name: `clustermgmt.${operation}-rsyslog-server`,
    steps: [
      checkCluster(({ clusterExtId }) => clusterExtId),
      {
        name: 'apply to the cluster',
        progress: 90,
        seconds: [1, 3],
        run: async (ctx, { clusterExtId, server }) => {
          const { hardware } = ctx.drivers
          const { RSYSLOG_SERVER_CONFIG: present = [] } = await hardware.readSettings(clusterExtId)
          const servers = next(present, server)
          if (servers.length > present.length) requireRoom(ctx, servers.length)
          const change = { RSYSLOG_SERVER_CONFIG: servers.length === 0 ? null : servers }
          return hardware.writeSettings(clusterExtId, change, ctx.callKey)
        },
        undo: (ctx, { clusterExtId }) => ctx.drivers.hardware.takeBackSettings(clusterExtId, ctx.callKey),
      },
      {
        name: 'record',
        progress: 100,
        record: async (ctx, { clusterExtId, server }) => {
          if (more.publishes === true) await ctx.store.publish(RsyslogServer, server.extId)
          const settings = ctx.outputs['apply to the cluster'] as ClusterSettings
          await followRsyslog(ctx, clusterExtId, settings)
          await recordCompliance(ctx, clusterExtId, settings)
          const isOnCluster = settings.RSYSLOG_SERVER_CONFIG?.some(({ serverName }) => serverName === server.serverName)
          if (isOnCluster === true) warnUnlessSent(ctx, server)
        },
      },
    ],
    ...(more.onUndone && { onUndone: more.onUndone }),
  })
}

const createServer = changeOf('create', (present, server) => [...without(present, server), serverIn(server)], {
  publishes: true,
  onUndone: ({ store }, { server }) => store.remove(RsyslogServer, server.extId),
})
const updateServer = changeOf('update', (present, server) =>
  present.some(({ serverName }) => serverName === server.serverName)
    ? present.map((other) => (other.serverName === server.serverName ? serverIn(server) : other))
    : [...present, serverIn(server)],
)
const deleteServer = changeOf('delete', without)

export const rsyslogServer = implement(
  rsyslogServerOperations,
  {
    async createRsyslogServer(ctx, { body }) {
      const { extId: clusterExtId } = parentOf(ctx, 'clusterExtId', Cluster)
      requireRoom(ctx, (await ctx.store.findWhere(RsyslogServer, { clusterExtId })).length + 1)
      const row = created(ctx, RsyslogServer, body, { clusterExtId, receiver: endpointKey(body) })
      const server = await ctx.store.insert(RsyslogServer, row, { pending: true })
      return start(ctx, createServer, 'Create Rsyslog Server', server)
    },

    async updateRsyslogServerById(ctx, { body }) {
      const next = replaced(RsyslogServer, ctx.target, body, ctx.version)
      const server = { ...next, receiver: endpointKey(next) }
      await requireFreeReceiver(ctx, parentOf(ctx, 'clusterExtId', Cluster).extId, server)
      await ctx.store.touch(RsyslogServer, server.extId)
      return start(ctx, updateServer, 'Update Rsyslog Server', server)
    },

    deleteRsyslogServerById: (ctx) => start(ctx, deleteServer, 'Delete Rsyslog Server', ctx.target),
  },
  {
    rules: {
      createRsyslogServer: ({ body }) => serverFaults(body),
      updateRsyslogServerById: ({ body }) => serverFaults(body),
    },
    tasks: [createServer, updateServer, deleteServer],
    limits: [maximumServers],
  },
)

const serverFaults = (body: Server): ApiError[] => rsyslogFaults(body).map(([path, text]) => invalid(path, text))

function warnUnlessSent(ctx: RecordContext<Drivers>, server: ServerRow): void {
  const address = addressOf(server)
  const refusal = ctx.services.receiverGuard.refusalOf(address)
  if (refusal !== undefined) ctx.warn(`No line is sent to ${address} now: ${refusal}.`)
}

/** @throws ApiError 409; the task finds one that another request adds meanwhile */
async function requireFreeReceiver({ store }: WriteContext, clusterExtId: string, server: ServerRow): Promise<void> {
  const other = await store.findOne(RsyslogServer, { clusterExtId, receiver: endpointKey(server) })
  if (other === undefined || other.extId === server.extId) return
  throw new ApiError('ENTITY_ALREADY_EXISTS', {
    kind: RsyslogServer.title,
    fields: 'ipAddress, port and networkProtocol',
  })
}

async function start(
  ctx: WriteContext<unknown, 'clusterExtId'>,
  task: TaskDefinition<Drivers, OfServer>,
  operation: string,
  server: ServerRow,
): Promise<TaskStarted> {
  const cluster = parentOf(ctx, 'clusterExtId', Cluster)
  requireReachable(ctx, cluster)
  return ctx.startTask(
    task,
    { clusterExtId: cluster.extId, server },
    {
      operation,
      affected: [
        { extId: server.extId, name: server.serverName, rel: RsyslogServer.rel as string },
        { extId: cluster.extId, name: cluster.name, rel: Cluster.rel ?? 'clustermgmt:config:cluster' },
      ],
      clusterExtIds: [cluster.extId],
    },
  )
}
