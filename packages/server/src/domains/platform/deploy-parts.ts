/** The two subtasks of a deployment, and their rollback. Source: behaviour platform.md 4. */
import { derivedId } from '../../core/ids/named-id.ts'
import { defineTask, type StepContext } from '../context.ts'

export interface NodePlan {
  readonly extId: string
  readonly name: string
  readonly clusterExtId: string
  readonly hostExtId: string
  readonly containerExtId: string
  readonly vcpus: number
  readonly memoryBytes: number
  readonly diskBytes: number
}

interface Input {
  readonly nodes: readonly NodePlan[]
}
type Asking = Pick<StepContext, 'drivers'>

const diskOf = (node: NodePlan): string => derivedId('manager disk', node.extId)

export const fetchSoftware = defineTask<Input>({
  name: 'platform.fetch-manager-software',
  steps: [
    {
      name: 'copy image',
      seconds: [420, 700],
      run: async (ctx, { nodes }) => {
        for (const node of nodes) {
          const { containerExtId, diskBytes } = node
          await ctx.drivers.hypervisor.createDisk({ extId: diskOf(node), containerExtId, sizeBytes: diskBytes })
        }
      },
      undo: (ctx, { nodes }) => removeNodeDisks(ctx, nodes),
    },
  ],
})

export const createNodes = defineTask<Input>({
  name: 'platform.create-manager-nodes',
  steps: [
    {
      name: 'boot',
      seconds: [420, 700],
      run: async (ctx, { nodes }) => {
        const { hypervisor } = ctx.drivers
        for (const node of nodes) {
          await hypervisor.defineVm({
            extId: node.extId,
            clusterExtId: node.clusterExtId,
            name: node.name,
            memoryBytes: node.memoryBytes,
            vcpus: node.vcpus,
            bootOrder: ['DISK'],
            diskExtIds: [diskOf(node)],
            isoExtIds: [],
            nics: [],
            serialPorts: [],
            hasGuestTools: false,
            hasPendingCustomization: false,
          })
          await hypervisor.startVm(node.extId, node.hostExtId)
        }
      },
      undo: (ctx, { nodes }) => removePlannedNodes(ctx, nodes),
    },
  ],
})

export async function removeNodeDisks({ drivers }: Asking, nodes: readonly NodePlan[]): Promise<void> {
  for (const node of nodes) await drivers.hypervisor.deleteDisk(diskOf(node))
}

export async function removePlannedNodes({ drivers }: Asking, nodes: readonly NodePlan[]): Promise<void> {
  for (const { extId } of nodes) {
    await drivers.hypervisor.stopVm(extId)
    await drivers.hypervisor.undefineVm(extId)
  }
}
