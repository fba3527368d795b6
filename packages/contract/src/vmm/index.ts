import { namespace } from '../operation.ts'
import { imageOperations } from './content/image.ts'
import { ovaOperations } from './content/ova.ts'
import { templateOperations, templateVersionOperations } from './content/template.ts'
import { vmmErrors } from './errors.ts'
import { externVmOperations } from './extern/vm.ts'
import { externVmDiskStatsOperations } from './extern/vm-disk-stats.ts'
import { externVmNicStatsOperations } from './extern/vm-nic-stats.ts'
import { externVmStatsOperations } from './extern/vm-stats.ts'
import { vmAntiAffinityPolicyOperations } from './policies/vm-anti-affinity-policy.ts'
import { unimplemented } from './unimplemented.ts'
import { cdRomOperations } from './vm/parts/cd-rom.ts'
import { diskOperations } from './vm/parts/disk.ts'
import { nicOperations } from './vm/parts/nic.ts'
import { serialPortOperations } from './vm/parts/serial-port.ts'
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
    image: imageOperations,
    nic: nicOperations,
    ova: ovaOperations,
    'serial-port': serialPortOperations,
    template: templateOperations,
    'template-version': templateVersionOperations,
    vm: vmOperations,
    'vm-anti-affinity-policy': vmAntiAffinityPolicyOperations,
    'vm-disk-stats': vmDiskStatsOperations,
    'vm-nic-stats': vmNicStatsOperations,
    'vm-stats': vmStatsOperations,
  },
  groups: {
    extern: {
      vm: externVmOperations,
      'vm-disk-stats': externVmDiskStatsOperations,
      'vm-nic-stats': externVmNicStatsOperations,
      'vm-stats': externVmStatsOperations,
    },
  },
  unimplemented,
  errors: vmmErrors,
})
