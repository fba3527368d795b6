/** Source: catalogue vmm.json; behaviour vmm.md 1.5, 1.7, 2 (as native VMs). */
import { action, read, update } from '../../operation.ts'
import { getRate, vmReaders, vmSlowMutationRate, vmWriters } from '../roles.ts'
import {
  ExternGuestTools,
  ExternGuestToolsInsertConfig,
  ExternGuestToolsInstallConfig,
  ExternGuestToolsUpgradeConfig,
} from './guest-tools.ts'
import { ExternVm } from './vm.ts'

const backups = ['Backup Admin'] as const
const connectors = [...backups, 'Management Connector'] as const
const mutation = {
  of: ExternVm,
  roles: [...vmWriters, ...connectors],
  rateLimit: vmSlowMutationRate,
  requestId: 'required',
  ifMatch: 'required',
} as const

export const externGuestToolsOperations = {
  getNutanixGuestToolsById: read('/extern/config/vms/{extId}/nutanix-guest-tools', ExternGuestTools, {
    of: ExternVm,
    iam: 'View_External_Virtual_Machine_Guest_Tools',
    roles: [...vmReaders, ...connectors],
    rateLimit: getRate,
    carriesTag: true,
  }),
  updateNutanixGuestToolsById: update('/extern/config/vms/{extId}/nutanix-guest-tools', ExternVm, {
    ...mutation,
    body: ExternGuestTools,
    iam: 'Update_External_Virtual_Machine_Guest_Tools',
  }),
  insertNutanixGuestTools: action('/extern/config/vms/{extId}/nutanix-guest-tools/$actions/insert-iso', {
    ...mutation,
    body: ExternGuestToolsInsertConfig,
    iam: 'Insert_External_Virtual_Machine_Guest_Tools_ISO',
  }),
  installNutanixGuestTools: action('/extern/config/vms/{extId}/nutanix-guest-tools/$actions/install', {
    ...mutation,
    body: ExternGuestToolsInstallConfig,
    iam: 'Install_External_Virtual_Machine_Guest_Tools',
  }),
  upgradeNutanixGuestTools: action('/extern/config/vms/{extId}/nutanix-guest-tools/$actions/upgrade', {
    ...mutation,
    body: ExternGuestToolsUpgradeConfig,
    iam: 'Upgrade_External_Virtual_Machine_Guest_Tools',
    roles: [...vmWriters, ...backups],
  }),
  uninstallNutanixGuestTools: action('/extern/config/vms/{extId}/nutanix-guest-tools/$actions/uninstall', {
    ...mutation,
    iam: 'Uninstall_External_Virtual_Machine_Guest_Tools',
  }),
}
