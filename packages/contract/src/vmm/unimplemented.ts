/** Operations that are known and not built yet. This list only shrinks. Source: catalogue vmm.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {
  '/extern/config/vms': { 'extern.revertVm': 'revert' },
}
