import { namespace } from '../operation.ts'
import { cdRomOperations } from './cd-rom.ts'
import { diskOperations } from './disk.ts'
import { vmmErrors } from './errors.ts'
import { externVmOperations } from './extern/vm.ts'
import { externVmDiskStatsOperations } from './extern/vm-disk-stats.ts'
import { externVmNicStatsOperations } from './extern/vm-nic-stats.ts'
import { externVmStatsOperations } from './extern/vm-stats.ts'
import { imageOperations } from './image.ts'
import { nicOperations } from './nic.ts'
import { unimplemented } from './unimplemented.ts'
import { vmOperations } from './vm.ts'
import { vmDiskStatsOperations } from './vm-disk-stats.ts'
import { vmNicStatsOperations } from './vm-nic-stats.ts'
import { vmStatsOperations } from './vm-stats.ts'

export const vmm = namespace({
  name: 'vmm',
  versions: ['v4.2'],
  label: '1.0.0',
  kinds: {
    'cd-rom': cdRomOperations,
    disk: diskOperations,
    image: imageOperations,
    nic: nicOperations,
    vm: vmOperations,
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
