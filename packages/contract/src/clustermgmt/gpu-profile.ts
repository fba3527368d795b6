/** GPUs of a cluster by model: derived from the devices of its hosts. Source: catalogue clustermgmt.json; clustermgmt.md 1.7, 2. */
import { names } from '../names.ts'
import { list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { deviceReaders } from './roles.ts'

const gpuType = () => s.readOnly(s.enumeration(['PASSTHROUGH_GRAPHICS', 'PASSTHROUGH_COMPUTE', 'VIRTUAL']))
const shared = {
  assignable: s.readOnly(s.integer()),
  deviceId: s.readOnly(s.integer()),
  deviceName: s.readOnly(s.text()),
  frameBufferSizeBytes: s.readOnly(s.integer()),
  isInUse: s.readOnly(s.boolean()),
  type: gpuType(),
  vendorName: s.readOnly(s.text({ maxLength: 128 })),
} as const

export const PhysicalGpuConfig = s.object('clustermgmt.v4.config.PhysicalGpuConfig', {
  ...shared,
  mode: s.readOnly(s.enumeration(['UNUSED', 'USED_FOR_PASSTHROUGH', 'USED_FOR_VIRTUAL'])),
})
export const VirtualGpuConfig = s.object('clustermgmt.v4.config.VirtualGpuConfig', {
  ...shared,
  fraction: s.readOnly(s.integer()),
  guestDriverVersion: s.readOnly(s.text()),
  maxInstancesPerVm: s.readOnly(s.integer()),
  numberOfVirtualDisplayHeads: s.readOnly(s.integer()),
})

const ofCluster = {
  derived: true,
  internal: { clusterExtId: s.uuid() },
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
} as const
const allocatedVmExtIds = s.readOnly(s.arrayOf(s.text(), { maxItems: 1024 }))

export const PhysicalGpuProfile = resource('clustermgmt.v4.config.PhysicalGpuProfile', {
  fields: { physicalGpuConfig: s.readOnly(PhysicalGpuConfig), allocatedVmExtIds },
  ...ofCluster,
})
export const VirtualGpuProfile = resource('clustermgmt.v4.config.VirtualGpuProfile', {
  fields: { virtualGpuConfig: s.readOnly(VirtualGpuConfig), allocatedVmExtIds },
  ...ofCluster,
})

const view = { iam: 'View_Cluster_GPU_Profile', roles: deviceReaders, rateLimit: perSecond(5, 5, 10, 10) } as const
const cluster = '/config/clusters/{clusterExtId}'

export const gpuProfileOperations = {
  listPhysicalGpuProfiles: list(`${cluster}/physical-gpu-profiles`, PhysicalGpuProfile, {
    ...view,
    filter: names(`
      physicalGpuConfig/deviceId, physicalGpuConfig/deviceName, physicalGpuConfig/frameBufferSizeBytes,
      physicalGpuConfig/isInUse, physicalGpuConfig/type, physicalGpuConfig/vendorName
    `),
    orderby: ['physicalGpuConfig/deviceId', 'physicalGpuConfig/frameBufferSizeBytes'],
  }),
  listVirtualGpuProfiles: list(`${cluster}/virtual-gpu-profiles`, VirtualGpuProfile, {
    ...view,
    filter: names(`
      virtualGpuConfig/deviceId, virtualGpuConfig/deviceName, virtualGpuConfig/frameBufferSizeBytes,
      virtualGpuConfig/isInUse, virtualGpuConfig/maxInstancesPerVm, virtualGpuConfig/type, virtualGpuConfig/vendorName
    `),
    orderby: ['virtualGpuConfig/deviceId', 'virtualGpuConfig/frameBufferSizeBytes'],
  }),
}
