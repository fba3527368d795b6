/** Requests of random walks for tasks. */
import * as walk from '../../restart/walks/request-parts.ts'

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  cancelTask: ({ model, draw }) => walk.post(`${model.path(draw, walk.collections.tasks)}/$actions/cancel`),
}

export const walkEntities = { [walk.collections.tasks]: [] }
