/**
 * Something that happens in a world below the interface, now or at a time of the world's clock: a host fails, a disk, a link;
 * somebody changes a setting at the cluster itself. The list of them is the world's history.
 * Source: DESIGN D; decision events-below-the-interface.
 */
import { create, get, list, remove, resource } from '../operation.ts'
import { arrayOf, enumeration, immutable, object, optional, readOnly, text, timestamp } from '../schema.ts'
import { controlled } from './administration.ts'
import { happeningTypes, WorldHappening } from './world-happening.ts'

/** ISO 8601: `PT5M`, `P90D`. */
const duration = text({ minLength: 3, maxLength: 40 })

export const WorldEvent = resource(
  'control.v1.WorldEvent',
  {
    event: immutable(WorldHappening),
    type: readOnly(enumeration(happeningTypes)),
    /**
     * SCHEDULED: it has not begun. LASTING: it has, and goes on. OVER: it has happened, and nothing of it is to come.
     * FAILED: when its time came it could not happen.
     */
    status: readOnly(enumeration(['SCHEDULED', 'LASTING', 'OVER', 'FAILED'])),
    /** What it happens to. */
    target: readOnly(
      object('control.v1.WorldEventTarget', { kind: text(), extId: text(), name: text({ maxLength: 255 }) }),
    ),
    startTime: readOnly(timestamp()),
    /** When it ended, or will; absent: it goes on until its counterpart happens. */
    endTime: readOnly(timestamp()),
    /** What it changed, in order; nothing: it was so already. */
    effects: readOnly(arrayOf(text(), { maxItems: 20 })),
    /** Why it could not happen. */
    fault: readOnly(text()),
  },
  // Kept in the world's own store, with the facts that events change: a fork takes both along, a reset drops both.
  { title: 'world event', derived: true },
)

/** Absent times: now, and until its counterpart happens. */
const WorldEventPlan = object('control.v1.WorldEventPlan', {
  event: WorldHappening,
  /** From now on; or `at`. */
  after: optional(duration),
  at: optional(timestamp()),
  /** How long it lasts; or `until`. Only of what has a counterpart. */
  duration: optional(duration),
  until: optional(timestamp()),
})

const envelope = 'control.v1.WorldEventApiResponse'

export const worldEventOperations = {
  listWorldEvents: list('/worlds/{worldName}/events', WorldEvent, {
    ...controlled,
    envelope: 'control.v1.ListWorldEventsApiResponse',
    iam: 'View_World_Event',
    filter: ['endTime', 'startTime', 'status', 'target/extId', 'target/kind', 'target/name', 'type'],
    orderby: ['endTime', 'startTime', 'status', 'type'],
    select: 'any',
  }),
  createWorldEvent: create('/worlds/{worldName}/events', WorldEvent, {
    ...controlled,
    envelope,
    iam: 'Create_World_Event',
    body: WorldEventPlan,
  }),
  getWorldEvent: get('/worlds/{worldName}/events/{extId}', WorldEvent, {
    ...controlled,
    envelope,
    iam: 'View_World_Event',
  }),
  /** Calls off what has not begun. */
  deleteWorldEvent: remove('/worlds/{worldName}/events/{extId}', WorldEvent, {
    ...controlled,
    envelope,
    iam: 'Delete_World_Event',
  }),
}
