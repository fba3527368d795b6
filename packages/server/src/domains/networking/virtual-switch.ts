/** Source: behaviour networking.md 1.18. */
import { VirtualSwitch, virtualSwitchOperations } from '@hyperplane/contract/networking/virtual-switch'
import { both, pathOf, standardList } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import { implement } from '../context.ts'

export const virtualSwitch = implement(virtualSwitchOperations, {
  async listVirtualSwitches(ctx, request) {
    const scope = await ctx.scopeOf('VirtualSwitch')
    if (scope === 'none') return { entities: [], total: 0 }
    const { clusterId } = request.headers
    const ofCluster = clusterId === undefined ? undefined : equals(pathOf(VirtualSwitch, 'clusterExtId'), clusterId)
    const filter = both(request.query.filter, ofCluster)
    const query = { ...request.query, ...(filter === undefined ? {} : { filter }) }
    return standardList(ctx, { ...request, query }, scope ?? 'all')
  },
})
