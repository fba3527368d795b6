import { namespace } from '../operation.ts'
import { imageOperations } from './content/image.ts'
import { imagePlacementPolicyOperations } from './content/image-placement-policy.ts'
import { imageRateLimitPolicyOperations } from './content/image-rate-limit-policy.ts'
import { templatePlacementPolicyOperations } from './content/template-placement-policy.ts'
import { vmmErrors } from './errors.ts'
import { externGuestToolsOperations } from './extern/guest-tools-operations.ts'
import { externVmOperations } from './extern/vm.ts'
import { externVmDiskStatsOperations } from './extern/vm-disk-stats.ts'
import { externVmNicStatsOperations } from './extern/vm-nic-stats.ts'
import { externVmStatsOperations } from './extern/vm-stats.ts'
import { legacyVmAntiAffinityPolicyOperations } from './policies/legacy-vm-anti-affinity-policy.ts'
import { vmAntiAffinityPolicyOperations } from './policies/vm-anti-affinity-policy.ts'
import { vmHostAffinityPolicyOperations } from './policies/vm-host-affinity-policy.ts'
import { vmStartupPolicyOperations } from './policies/vm-startup-policy.ts'
import { unimplemented } from './unimplemented.ts'
import { guestToolsOperations } from './vm/guest/guest-tools-operations.ts'
import { cdRomOperations } from './vm/parts/cd-rom.ts'
import { diskOperations } from './vm/parts/disk.ts'
import { gpuOperations } from './vm/parts/gpu.ts'
import { nicOperations } from './vm/parts/nic.ts'
import { pcieDeviceOperations } from './vm/parts/pcie-device.ts'
import { serialPortOperations } from './vm/parts/serial-port.ts'
import { vmRecoveryPointOperations } from './vm/recovery-point.ts'
import { vmDiskStatsOperations } from './vm/statistics/vm-disk-stats.ts'
import { vmNicStatsOperations } from './vm/statistics/vm-nic-stats.ts'
import { vmStatsOperations } from './vm/statistics/vm-stats.ts'
import { vmOperations } from './vm/vm.ts'

export const vmm = namespace({
  name: 'vmm',
  versions: ['v4.2'],
  label: '1.0.0',
  kinds: {
    'cd-rom': cdRomOperations,
    disk: diskOperations,
    gpu: gpuOperations,
    'guest-tools': guestToolsOperations,
    image: imageOperations,
    'image-placement-policy': imagePlacementPolicyOperations,
    'image-rate-limit-policy': imageRateLimitPolicyOperations,
    'legacy-vm-anti-affinity-policy': legacyVmAntiAffinityPolicyOperations,
    nic: nicOperations,
    'pcie-device': pcieDeviceOperations,
    'serial-port': serialPortOperations,
    'template-placement-policy': templatePlacementPolicyOperations,
    vm: vmOperations,
    'vm-anti-affinity-policy': vmAntiAffinityPolicyOperations,
    'vm-disk-stats': vmDiskStatsOperations,
    'vm-host-affinity-policy': vmHostAffinityPolicyOperations,
    'vm-nic-stats': vmNicStatsOperations,
    'vm-startup-policy': vmStartupPolicyOperations,
    'vm-recovery-point': vmRecoveryPointOperations,
    'vm-stats': vmStatsOperations,
  },
  groups: {
    extern: {
      'guest-tools': externGuestToolsOperations,
      vm: externVmOperations,
      'vm-disk-stats': externVmDiskStatsOperations,
      'vm-nic-stats': externVmNicStatsOperations,
      'vm-stats': externVmStatsOperations,
    },
  },
  unimplemented,
  errors: vmmErrors,
})
