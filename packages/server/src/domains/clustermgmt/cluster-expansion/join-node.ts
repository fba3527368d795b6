/** A node becomes a member; it is a host when the last node of the request has joined. Source: behaviour clustermgmt.md 1.3. */
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { ApiError } from '../../../core/api-error.ts'
import type { NodeAddresses } from '../../../drivers/nodes.ts'
import { defineTask } from '../../context.ts'
import { bridgesOf } from '../../scheduling/switch-bridges.ts'
import { bundleFor } from '../topology/hypervisors.ts'
import { switchHostOf } from '../topology/membership.ts'
import type { NodeUplinks } from '../topology/uplinks.ts'

interface Joining {
  readonly nodeUuid: string
  readonly clusterExtId: string
  readonly addresses: NodeAddresses
  readonly isImaged: boolean
  readonly uplinks: readonly NodeUplinks[]
  /** The task that expands or creates the cluster. */
  readonly holder: string
}

export const joinNode = defineTask<Joining>({
  name: 'clustermgmt.join-node',
  steps: [
    {
      name: 'image',
      progress: 45,
      seconds: [600, 900],
      times: async (_, { isImaged }) => (isImaged ? 1 : 0),
      run: async ({ drivers }, { nodeUuid, clusterExtId, isImaged, holder }) => {
        if (isImaged) await drivers.hardware.imageNode(nodeUuid, bundleFor(drivers, clusterExtId), holder)
      },
      undo: ({ drivers }, { nodeUuid, holder }) => drivers.hardware.takeBackNode(nodeUuid, holder),
    },
    {
      name: 'configure host networking',
      progress: 55,
      seconds: [60, 120],
      run: async ({ store, drivers }, { nodeUuid, uplinks }) => {
        for (const own of uplinks) {
          const row = await store.get(VirtualSwitch, own.switchExtId)
          const [cluster] = row?.clusters ?? []
          if (row === undefined || cluster === undefined)
            throw new ApiError('CONFLICT', {
              fault: `The virtual switch ${own.switchExtId} was deleted while the task ran.`,
            })
          const hosts = [switchHostOf(cluster.hosts[0], nodeUuid, own)]
          for (const bridge of bridgesOf(drivers, { ...row, clusters: [{ ...cluster, hosts }] }))
            await drivers.networkFabric.putBridge(bridge, 'quick')
        }
      },
      // No undo: the node is taken back as a whole.
    },
    {
      name: 'join',
      progress: 75,
      seconds: [180, 360],
      run: ({ drivers }, { nodeUuid, clusterExtId, addresses, holder }) =>
        drivers.hardware.joinNode(nodeUuid, { clusterExtId, addresses }, holder),
    },
  ],
})
