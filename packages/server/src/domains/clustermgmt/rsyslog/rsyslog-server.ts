/** Rsyslog servers of a cluster. Source: behaviour clustermgmt.md 1.1 (task shape), 1.11. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { RsyslogServer, rsyslogServerOperations } from '@hyperplane/contract/clustermgmt/rsyslog-server'
import { ApiError, invalid, refuseAll } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { created, replaced } from '../../../core/updates.ts'
import type { ClusterSettings } from '../../../drivers/hardware.ts'
import {
  affected,
  defineTask,
  implement,
  parentOf,
  type RecordContext,
  type TaskDefinition,
  type WriteContext,
} from '../../context.ts'
import { limit, limitOf } from '../../limits.ts'
import { requireReachable } from '../../registrations/reachability.ts'
import { maximumRsyslogServers, rsyslogFaults } from '../settings-rules.ts'
import { type OfCluster, settingsSteps } from '../settings-task.ts'
import { addressOfServer, endpointKey, followRsyslog, type Server, type ServerRow, serverIn } from './follow.ts'

interface OfServer extends OfCluster {
  readonly server: ServerRow
}

const maximumServers = limit('rsyslog servers of a cluster', maximumRsyslogServers)

function requireRoom(ctx: Pick<WriteContext, 'services'>, found: number): void {
  const maximum = limitOf(ctx, maximumServers)
  if (found > maximum) throw new ApiError('LIMIT_EXCEEDED', { limit: maximumServers.name, maximum, found })
}

const without = (servers: readonly Server[], { serverName }: ServerRow): readonly Server[] =>
  servers.filter((other) => other.serverName !== serverName)

interface Change extends Partial<Pick<TaskDefinition<OfServer>, 'onUndone'>> {
  readonly operation: 'create' | 'update' | 'delete'
  /** Refusals that depend on the servers that the cluster has now. */
  readonly faults?: (present: readonly Server[], server: ServerRow) => readonly ApiError[]
  /** The servers of the cluster after the change. Idempotent, because it runs again after a crash. */
  readonly next: (present: readonly Server[], server: ServerRow) => readonly Server[]
}

function changeOf({ operation, faults = () => [], next, onUndone }: Change): TaskDefinition<OfServer> {
  const serversIn = ({ RSYSLOG_SERVER_CONFIG: servers = [] }: ClusterSettings): readonly Server[] => servers
  return defineTask<OfServer>({
    name: `clustermgmt.${operation}-rsyslog-server`,
    steps: settingsSteps<OfServer>({
      check: async (ctx, { server }, settings) => {
        const present = serversIn(settings)
        refuseAll(faults(present, server))
        if (operation === 'create') requireRoom(ctx, present.length + 1)
      },
      change: async (_, { server }, settings) => {
        const servers = next(serversIn(settings), server)
        return { RSYSLOG_SERVER_CONFIG: servers.length === 0 ? null : servers }
      },
      record: async (ctx, { clusterExtId, server }, settings) => {
        if (operation === 'create') await ctx.store.publish(RsyslogServer, server.extId)
        await followRsyslog(ctx, clusterExtId, settings)
        if (operation !== 'delete') warnUnlessSent(ctx, server)
      },
    }),
    ...(onUndone && { onUndone }),
  })
}

const createServer = changeOf({
  operation: 'create',
  faults: (present, server) => [
    ...(isAmong(present, server) ? [alreadyExists('serverName')] : []),
    ...receiverFaults(present, server),
  ],
  next: (present, server) => [...without(present, server), serverIn(server)],
  onUndone: ({ store }, { server }) => store.remove(RsyslogServer, server.extId),
})

const updateServer = changeOf({
  operation: 'update',
  faults: (present, server) =>
    isAmong(present, server)
      ? receiverFaults(present, server)
      : [new ApiError('ENTITY_NOT_FOUND', { kind: RsyslogServer.title, id: server.extId, attribute: 'extId' })],
  next: (present, server) =>
    present.map((other) => (other.serverName === server.serverName ? serverIn(server) : other)),
})

const deleteServer = changeOf({ operation: 'delete', next: without })

const isAmong = (servers: readonly Server[], { serverName }: ServerRow): boolean =>
  servers.some((other) => other.serverName === serverName)

const receiverFaults = (present: readonly Server[], server: ServerRow): ApiError[] =>
  without(present, server).some((other) => endpointKey(other) === endpointKey(server))
    ? [alreadyExists(receiverFields)]
    : []

const receiverFields = 'ipAddress, port and networkProtocol'

const alreadyExists = (fields: string): ApiError =>
  new ApiError('ENTITY_ALREADY_EXISTS', { kind: RsyslogServer.title, fields })

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

function warnUnlessSent(ctx: RecordContext, server: ServerRow): void {
  const address = addressOfServer(server)
  const refusal = ctx.services.receiverGuard.refusalOf(address)
  if (refusal !== undefined) ctx.warn(`No line is sent to ${address} now: ${refusal}.`)
}

async function requireFreeReceiver({ store }: WriteContext, clusterExtId: string, server: ServerRow): Promise<void> {
  const other = await store.findOne(RsyslogServer, { clusterExtId, receiver: endpointKey(server) })
  if (other === undefined || other.extId === server.extId) return
  throw alreadyExists(receiverFields)
}

async function start(
  ctx: WriteContext<unknown, 'clusterExtId'>,
  task: TaskDefinition<OfServer>,
  operation: string,
  server: ServerRow,
): Promise<TaskStarted> {
  const cluster = parentOf(ctx, 'clusterExtId', Cluster)
  requireReachable(ctx, cluster)
  const named = { extId: server.extId, name: server.serverName }
  return ctx.startTask(
    task,
    { clusterExtId: cluster.extId, server },
    {
      operation,
      affected: [affected(RsyslogServer, named), affected(Cluster, cluster)],
      clusterExtIds: [cluster.extId],
    },
  )
}
