/** An event in the simulated infrastructure of a world. Source: decision events-below-the-interface. */
import { create, get, list, remove, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { controlled } from './administration.ts'
import { happeningTypes, WorldHappening } from './world-happening.ts'

const duration = s.text({ minLength: 3, maxLength: 40 })

export const WorldEvent = resource('control.v1.WorldEvent', {
  fields: {
    event: s.immutable(WorldHappening),
    type: s.readOnly(s.enumeration(happeningTypes)),
    /** SCHEDULED: not started. LASTING: started, not ended. OVER: ended. FAILED: impossible when its time came. */
    status: s.readOnly(s.enumeration(['SCHEDULED', 'LASTING', 'OVER', 'FAILED'])),
    target: s.readOnly(
      s.object('control.v1.WorldEventTarget', { kind: s.text(), extId: s.text(), name: s.text({ maxLength: 255 }) }),
    ),
    startTime: s.readOnly(s.timestamp()),
    /** Past or scheduled end; absent: it lasts until its counterpart happens. */
    endTime: s.readOnly(s.timestamp()),
    /** Empty if the state was already as the event would leave it. */
    effects: s.readOnly(s.arrayOf(s.text(), { maxItems: 20 })),
    fault: s.readOnly(s.text()),
  },
  derived: true,
})

/** Without times, the event begins now and lasts until its counterpart happens. */
const WorldEventPlan = s.object('control.v1.WorldEventPlan', {
  event: WorldHappening,
  /** From now; excludes `at`. */
  after: s.optional(duration),
  at: s.optional(s.timestamp()),
  /** Only for events that have a counterpart; excludes `until`. */
  duration: s.optional(duration),
  until: s.optional(s.timestamp()),
})

const envelope = 'control.v1.WorldEventApiResponse'

export const worldEventOperations = {
  listWorldEvents: list('/worlds/{worldName}/events', WorldEvent, {
    ...controlled,
    envelope: 'control.v1.ListWorldEventsApiResponse',
    filter: ['endTime', 'startTime', 'status', 'target/extId', 'target/kind', 'target/name', 'type'],
    orderby: ['endTime', 'startTime', 'status', 'type'],
    select: 'any',
  }),
  createWorldEvent: create('/worlds/{worldName}/events', WorldEvent, { ...controlled, envelope, body: WorldEventPlan }),
  getWorldEvent: get('/worlds/{worldName}/events/{extId}', WorldEvent, { ...controlled, envelope }),
  deleteWorldEvent: remove('/worlds/{worldName}/events/{extId}', WorldEvent, { ...controlled, envelope }),
}
