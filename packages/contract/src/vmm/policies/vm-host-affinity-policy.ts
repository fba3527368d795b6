/** VMs run only on hosts with certain categories. Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.12, 2, 3.9. */
import { action, create, get, list, remove, resource, update } from '../../operation.ts'
import * as s from '../../schema.ts'
import { policyMutationRate, policyReaders, policyWriters } from '../roles.ts'
import { CategoryReference, ClusterReference, empty, HostReference, UserReference } from './references.ts'

const categories = s.arrayOf(CategoryReference, { minItems: 1, maxItems: 50, uniqueItems: true })

export const VmHostAffinityPolicy = resource('vmm.v4.ahv.policies.VmHostAffinityPolicy', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 80 }),
    description: s.optional(s.text({ multiline: true })),
    vmCategories: categories,
    hostCategories: categories,
    numVms: s.readOnly(s.integer()),
    numHosts: s.readOnly(s.integer()),
    numCompliantVms: s.readOnly(s.integer()),
    numNonCompliantVms: s.readOnly(s.integer()),
    createTime: s.readOnly(s.timestamp()),
    updateTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(UserReference),
    lastUpdatedBy: s.readOnly(UserReference),
  },
  iam: { name: 'name', owner_uuid: 'createdBy/extId' },
  associationType: 'VM_HOST_AFFINITY_POLICY',
  unique: [{ fields: ['name'], ignoreCase: true, error: 'NAME_IN_USE' }],
})

/** In the order in which the reasons are tested; no world has legacy host affinity policies. */
export const VmHostAffinityNonCompliance = s.oneOf(
  s.object('vmm.v4.ahv.policies.PeNotCapableForVmHostAffinityPolicy', {
    minimumAosVersionRequired: s.optional(s.text()),
  }),
  s.object('vmm.v4.ahv.policies.ConflictingVmHostAffinityPolicy', { extId: s.uuid() }),
  empty('ConflictingLegacyVmHostAffinityPolicy'),
  empty('NoHostsForVmHostAffinityPolicy'),
  empty('NotEnoughResourcesForVmHostAffinityPolicy'),
  empty('OtherVmHostAffinityPolicyVmNonComplianceReason'),
)

export const VmHostAffinityPolicyVmComplianceState = resource(
  'vmm.v4.ahv.policies.VmHostAffinityPolicyVmComplianceState',
  {
    fields: {
      cluster: s.readOnly(ClusterReference),
      host: s.readOnly(HostReference),
      associatedCategories: s.readOnly(s.arrayOf(CategoryReference, { minItems: 1, maxItems: 50 })),
      complianceStatus: s.readOnly(
        s.oneOf(
          empty('CompliantVmHostAffinityPolicy'),
          s.object('vmm.v4.ahv.policies.NonCompliantVmHostAffinityPolicy', {
            nonComplianceReason: VmHostAffinityNonCompliance,
          }),
          empty('PendingVmHostAffinityPolicy'),
        ),
      ),
    },
    title: 'VM compliance state',
    derived: true,
    internal: { policyExtId: s.uuid() },
    parent: { param: 'vmHostAffinityPolicyExtId', kind: 'VmHostAffinityPolicy', field: 'policyExtId' },
  },
)

const reading = { iam: 'View_VM_Host_Affinity_Policy', roles: policyReaders }
const mutation = { roles: policyWriters, rateLimit: policyMutationRate, requestId: 'required' } as const

const path = '/ahv/policies/vm-host-affinity-policies'
const one = `${path}/{extId}` as const

export const vmHostAffinityPolicyOperations = {
  listVmHostAffinityPolicies: list(path, VmHostAffinityPolicy, {
    ...reading,
    filter: ['createTime', 'description', 'extId', 'name'],
    orderby: ['name', 'updateTime'],
  }),
  createVmHostAffinityPolicy: create(path, VmHostAffinityPolicy, mutation),
  getVmHostAffinityPolicyById: get(one, VmHostAffinityPolicy, reading),
  updateVmHostAffinityPolicyById: update(one, VmHostAffinityPolicy, mutation),
  deleteVmHostAffinityPolicyById: remove(one, VmHostAffinityPolicy, { ...mutation, ifMatch: 'required' }),
  reEnforceVmHostAffinityPolicyById: action(`${one}/$actions/re-enforce`, {
    ...mutation,
    of: VmHostAffinityPolicy,
    ifMatch: 'required',
  }),
  listVmHostAffinityPolicyVmComplianceStates: list(
    `${path}/{vmHostAffinityPolicyExtId}/vm-compliance-states`,
    VmHostAffinityPolicyVmComplianceState,
    reading,
  ),
}
