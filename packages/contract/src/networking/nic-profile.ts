/** Virtual functions of host NICs for VMs. Source: catalogue networking.json; behaviour networking.md 1.19, 2. */
import { names } from '../names.ts'
import { action, create, get, list, remove, resource, update } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { slowMutationRate, switchReaders } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, nameText, ownAttributes } from './shapes.ts'

export const NicProfile = resource('networking.v4.config.NicProfile', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    /** PCI ids of vendor and device: `15b3:1017`. */
    nicFamily: s.immutable(s.text({ pattern: '^[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}$' })),
    capabilityConfig: s.immutable(
      s.object('networking.v4.config.CapabilityConfig', { capabilityType: s.enumeration(['SRIOV', 'DP_OFFLOAD']) }),
    ),
    hostNicReferences: s.readOnly(
      s.arrayOf(
        s.object('networking.v4.config.HostNicReference', {
          extId: s.uuid(),
          complianceStatus: s.enumeration([
            'SUCCESS',
            'NIC_NOT_FOUND_ERROR',
            'NIC_PROFILE_NOT_FOUND_ERROR',
            'NIC_PROFILE_MISMATCH_ERROR',
            'INTERNAL_ERROR',
          ]),
          numVFs: s.optional(s.integer({ minimum: 0 })),
          associatedVmNicReferences: s.optional(s.arrayOf(s.uuid())),
        }),
      ),
    ),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    associations: s.optional(
      s.arrayOf(s.object('', { hostNicExtId: s.uuid(), hostExtId: s.referenceTo('Host'), nicName: s.text() })),
    ),
    /** The host NIC that is being associated. */
    change: changeHolding({ name: s.optional(s.text()), hostNicExtId: s.optional(s.uuid()) }),
  },
  unique: [{ fields: ['name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  iam: ownAttributes,
  ofCluster: { stays: 'a profile keeps the clusters of its host NICs registered' },
})

const HostNicSpec = s.object('networking.v4.config.HostNic', { hostNicExtId: s.uuid() })

const writers: readonly RoleName[] = ['Network Infra Admin', 'Platform Admin', 'Super Admin']
const mutation = { roles: writers, rateLimit: slowMutationRate, deployments: ['on-prem'] } as const
const view = { roles: switchReaders, deployments: ['on-prem'] } as const
const selectable = names(
  'capabilityConfig, description, extId, hostNicReferences, links, metadata, name, nicFamily, tenantId',
)
const ordered = names('capabilityConfig/capabilityType, name, nicFamily')
const profiles = '/config/nic-profiles'
const one = `${profiles}/{extId}` as const

export const nicProfileOperations = {
  listNicProfiles: list(profiles, NicProfile, {
    ...view,
    filter: [...ordered, 'extId'],
    orderby: ordered,
    select: selectable,
  }),
  createNicProfile: create(profiles, NicProfile, mutation),
  getNicProfileById: get(one, NicProfile, view),
  updateNicProfileById: update(one, NicProfile, mutation),
  deleteNicProfileById: remove(one, NicProfile, mutation),
  associateHostNicToNicProfile: action(`${one}/$actions/associate-host-nic`, {
    ...mutation,
    iam: 'Associate_Host_NIC_To_NIC_Profile',
    of: NicProfile,
    body: HostNicSpec,
  }),
  disassociateHostNicFromNicProfile: action(`${one}/$actions/disassociate-host-nic`, {
    ...mutation,
    iam: 'Disassociate_Host_NIC_From_NIC_Profile',
    of: NicProfile,
    body: HostNicSpec,
  }),
}
