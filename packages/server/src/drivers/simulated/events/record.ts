/** An event in the world's own store, with internal fields. */
import { type EntityOf, optional, resource, text } from '@hyperplane/contract'
import { WorldEvent, worldEventOperations } from '@hyperplane/contract/control/world-event'

const { tenantId, extId, links, ...fields } = WorldEvent.schema.fields as typeof WorldEvent.schema.fields & {
  readonly extId: unknown
}

const { filter = [], orderby = [] } = worldEventOperations.listWorldEvents

export const EventRecord = resource(
  'internal.v1.world.EventRecord',
  {
    ...fields,
    /** Digest of the secret that came with the event. */
    secretDigest: optional(text()),
  },
  { indexed: [...new Set([...filter, ...orderby])] },
)

export type EventRow = EntityOf<typeof EventRecord>
