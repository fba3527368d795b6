/** For VPCs, overlays, advanced VLANs. Source: catalogue networking.json; behaviour networking.md 1.20, 2. */
import { create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { controllerReaders, controllerWriters, slowMutationRate } from './roles.ts'
import { Change, EntityMetadata } from './shapes.ts'

export const NetworkController = resource('networking.v4.config.NetworkController', {
  fields: {
    /** Default stack of new VLAN subnets. */
    defaultVlanStack: s.withDefault(s.enumeration(['ADVANCED', 'LEGACY']), 'LEGACY'),
    vpcGlobalConfig: s.withDefault(
      s.object('networking.v4.config.VpcGlobalConfig', {
        /** VPCs on one external subnet without NAT may route the same prefixes. */
        isOverlappingErpsEnabled: s.withDefault(s.boolean(), false),
      }),
      { isOverlappingErpsEnabled: false },
    ),
    cloudSubstrate: s.immutable(s.optional(s.enumeration(['AWS', 'AZURE', 'GCP']))),
    controllerStatus: s.readOnly(s.enumeration(['UP', 'DEGRADED', 'DOWN'])),
    controllerVersion: s.readOnly(s.text()),
    minimumAHVVersion: s.readOnly(s.text()),
    minimumNOSVersion: s.readOnly(s.text()),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    change: s.optional(Change),
    /** Added to each node of the manager; absent for the controller that came with the manager. */
    growth: s.optionalObject('', { vcpus: s.integer({ minimum: 0 }), memoryBytes: s.integer({ minimum: 0 }) }),
  },
  iam: { category_uuid: 'metadata/categoryIds', owner_uuid: 'metadata/ownerReferenceId' },
  gate: { product: 'FLOW_VIRTUAL_NETWORKING' },
})

const mutation = { roles: controllerWriters, rateLimit: slowMutationRate }
const view = { roles: controllerReaders }

export const networkControllerOperations = {
  listNetworkControllers: list('/config/controllers', NetworkController, view),
  createNetworkController: create('/config/controllers', NetworkController, mutation),
  getNetworkControllerById: get('/config/controllers/{extId}', NetworkController, view),
  updateNetworkControllerById: update('/config/controllers/{extId}', NetworkController, mutation),
  deleteNetworkControllerById: remove('/config/controllers/{extId}', NetworkController, mutation),
}
