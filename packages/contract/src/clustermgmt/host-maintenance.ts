/** Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.4, 2. */
import { action, perSecond } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { Host } from './host.ts'
import { clusterAdmins } from './roles.ts'
import { VcenterCredentials } from './vcenter-extension.ts'

const VcenterInfo = s.object('clustermgmt.v4.config.VcenterInfo', {
  address: IPAddressOrFQDN,
  credentials: VcenterCredentials,
})

const common = {
  timeoutSeconds: s.withDefault(s.integer({ minimum: 1 }), 7200),
  vcenterInfo: s.optional(VcenterInfo),
}

export const EnterHostMaintenanceSpec = s.object('clustermgmt.v4.operations.EnterHostMaintenanceSpec', {
  ...common,
  shouldRollbackOnFailure: s.withDefault(s.boolean(), true),
  /** VMs that cannot migrate are shut down; otherwise they are a reason to refuse. */
  shouldShutdownNonMigratableUvms: s.withDefault(s.boolean(), false),
})

export const HostMaintenanceCommonSpec = s.object('clustermgmt.v4.operations.HostMaintenanceCommonSpec', common)

const path = '/operations/clusters/{clusterExtId}/hosts/{extId}/$actions'
const mutation = {
  of: Host,
  roles: clusterAdmins,
  rateLimit: perSecond(1),
  requestId: 'required',
} as const

export const hostMaintenanceOperations = {
  enterHostMaintenance: action(`${path}/enter-host-maintenance`, {
    ...mutation,
    iam: 'Enter_Host_Maintenance',
    body: EnterHostMaintenanceSpec,
  }),
  exitHostMaintenance: action(`${path}/exit-host-maintenance`, {
    ...mutation,
    iam: 'Exit_Host_Maintenance',
    body: HostMaintenanceCommonSpec,
  }),
}
