/** One for each cluster. Source: catalogue networking.json; behaviour networking.md 1.20, 2. */
import { list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { switchReaders } from './roles.ts'
import { EntityMetadata } from './shapes.ts'

export const ClusterCapability = resource('networking.v4.config.ClusterCapability', {
  fields: {
    clusterId: s.uuid(),
    capabilities: s.readOnly(
      s.arrayOf(
        s.object('networking.v4.config.Capability', {
          capabilityName: s.text(),
          isSupported: s.boolean(),
        }),
        { maxItems: 10 },
      ),
    ),
    metadata: s.optional(EntityMetadata),
  },
  derived: true,
})

export const clusterCapabilityOperations = {
  listClusterCapabilities: list('/config/capabilities', ClusterCapability, {
    iam: 'View_Cluster_Network_Capability',
    roles: switchReaders,
    filter: ['clusterId', 'extId'],
    orderby: ['clusterId'],
  }),
}
