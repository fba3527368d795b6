/** Groups of VMs that an older release keeps apart in one cluster. Source: catalogue vmm.json; behaviour vmm.md 1.12, 2. */
import { list, remove, resource } from '../../operation.ts'
import * as s from '../../schema.ts'
import { policyMutationRate, policyReaders, policyWriters } from '../roles.ts'
import { ClusterReference, VmReference } from './references.ts'

export const LegacyVmAntiAffinityPolicy = resource('vmm.v4.ahv.policies.LegacyVmAntiAffinityPolicy', {
  fields: {
    name: s.readOnly(s.text({ maxLength: 512 })),
    cluster: s.readOnly(ClusterReference),
    vms: s.readOnly(s.arrayOf(VmReference, { maxItems: 4096 })),
  },
  title: 'legacy VM anti-affinity policy',
  derived: true,
  iam: { name: 'name', cluster_uuid: 'cluster/extId' },
  rel: 'vmm:ahv:policies:vm-anti-affinity-policy',
})

const path = '/ahv/policies/legacy-vm-anti-affinity-policies'

export const legacyVmAntiAffinityPolicyOperations = {
  listLegacyVmAntiAffinityPolicies: list(path, LegacyVmAntiAffinityPolicy, {
    roles: policyReaders,
    filter: ['extId', 'name'],
  }),
  deleteLegacyVmAntiAffinityPolicyById: remove(`${path}/{extId}`, LegacyVmAntiAffinityPolicy, {
    roles: policyWriters,
    rateLimit: policyMutationRate,
    requestId: 'required',
  }),
}
