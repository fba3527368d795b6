/** Operations that are known and not built yet. This list only shrinks. Source: catalogue vmm.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {
  '/ahv/config/vms': {
    crossClusterMigrateVm: 'migrate',
  },
  '/content/ovas': { Ova: 'list create get update delete', deployOva: 'deploy' },
  '/content/ovas/{ovaExtId}/file': { getFileByOvaId: 'GET' },
  '/extern/config/vms': { 'extern.revertVm': 'revert' },
}
