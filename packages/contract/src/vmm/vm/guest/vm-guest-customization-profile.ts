/** Windows setup settings that VMs are made with. Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.14, 2, 3.9. */
import { create, get, list, remove, resource, update } from '../../../operation.ts'
import * as s from '../../../schema.ts'
import { policyMutationRate, policyWriters } from '../../roles.ts'
import { VmGcProfileSysprepConfig } from './customization-profile.ts'

// Not checked: the service sets it, and the user may be deleted later.
const UserReference = s.object('vmm.v4.ahv.config.UserReference', { extId: s.optional(s.uuid()) })

export const VmGuestCustomizationProfile = resource('vmm.v4.ahv.config.VmGuestCustomizationProfile', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 80 }),
    description: s.optional(s.text({ multiline: true })),
    config: s.oneOf(VmGcProfileSysprepConfig),
    createTime: s.readOnly(s.timestamp()),
    updateTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(UserReference),
    updatedBy: s.readOnly(UserReference),
  },
  iam: { name: 'name', owner_uuid: 'createdBy/extId' },
  unique: [{ fields: ['name'], ignoreCase: true, error: 'NAME_IN_USE' }],
})

const path = '/ahv/config/vm-guest-customization-profiles'
const reading = {
  roles: [...policyWriters, 'Platform Viewer', 'Virtual Machine Operator'],
} as const
const mutation = { roles: policyWriters, rateLimit: policyMutationRate } as const
const listed = ['createTime', 'description', 'extId', 'name', 'updateTime']

export const vmGuestCustomizationProfileOperations = {
  listVmGuestCustomizationProfiles: list(path, VmGuestCustomizationProfile, {
    ...reading,
    filter: listed,
    orderby: listed,
    select: [...listed, 'config', 'createdBy', 'links', 'tenantId', 'updatedBy'],
  }),
  createVmGuestCustomizationProfile: create(path, VmGuestCustomizationProfile, mutation),
  getVmGuestCustomizationProfileById: get(`${path}/{extId}`, VmGuestCustomizationProfile, reading),
  updateVmGuestCustomizationProfileById: update(`${path}/{extId}`, VmGuestCustomizationProfile, mutation),
  deleteVmGuestCustomizationProfileById: remove(`${path}/{extId}`, VmGuestCustomizationProfile, mutation),
}
