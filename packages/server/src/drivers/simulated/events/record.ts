import { type EntityOf, optional, resource, text } from '@hyperplane/contract'
import { WorldEvent, worldEventOperations } from '@hyperplane/contract/control/world-event'

const { tenantId, extId, links, ...fields } = WorldEvent.schema.fields as typeof WorldEvent.schema.fields & {
  readonly extId: unknown
}

const { filter = [], orderby = [] } = worldEventOperations.listWorldEvents

export const EventRecord = resource('internal.v1.world.EventRecord', {
  fields: {
    ...fields,
    secretDigest: optional(text()),
  },
  indexed: [...new Set([...filter, ...orderby])],
})

export type EventRow = EntityOf<typeof EventRecord>
