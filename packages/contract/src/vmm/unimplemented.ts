/** Operations that are known and not built yet. This list only shrinks. Source: catalogue vmm.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {
  '/ahv/config/vm-guest-customization-profiles': { VmGuestCustomizationProfile: 'list create get update delete' },
  '/ahv/config/vm-recovery-points': {
    VmRecoveryPoint: 'list create',
    deleteVmRecoveryPointByExtId: 'DELETE /{extId}',
    getVmRecoveryPointByExtId: 'GET /{extId}',
    restoreVmRecoveryPoint: 'restore',
  },
  '/ahv/config/vms': {
    addVmCustomAttributes: 'add-custom-attributes',
    crossClusterMigrateVm: 'migrate',
    customizeGuestVm: 'customize-guest',
    generateConsoleTokenById: 'generate-console-token',
    migrateVmDisks: 'migrate-vm-disks',
    powerCycleVm: 'power-cycle',
    rebootGuestVm: 'guest-reboot',
    rebootVm: 'reboot',
    removeVmCustomAttributes: 'remove-custom-attributes',
    revertVm: 'revert',
    shutdownGuestVm: 'guest-shutdown',
  },
  '/ahv/config/vms/{extId}/guest-tools': {
    getGuestToolsById: 'GET',
    insertVmGuestTools: 'POST /$actions/insert-iso',
    installVmGuestTools: 'POST /$actions/install',
    uninstallVmGuestTools: 'POST /$actions/uninstall',
    updateGuestToolsById: 'PUT',
    upgradeVmGuestTools: 'POST /$actions/upgrade',
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
  '/ahv/config/vms/{vmExtId}/gpus': { Gpu: 'list create get delete' },
  '/ahv/config/vms/{vmExtId}/nics': {
    Nic: 'create update delete',
    assignIpById: 'assign-ip',
    migrateNicById: 'migrate',
    releaseIpById: 'release-ip',
  },
  '/ahv/config/vms/{vmExtId}/pcie-devices': { PcieDevice: 'list create get delete' },
  '/ahv/policies/legacy-vm-anti-affinity-policies': { LegacyVmAntiAffinityPolicy: 'list delete' },
  '/ahv/policies/vm-host-affinity-policies': {
    VmHostAffinityPolicy: 'list create get update delete',
    reEnforceVmHostAffinityPolicyById: 're-enforce',
  },
  '/ahv/policies/vm-host-affinity-policies/{vmHostAffinityPolicyExtId}/vm-compliance-states': {
    listVmHostAffinityPolicyVmComplianceStates: 'GET',
  },
  '/ahv/policies/vm-startup-policies': { VmStartupPolicy: 'list create get update delete' },
  '/ahv/policies/vm-startup-policies/{vmStartupPolicyExtId}/dependency-conflicts': {
    VmStartupPolicyDependencyConflict: 'get',
    listVmStartupPolicyDependencyConflicts: 'GET',
  },
  '/ahv/policies/vm-startup-policies/{vmStartupPolicyExtId}/dependency-conflicts/{dependencyConflictExtId}/dependee-vms':
    { listVmStartupPolicyDependencyConflictDependeeVms: 'GET' },
  '/ahv/policies/vm-startup-policies/{vmStartupPolicyExtId}/dependency-conflicts/{dependencyConflictExtId}/dependent-vms':
    { listVmStartupPolicyDependencyConflictDependentVms: 'GET' },
  '/ahv/policies/vm-startup-policies/{vmStartupPolicyExtId}/start-condition-conflicts': {
    VmStartupPolicyStartConditionConflict: 'get',
    listVmStartupPolicyStartConditionConflicts: 'GET',
  },
  '/ahv/policies/vm-startup-policies/{vmStartupPolicyExtId}/start-condition-conflicts/{startConditionConflictExtId}/dependee-vms':
    { listVmStartupPolicyStartConditionConflictDependeeVms: 'GET' },
  '/ahv/policies/vm-startup-policies/{vmStartupPolicyExtId}/start-condition-conflicts/{startConditionConflictExtId}/dependent-vms':
    { listVmStartupPolicyStartConditionConflictDependentVms: 'GET' },
  '/ahv/policies/vm-startup-policies/{vmStartupPolicyExtId}/vm-compliance-states': {
    listVmStartupPolicyVmComplianceStates: 'GET',
  },
  '/config/template-placement-policies': { TemplatePlacementPolicy: 'list create get update delete' },
  '/content/images': { importImage: 'POST /$actions/import' },
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
  '/images/config/effective-rate-limit-policies': { EffectiveRateLimitPolicy: 'list' },
  '/images/config/placement-policies': {
    PlacementPolicy: 'list create get update delete',
    resumePlacementPolicy: 'resume',
    suspendPlacementPolicy: 'suspend',
  },
  '/images/config/rate-limit-policies': { RateLimitPolicy: 'list create get update delete' },
}
