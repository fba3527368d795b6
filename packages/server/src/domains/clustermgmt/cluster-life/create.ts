/** Nodes become a cluster of this manager, or stay unconfigured. Source: behaviour clustermgmt.md 1.2 (createCluster). */
import type { BodyOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Registration } from '@hyperplane/contract/platform/registration'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { ClusterSettings, SettingsChange } from '../../../drivers/hardware.ts'
import type { NodeHypervisor } from '../../../drivers/nodes.ts'
import type { Reader } from '../../../store/store.ts'
import { firstContainers } from '../../containers/first-containers.ts'
import { specOf } from '../../containers/tasks.ts'
import { defineTask, type RecordContext, type StepContext, type WriteContext } from '../../context.ts'
import { detailsOf, newRegistration } from '../../registrations/registrations.ts'
import { bridgesOf } from '../../scheduling/switch-bridges.ts'
import { lockTopology } from '../../scheduling/topology.ts'
import { hostsOf } from '../../storage-space/capacity.ts'
import { requireFreeAddresses } from '../cluster-addresses.ts'
import type { JoiningNode } from '../cluster-expansion/expansion.ts'
import {
  admitAll,
  joinAll,
  newHostsOf,
  nodeIdsOf,
  poolDrives,
  undoJoins,
  unpoolDrives,
} from '../cluster-expansion/join-nodes.ts'
import { requireFreeName } from '../cluster-rules.ts'
import { clusterTask } from '../cluster-task.ts'
import { settingsChangeOf } from '../cluster-update.ts'
import { followSnmp } from '../snmp/follow.ts'
import { defaultSwitch } from '../topology/default-switch.ts'
import { insertHosts, type NewHost } from '../topology/membership.ts'
import { refuseWith } from '../topology/nodes.ts'
import { releaseNodesOfTask, requireUnreserved, reserveNodes } from '../topology/reservations.ts'
import { joiningNodes, managementAddress, namedNodes, newCluster } from './new-cluster.ts'

interface Creation {
  readonly cluster: Cluster
  readonly nodes: readonly JoiningNode[]
  readonly containerName?: string | undefined
  /** With the secrets in plain text, which the task's own record keeps sealed. */
  readonly change: SettingsChange
}

const formed = 'start services'
const configured = 'assign addresses'

const forget = async ({ store, taskExtId }: RecordContext, { cluster }: Creation): Promise<void> => {
  await releaseNodesOfTask(store, taskExtId)
  if ((await store.pending(Cluster, cluster.extId)) !== undefined) await store.remove(Cluster, cluster.extId)
}

export const createCluster = defineTask<Creation>({
  name: 'clustermgmt.create-cluster',
  cancelableUntil: 'form storage pool',
  pointOfNoReturn: 'register here',
  steps: [
    {
      name: 'validate nodes',
      progress: 10,
      seconds: [10, 25],
      run: async ({ drivers }, { nodes }) => refuseWith(nodes.flatMap((node) => changes(drivers, node))),
    },
    {
      name: 'reserve nodes',
      progress: 15,
      record: async (ctx, { cluster }) => requireFreeAddresses(ctx.store, cluster, cluster),
      // No undo: the request itself reserved the nodes.
    },
    {
      name: 'form storage pool',
      progress: 45,
      run: async (ctx, { cluster, nodes }) => {
        await joinAll(ctx, cluster.extId, nodes, plansOf(nodes), [15, 45])
        await poolDrives(ctx, cluster.extId, nodes)
      },
      undo: async (ctx, { cluster, nodes }) => {
        await unpoolDrives(ctx, cluster.extId, nodes)
        await undoJoins(ctx, nodes)
      },
    },
    {
      name: formed,
      progress: 70,
      seconds: [180, 360],
      run: startServices,
      undo: ({ drivers }, { cluster }) => drivers.hardware.dissolveCluster(cluster.extId),
    },
    {
      name: configured,
      progress: 80,
      seconds: [20, 40],
      run: ({ drivers, callKey }, { cluster, change }) =>
        drivers.hardware.writeSettings(cluster.extId, change, callKey),
      undo: ({ drivers, callKey }, { cluster }) => drivers.hardware.takeBackSettings(cluster.extId, callKey),
    },
    {
      name: 'create containers',
      progress: 90,
      seconds: [6, 15],
      run: async (ctx, creation) => {
        for (const container of containersOf(ctx, creation))
          await ctx.drivers.hardware.putContainer(specOf(container), `${ctx.callKey}/${container.extId}`)
        return newHostsOf(ctx, creation.nodes, plansOf(creation.nodes))
      },
      undo: async (ctx, creation) => {
        for (const { extId } of containersOf(ctx, creation))
          await ctx.drivers.hardware.removeContainer(creation.cluster.extId, extId)
      },
      record: recordCluster,
    },
    {
      name: 'register here',
      run: admitAll,
      record: recordRegistration,
    },
  ],
  onUndone: forget,
  plan: async ({ store }, { cluster, nodes }) => {
    const problems = await creationConflicts(store, cluster, nodes)
    return {
      changes: [
        { attribute: `cluster ${cluster.name}`, from: 'absent', to: `${nodes.length} nodes` },
        ...nodes.map(({ nodeUuid, hostName }) => ({
          attribute: `node ${nodeUuid}`,
          from: 'unconfigured',
          to: hostName,
        })),
      ],
      problems: problems.map(({ appMessage }) => appMessage),
    }
  },
})

