/** Source: catalogue vmm.json; behaviour vmm.md 1.5, 2, operation-roles.tsv. */
import { action, read, update } from '../../../operation.ts'
import { getRate, vmReaders, vmSlowMutationRate, vmWriters } from '../../roles.ts'
import { Vm } from '../vm.ts'
import { GuestTools, GuestToolsInsertConfig, GuestToolsInstallConfig, GuestToolsUpgradeConfig } from './guest-tools.ts'

const backups = ['Backup Admin'] as const
const connectors = [...backups, 'Management Connector'] as const
const mutation = {
  of: Vm,
  roles: [...vmWriters, ...connectors],
  rateLimit: vmSlowMutationRate,
  requestId: 'required',
  ifMatch: 'required',
} as const

export const guestToolsOperations = {
  getGuestToolsById: read('/ahv/config/vms/{extId}/guest-tools', GuestTools, {
    of: Vm,
    iam: 'View_Virtual_Machine_Guest_Tools',
    roles: [...vmReaders, ...connectors],
    rateLimit: getRate,
    carriesTag: true,
  }),
  updateGuestToolsById: update('/ahv/config/vms/{extId}/guest-tools', Vm, {
    ...mutation,
    body: GuestTools,
    iam: 'Update_Virtual_Machine_Guest_Tools',
  }),
  insertVmGuestTools: action('/ahv/config/vms/{extId}/guest-tools/$actions/insert-iso', {
    ...mutation,
    body: GuestToolsInsertConfig,
    iam: 'Insert_Virtual_Machine_Guest_Tools_ISO',
  }),
  installVmGuestTools: action('/ahv/config/vms/{extId}/guest-tools/$actions/install', {
    ...mutation,
    body: GuestToolsInstallConfig,
    iam: 'Install_Virtual_Machine_Guest_Tools',
  }),
  upgradeVmGuestTools: action('/ahv/config/vms/{extId}/guest-tools/$actions/upgrade', {
    ...mutation,
    body: GuestToolsUpgradeConfig,
    iam: 'Upgrade_Virtual_Machine_Guest_Tools',
    roles: [...vmWriters, ...backups],
  }),
  uninstallVmGuestTools: action('/ahv/config/vms/{extId}/guest-tools/$actions/uninstall', {
    ...mutation,
    iam: 'Uninstall_Virtual_Machine_Guest_Tools',
  }),
}
