/** Tasks that create, update and delete a network controller. Source: behaviour networking.md 1.20, 1.22. */
import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { NetworkController } from '@hyperplane/contract/networking/network-controller'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ControllerProgram } from '../../drivers/virtual-routing.ts'
import type { Reader } from '../../store/store.ts'
import type { ControllerEntity } from '../admission/network-controllers.ts'
import { defineTask } from '../context.ts'
import { growNodes, type NodeSize } from '../scheduling/manager-nodes.ts'

interface Creation {
  readonly entity: ControllerEntity
  /** Nodes of the manager, which the request has already enlarged. */
  readonly nodes: readonly string[]
}

interface Deletion {
  readonly extId: string
  readonly nodes: readonly string[]
  readonly growth?: NodeSize
}

export async function agentHosts(store: Reader): Promise<EntityOf<typeof Host>[]> {
  return (await store.find(Host)).filter(({ hypervisor }) => hypervisor?.type === 'AHV')
}

export function programOf({
  extId,
  defaultVlanStack,
  vpcGlobalConfig,
  cloudSubstrate,
}: ControllerEntity): ControllerProgram {
  return {
    extId,
    defaultVlanStack: defaultVlanStack ?? 'LEGACY',
    isOverlappingErpsEnabled: vpcGlobalConfig?.isOverlappingErpsEnabled ?? false,
    ...(cloudSubstrate === undefined ? {} : { cloudSubstrate }),
  }
}

const negative = ({ vcpus, memoryBytes }: NodeSize): NodeSize => ({ vcpus: -vcpus, memoryBytes: -memoryBytes })

export const createController = defineTask<Creation>({
  name: 'networking.create-network-controller',
  steps: [
    {
      name: 'deploy services',
      progress: 40,
      seconds: [20, 70],
      run: (ctx, { entity }) => ctx.drivers.networkFabric.deployController(programOf(entity)),
      undo: (ctx, { entity }) => ctx.drivers.networkFabric.removeController(entity.extId),
    },
    {
      name: 'push agents to hosts',
      progress: 80,
      seconds: [8, 40],
      run: async (ctx, { entity }) => {
        const hosts = await agentHosts(ctx.store)
        for (const [index, { extId }] of hosts.entries()) {
          await ctx.drivers.networkFabric.installAgent(entity.extId, extId)
          await ctx.progress(40 + Math.floor((40 * (index + 1)) / hosts.length))
        }
      },
      undo: (ctx, { entity }) => ctx.drivers.networkFabric.removeAgents(entity.extId),
    },
    {
      name: 'wait for agents',
      progress: 100,
      seconds: [2, 10],
      run: async (ctx, { entity }) => {
        if ((await ctx.drivers.networkFabric.controllerState(entity.extId)) !== 'DOWN') return
        throw new DriverError('the network controller does not answer', { retryable: true })
      },
      // No undo: this step only waits.
      record: async (ctx, { entity }) => {
        await ctx.store.update(NetworkController, entity.extId, { change: undefined })
      },
    },
  ],
  async onUndone(ctx, { entity, nodes }) {
    await ctx.store.remove(NetworkController, entity.extId)
    if (entity.growth !== undefined) await growNodes(ctx.store, nodes, negative(entity.growth))
  },
})

export const updateController = defineTask<{ readonly before: ControllerEntity; readonly after: ControllerEntity }>({
  name: 'networking.update-network-controller',
  steps: [
    {
      name: 'configure services',
      progress: 100,
      seconds: [2, 8],
      run: (ctx, { after }) => ctx.drivers.networkFabric.deployController(programOf(after)),
      undo: (ctx, { before }) => ctx.drivers.networkFabric.deployController(programOf(before)),
      record: async (ctx, { after }) => {
        await ctx.store.replace(NetworkController, after)
      },
    },
  ],
  onUndone: async (ctx, { before }) => {
    await ctx.store.update(NetworkController, before.extId, { change: undefined })
  },
})

export const deleteController = defineTask<Deletion>({
  name: 'networking.delete-network-controller',
  steps: [
    {
      name: 'remove agents',
      progress: 60,
      seconds: [8, 40],
      run: (ctx, { extId }) => ctx.drivers.networkFabric.removeAgents(extId),
    },
    {
      name: 'remove services',
      progress: 100,
      seconds: [5, 20],
      run: (ctx, { extId }) => ctx.drivers.networkFabric.removeController(extId),
      record: async (ctx, { extId, nodes, growth }) => {
        await ctx.store.remove(NetworkController, extId)
        if (growth !== undefined) await growNodes(ctx.store, nodes, negative(growth))
      },
    },
  ],
  pointOfNoReturn: 'remove agents',
})
