/** References of vmm to other entities. Source: catalogue vmm.json. */
import { object, optional, referenceTo, text, uuid } from '../schema.ts'

const reference = (type: string) => object(`vmm.v4.ahv.config.${type}`, { extId: optional(uuid()) })

export const CategoryReference = object('vmm.v4.ahv.config.CategoryReference', {
  extId: optional(referenceTo('Category')),
})
export const ClusterReference = object('vmm.v4.ahv.config.ClusterReference', {
  extId: optional(referenceTo('Cluster')),
})
export const OwnershipInfo = object('vmm.v4.ahv.config.OwnershipInfo', {
  owner: optional(object('vmm.v4.ahv.config.OwnerReference', { extId: optional(referenceTo('User')) })),
})
export const SubnetReference = object('vmm.v4.ahv.config.SubnetReference', { extId: optional(referenceTo('Subnet')) })
export const StorageContainerReference = object('vmm.v4.ahv.config.VmDiskContainerReference', {
  extId: optional(referenceTo('StorageContainer')),
})

// Not checked: the entity may be gone, or may be unknown to the service.
export const AvailabilityZoneReference = reference('AvailabilityZoneReference')
export const HostReference = reference('HostReference')
export const HostPcieDeviceReference = reference('HostPcieDeviceReference')
export const NetworkFunctionChainReference = reference('NetworkFunctionChainReference')
export const NicProfileReference = reference('NicProfileReference')
export const PolicyReference = reference('PolicyReference')
export const ProjectReference = reference('ProjectReference')
export const StorageClusterReference = reference('ClusterReference')
export const VmReference = reference('VmReference')
export const CpuModelReference = object('vmm.v4.ahv.config.CpuModelReference', {
  extId: optional(uuid()),
  name: optional(text({ maxLength: 64 })),
})
