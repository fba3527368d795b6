/** Deploys a manager; each step that waits for a subtask also rolls it back. Source: behaviour platform.md 4. */
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { formatAddress } from '../../core/ip-address.ts'
import { notFound } from '../../core/standard.ts'
import type { Reader } from '../../store/store.ts'
import { isManaged, leaseExactly, releaseHolder } from '../addressing/leases.ts'
import { DriverError, defineTask, type RecordContext, type StepContext, type TaskDefinition } from '../context.ts'
import { doesNotFit, holdNode, hostForNode, releaseManagerNodes } from '../scheduling/manager-nodes.ts'
import { createNodes, fetchSoftware, type NodePlan, removeNodeDisks, removePlannedNodes } from './deploy-parts.ts'
import { addressCount, freeAddresses } from './deploy-plan.ts'
import { sizes } from './manager-size.ts'
import type { Manager } from './own-manager.ts'

interface Input {
  readonly extId: string
}

export const deployManager = defineTask<Input>({
  name: 'platform.deploy-domain-manager',
  cancelableUntil: 'start booting',
  steps: [
    {
      name: 'reserve addresses',
      progress: 5,
      record: async (ctx, { extId }) => {
        const manager = await pendingManager(ctx.store, extId)
        const external = manager.network.externalNetworks[0]
        const subnet = await ctx.store.get(Subnet, external?.networkExtId ?? '')
        if (external === undefined || subnet === undefined)
          throw notFound(Subnet, external?.networkExtId ?? '', 'network/externalNetworks[0]/networkExtId')
        const count = addressCount(manager)
        const addresses = await freeAddresses(ctx.store, subnet, manager, count)
        if (addresses.length < count) throw doesNotFit(`${count} free addresses of the ranges`)
        if (isManaged(subnet))
          await leaseExactly(
            ctx,
            subnet,
            addresses,
            { kind: 'ASSIGNED', holder: extId },
            () => 'network/externalNetworks',
          )
        const [own, ...ofNodes] = addresses.map((address) => ({
          ipv4: { value: formatAddress(address), prefixLength: 32 },
        }))
        await ctx.store.update(DomainManager, extId, {
          network: {
            ...manager.network,
            ...(own === undefined ? {} : { externalAddress: own }),
            externalNetworks: [{ ...external, ipAddresses: ofNodes }],
          },
        })
      },
      unrecord: async (ctx, { extId }) => void (await releaseHolder(ctx.store, extId)),
    },
    {
      name: 'reserve host resources',
      progress: 10,
      record: async (ctx, { extId }) => {
        const manager = await pendingManager(ctx.store, extId)
        const clusterExtId = manager.hostingClusterExtId as string
        const size = sizes[manager.config.size]
        const nodes: NodePlan[] = []
        for (const nodeExtId of manager.nodeExtIds ?? []) {
          const usedHosts = nodes.map(({ hostExtId }) => hostExtId)
          const choice = await hostForNode(ctx, clusterExtId, size, usedHosts)
          if ('reasons' in choice) throw doesNotFit(choice.reasons.join('; ') || 'no other host')
          const { hostExtId } = choice
          await holdNode(ctx.store, { extId: nodeExtId, hostExtId, clusterExtId }, size)
          nodes.push({
            extId: nodeExtId,
            clusterExtId,
            hostExtId,
            name: `${manager.config.name}-${nodes.length + 1}`,
            containerExtId: manager.config.resourceConfig?.containerExtIds?.[0] as string,
            ...size,
          })
        }
        return { keep: nodes }
      },
      unrecord: async (ctx, { extId }) => {
        const manager = await pendingManager(ctx.store, extId)
        await releaseManagerNodes(ctx.store, manager.nodeExtIds ?? [])
      },
    },
    {
      name: 'start copying',
      progress: 12,
      record: (ctx, input) => startPart(ctx, input, fetchSoftware, 'Fetch the software'),
    },
    {
      name: 'copy image',
      progress: 40,
      run: (ctx) => untilTaskEnds(ctx, 'start copying'),
      undo: (ctx) => removeNodeDisks(ctx, nodesIn(ctx)),
    },
    {
      name: 'start booting',
      progress: 42,
      record: (ctx, input) => startPart(ctx, input, createNodes, 'Create the nodes'),
    },
    {
      name: 'boot nodes',
      progress: 70,
      run: (ctx) => untilTaskEnds(ctx, 'start booting'),
      undo: (ctx) => removePlannedNodes(ctx, nodesIn(ctx)),
    },
    {
      name: 'configure network',
      progress: 90,
      seconds: [240, 420],
      // The subtask created the nodes with their addresses; this step only takes time.
      record: async () => undefined,
    },
    {
      name: 'register with the hosting cluster',
      record: async (ctx, { extId }) => {
        await ctx.store.update(DomainManager, extId, { isRegisteredWithHostingCluster: true })
        await ctx.store.publish(DomainManager, extId)
      },
    },
  ],
  onUndone: (ctx, { extId }) => ctx.store.remove(DomainManager, extId),
})

const pendingManager = async (store: Reader, extId: string): Promise<Manager> =>
  (await store.pending(DomainManager, extId)) as Manager

const nodesIn = (ctx: Pick<StepContext, 'outputs'>): readonly NodePlan[] =>
  ctx.outputs['reserve host resources'] as readonly NodePlan[]

async function startPart(
  ctx: RecordContext,
  { extId }: Input,
  part: TaskDefinition<{ readonly nodes: readonly NodePlan[] }>,
  description: string,
): Promise<{ keep: string }> {
  const manager = await pendingManager(ctx.store, extId)
  const task = await ctx.startTask(
    part,
    { nodes: nodesIn(ctx) },
    {
      operation: part.name.replace('platform.', ''),
      description: `${description} of the manager ${manager.config.name}`,
      affected: [{ extId, name: manager.config.name, rel: 'platform:config:domain_manager' }],
      ...(manager.hostingClusterExtId === undefined ? {} : { clusterExtIds: [manager.hostingClusterExtId] }),
      parent: ctx.taskExtId,
    },
  )
  return { keep: task.extId }
}

/** @throws DriverError with the message of a failed subtask */
async function untilTaskEnds(ctx: StepContext, started: string): Promise<void> {
  const [end] = await ctx.untilEnded([ctx.outputs[started] as string])
  if (end?.status === 'SUCCEEDED') return
  const [appMessage] = end?.errorMessages ?? []
  throw new DriverError(appMessage?.message ?? `a part of the deployment ended ${end?.status}`, {
    retryable: false,
    ...(appMessage === undefined ? {} : { appMessage }),
  })
}