const plansOf = (nodes: readonly JoiningNode[]) =>
  Object.fromEntries(nodes.map(({ nodeUuid }) => [nodeUuid, { isImaged: false, uplinks: [] }]))

const containersOf = ({ owner }: Pick<StepContext, 'owner'>, { cluster, containerName }: Creation) =>
  firstContainers(cluster, owner.extId, containerName)

const hypervisorOf = ({ config }: Cluster): NodeHypervisor['type'] => config?.hypervisorTypes?.[0] ?? 'AHV'
const isNative = (cluster: Cluster): boolean => hypervisorOf(cluster) === 'AHV'

const switchOf = (ctx: StepContext | RecordContext, { cluster, nodes }: Creation) =>
  defaultSwitch(ctx.drivers, {
    tenantId: cluster.tenantId,
    clusterExtId: cluster.extId,
    nodeUuids: nodeIdsOf(nodes),
    owner: ctx.owner,
  })

/** Names each change of the node since the request was accepted. */
function changes({ hardware }: Drivers, { nodeUuid, path, addresses }: JoiningNode): string[] {
  const node = hardware.nodeOf(nodeUuid)
  if (node === undefined) return [`${path}: the node ${nodeUuid} does not answer`]
  if (node.clusterExtId !== undefined) return [`${path}: the node ${nodeUuid} is in a cluster by now`]
  return node.addresses.cvm === addresses.cvm ? [] : [`${path}: the node ${nodeUuid} has another address by now`]
}

async function startServices(ctx: StepContext, creation: Creation): Promise<{ readonly certificate: string }> {
  const { cluster, nodes } = creation
  const manager = await ctx.store.findOne(DomainManager, { isOwn: true })
  if (isNative(cluster))
    for (const bridge of bridgesOf(ctx.drivers, switchOf(ctx, creation)))
      await ctx.drivers.networkFabric.putBridge(bridge, 'quick')
  return ctx.drivers.hardware.formCluster({
    extId: cluster.extId,
    name: cluster.name,
    hypervisorType: hypervisorOf(cluster),
    version: cluster.config?.buildInfo?.version ?? '',
    address: managementAddress(cluster, nodes).ipv4?.value ?? '',
    nodeAddresses: nodes.slice(0, 3).map(({ addresses }) => addresses.cvm),
    managerExtId: manager?.extId ?? '',
  })
}

async function recordCluster(ctx: RecordContext, creation: Creation, hosts: readonly NewHost[]) {
  const { cluster } = creation
  const { store } = ctx
  // Another cluster may have taken an address since the request was accepted.
  await requireFreeAddresses(store, cluster, cluster)
  await store.publish(Cluster, cluster.extId)
  await lockTopology(store, cluster.extId, ctx.taskExtId)
  await insertHosts(ctx, cluster.extId, hosts)
  if (isNative(cluster)) await store.insert(VirtualSwitch, switchOf(ctx, creation))
  for (const container of containersOf(ctx, creation)) await store.insert(StorageContainer, container)
  await followSnmp(ctx, cluster.extId, ctx.outputs[configured] as ClusterSettings)
}

async function recordRegistration(ctx: RecordContext, { cluster, nodes }: Creation): Promise<void> {
  const { certificate } = ctx.outputs[formed] as { readonly certificate: string }
  const manager = await ctx.store.findOne(DomainManager, { isOwn: true })
  const externalAddress = managementAddress(cluster, nodes)
  const details = detailsOf(cluster, await hostsOf(ctx.store, cluster.extId))
  await ctx.store.insert(
    Registration,
    newRegistration(
      { ...details, externalAddress },
      {
        tenantId: ctx.tenantId,
        domainManagerExtId: manager?.extId ?? '',
        address: externalAddress.ipv4?.value ?? '',
        certificate,
      },
    ),
  )
  await releaseNodesOfTask(ctx.store, ctx.taskExtId)
}

/** Names, addresses and nodes that others have or reserve, all at once. */
async function creationConflicts(store: Reader, cluster: Cluster, nodes: readonly JoiningNode[]): Promise<ApiError[]> {
  const checks = [
    requireFreeName(store, cluster, cluster.name),
    requireFreeAddresses(store, cluster, cluster),
    requireUnreserved(store, nodeIdsOf(nodes)),
  ]
  const found: ApiError[] = []
  for (const { status, reason } of (await Promise.allSettled(checks)) as PromiseRejectedResult[]) {
    if (status !== 'rejected') continue
    if (!(reason instanceof ApiError)) throw reason
    found.push(reason)
  }
  return found
}

export async function startCreation(
  ctx: WriteContext,
  body: BodyOf<typeof Cluster>,
): Promise<{ readonly extId: string }> {
  const views = namedNodes(body, ctx.drivers.hardware.unconfiguredNodes(Number.POSITIVE_INFINITY))
  const cluster = newCluster(ctx, body, views)
  const { extId, name } = cluster
  const nodes = joiningNodes(name, views)
  if (!ctx.dryRun) {
    refuseAll(await creationConflicts(ctx.store, cluster, nodes))
    await ctx.store.insert(Cluster, cluster, { pending: true })
  }
  const given = { name, config: body.config, network: body.network && cluster.network } as BodyOf<typeof Cluster>
  const change = settingsChangeOf(ctx.secrets, extId, given)
  const input = { cluster, nodes, containerName: body.containerName, change }
  const task = await ctx.startTask(createCluster, input, clusterTask('Create Cluster', cluster))
  if (!ctx.dryRun) await reserveNodes(ctx.store, nodeIdsOf(nodes), task.extId)
  return task
}
