/** Source: catalogue vmm.json. */
import * as s from '../schema.ts'

const reference = (type: string) => s.object(`vmm.v4.ahv.config.${type}`, { extId: s.optional(s.uuid()) })

export const CategoryReference = s.object('vmm.v4.ahv.config.CategoryReference', {
  extId: s.optional(s.referenceTo('Category')),
})
export const ClusterReference = s.object('vmm.v4.ahv.config.ClusterReference', {
  extId: s.optional(s.referenceTo('Cluster')),
})
export const OwnershipInfo = s.object('vmm.v4.ahv.config.OwnershipInfo', {
  owner: s.optionalObject('vmm.v4.ahv.config.OwnerReference', { extId: s.optional(s.referenceTo('User')) }),
})
export const SubnetReference = s.object('vmm.v4.ahv.config.SubnetReference', {
  extId: s.optional(s.referenceTo('Subnet')),
})
export const StorageContainerReference = s.object('vmm.v4.ahv.config.VmDiskContainerReference', {
  extId: s.optional(s.referenceTo('StorageContainer')),
})

export const NicProfileReference = s.object('vmm.v4.ahv.config.NicProfileReference', {
  extId: s.optional(s.referenceTo('NicProfile')),
})

// Not checked: the entity may be deleted, or unknown to the service.
export const AvailabilityZoneReference = reference('AvailabilityZoneReference')
export const HostReference = reference('HostReference')
export const HostPcieDeviceReference = reference('HostPcieDeviceReference')
export const NetworkFunctionChainReference = reference('NetworkFunctionChainReference')
export const PolicyReference = reference('PolicyReference')
export const ProjectReference = reference('ProjectReference')
export const StorageClusterReference = reference('ClusterReference')
export const VmReference = reference('VmReference')
export const CpuModelReference = s.object('vmm.v4.ahv.config.CpuModelReference', {
  extId: s.optional(s.uuid()),
  name: s.optional(s.text({ maxLength: 64 })),
})
