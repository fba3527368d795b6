/** Source: behaviour networking.md 1.10. */
import { bgpRouteOperations } from '@hyperplane/contract/networking/bgp-route'
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { ApiError } from '../../core/api-error.ts'
import { listOf } from '../../core/standard.ts'
import { implement, parentOf, type ReadContext } from '../context.ts'
import { viewOf } from './bgp-view.ts'

export const bgpRoute = implement(bgpRouteOperations, {
  async listRoutesByBgpSessionId(ctx, request) {
    return listOf(await routesOf(ctx), request)
  },
  async getRouteForBgpSessionById(ctx, { path }) {
    const { extId } = path
    const route = (await routesOf(ctx)).find((candidate) => candidate.extId === extId)
    if (route === undefined) throw new ApiError('NETWORKING_ENTITY_NOT_FOUND', { kind: 'BGP route', id: extId })
    return route
  },
})

const routesOf = async (ctx: ReadContext<unknown, 'bgpSessionExtId'>) =>
  (await viewOf(ctx, parentOf(ctx, 'bgpSessionExtId', BgpSession))).routes
