/** Operations that are known and not built yet. This list only shrinks. Source: catalogue clustermgmt.json. */
import type { Unimplemented } from '../unimplemented.ts'

export const unimplemented: Unimplemented = {
  '/config/clusters': { Cluster: 'create delete' },
}
