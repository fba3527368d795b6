/** The switch that carries the encapsulated traffic of VPCs. Source: catalogue networking.json; behaviour networking.md 1.20, 2. */
import { names } from '../names.ts'
import { create, list, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { slowMutationRate } from './roles.ts'
import { changeHolding, EntityMetadata } from './shapes.ts'

export const VpcVirtualSwitchMapping = resource('networking.v4.config.VpcVirtualSwitchMapping', {
  fields: {
    virtualSwitchUuid: s.referenceTo('VirtualSwitch'),
    /** A stored mapping names one cluster. Default in bodies: all clusters of the switch. */
    clusterUuids: s.optional(s.arrayOf(s.referenceTo('Cluster'), { minItems: 1, maxItems: 64 })),
    /** Whether VLANs may use the switch, too. */
    isAllTrafficPermitted: s.withDefault(s.boolean(), false),
    metadata: s.optional(EntityMetadata),
  },
  iamNoun: 'Vpc_Virtual_Switch_Mapping',
  internal: {
    clusterExtId: s.uuid(),
    /** Set by a running update: the switch cannot be deleted until then. */
    change: changeHolding({ virtualSwitchUuid: s.optional(s.referenceTo('VirtualSwitch')) }),
  },
  unique: [{ fields: ['clusterExtId'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
  ofCluster: { by: 'clusterExtId', keptByManager: ['metadata'] },
})

const writers: readonly RoleName[] = ['Platform Admin', 'Super Admin', 'VPC Admin']
const readers: readonly RoleName[] = names(
  'Network Infra Admin, Platform Admin, Platform Viewer, Super Admin, VPC Admin',
)
const mappings = '/config/vpc-virtual-switch-mappings'

export const vpcVirtualSwitchMappingOperations = {
  listVpcVirtualSwitchMappings: list(mappings, VpcVirtualSwitchMapping, {
    roles: readers,
    filter: ['clusterUuids', 'extId', 'virtualSwitchUuid'],
  }),
  /** Creates or replaces the mapping of each named cluster, all or none. */
  createVpcVirtualSwitchMapping: create(mappings, VpcVirtualSwitchMapping, {
    roles: writers,
    rateLimit: slowMutationRate,
    body: s.arrayOf(VpcVirtualSwitchMapping.schema, { minItems: 1, maxItems: 200 }),
  }),
}
