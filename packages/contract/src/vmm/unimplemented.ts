/** Operations that are known and not built yet. This list only shrinks. Source: catalogue vmm.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {
  '/ahv/config/vm-guest-customization-profiles': { VmGuestCustomizationProfile: 'list create get update delete' },
  '/ahv/config/vms': {
    addVmCustomAttributes: 'add-custom-attributes',
    crossClusterMigrateVm: 'migrate',
    customizeGuestVm: 'customize-guest',
    migrateVmDisks: 'migrate-vm-disks',
    removeVmCustomAttributes: 'remove-custom-attributes',
  },
  '/ahv/config/vms/{vmExtId}/cd-roms': {
    CdRom: 'create delete',
    disableVmCdRomHydration: 'disable-hydration',
    ejectCdRomById: 'eject',
    enableVmCdRomHydration: 'enable-hydration',
    insertCdRomById: 'insert',
  },
  '/ahv/config/vms/{vmExtId}/disks': {
    Disk: 'create update delete',
    addVmDiskCustomAttributes: 'add-custom-attributes',
    disableVmDiskHydration: 'disable-hydration',
    enableVmDiskHydration: 'enable-hydration',
    removeVmDiskCustomAttributes: 'remove-custom-attributes',
  },
  '/content/ovas': { Ova: 'list create get update delete', deployOva: 'deploy' },
  '/content/ovas/{ovaExtId}/file': { getFileByOvaId: 'GET' },
  '/content/templates': {
    Template: 'list create get update delete',
    cancelGuestUpdate: 'cancel-guest-update',
    completeGuestUpdate: 'complete-guest-update',
    deployTemplate: 'deploy',
    initiateGuestUpdate: 'initiate-guest-update',
    publishTemplate: 'publish',
  },
  '/content/templates/{templateExtId}/versions': { TemplateVersion: 'get delete', listTemplateVersions: 'GET' },
  '/extern/config/vms': {
    'extern.assignVmOwner': 'assign-owner',
    'extern.associateCategories': 'associate-categories',
    'extern.disassociateCategories': 'disassociate-categories',
    'extern.revertVm': 'revert',
  },
  '/extern/config/vms/{extId}/nutanix-guest-tools': {
    'extern.getNutanixGuestToolsById': 'GET',
    'extern.insertNutanixGuestTools': 'POST /$actions/insert-iso',
    'extern.installNutanixGuestTools': 'POST /$actions/install',
    'extern.uninstallNutanixGuestTools': 'POST /$actions/uninstall',
    'extern.updateNutanixGuestToolsById': 'PUT',
    'extern.upgradeNutanixGuestTools': 'POST /$actions/upgrade',
  },
}
