/** A bridge that exists on hosts and that no virtual switch has; not stored. Source: catalogue networking.json; networking.md 1.18, 2. */
import { action, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { controllerWriters, slowMutationRate } from './roles.ts'
import { descriptionText, EntityMetadata, nameText } from './shapes.ts'
import { VirtualSwitch } from './virtual-switch.ts'

export const Bridge = resource('networking.v4.config.Bridge', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    existingBridgeName: s.text({ minLength: 1, maxLength: 128 }),
    // Not a reference: the task fails for an unknown cluster. Default: that of the header X-Cluster-Id.
    clusterReference: s.optional(s.uuid()),
    metadata: s.optional(EntityMetadata),
  },
  derived: true,
})

export const bridgeOperations = {
  migrateBridge: action('/config/virtual-switches/$actions/migrate', {
    of: VirtualSwitch,
    roles: ['Network Infra Admin', ...controllerWriters],
    rateLimit: slowMutationRate,
    deployments: ['on-prem'],
    clusterId: 'optional',
    body: Bridge.schema,
    iam: 'Migrate_Bridge',
  }),
}
