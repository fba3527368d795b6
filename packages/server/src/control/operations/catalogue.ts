/** Names that fault rules and events can use, read from the registries that check rules and events. */
import { catalogueOperations } from '@hyperplane/contract/control/catalogue'
import { ApiError } from '../../core/api-error.ts'
import { defaultWorld } from '../../worlds/worlds.ts'
import { eventsAndFacts } from '../catalogue/event-examples.ts'
import { driverCallEntries, errorEntries, taskEntries } from '../catalogue/rule-examples.ts'
import { implementForWorlds } from '../context.ts'
import { orWorldUnusable } from '../world-errors.ts'

export const catalogue = implementForWorlds(catalogueOperations, {
  async getCatalogue(ctx, { query }) {
    const name = (query.parameters['world'] as string | undefined) ?? defaultWorld
    const hosted = ctx.drivers.worlds.get(name)
    if (hosted === undefined) throw new ApiError('WORLD_NOT_FOUND', { kind: 'world', id: name, attribute: 'world' })
    const world = await orWorldUnusable(name, () => hosted.instance())
    return {
      tasks: taskEntries(),
      driverCalls: driverCallEntries(),
      errors: errorEntries(),
      ...(await eventsAndFacts(world)),
    }
  },
})
