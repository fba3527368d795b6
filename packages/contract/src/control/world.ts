/**
 * An isolated control plane with its own store, clock, randomness and infrastructure; `default` always exists. Selected by the header
 * `X-World`, the host `<name>.localhost`, or a port of its own.
 */
import { action, create, type EntityOf, get, list, read, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { controlled, worldName } from './administration.ts'

export const presets = ['empty', 'tiny', 'demo', 'lab', 'large'] as const

export const ClockSetting = s.object('control.v1.ClockSetting', {
  mode: s.withDefault(s.enumeration(['real', 'frozen', 'scaled']), 'real'),
  /** Seconds of world time in one real second; for `scaled`. */
  scale: s.optional(s.number({ minimum: 0.000001, maximum: 1_000_000 })),
  /** World time; default: the real time. */
  startTime: s.optional(s.timestamp()),
})

const port = s.integer({ minimum: 0, maximum: 65_535 })

const settings = {
  rateLimits: s.optional(s.enumeration(['on', 'report', 'off'])),
  limits: s.optional(s.enumeration(['real-time', 'world-clock'])),
  durations: s.optional(s.enumeration(['instant', 'natural'])),
  lockout: s.optional(s.enumeration(['on', 'off'])),
  clock: s.optional(ClockSetting),
} as const

export const World = resource('control.v1.World', {
  fields: {
    name: s.immutable(worldName),
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    /** Serves this world only; 0: a free one, which answers show. Absent: none. */
    port: s.optional(port),
    preset: s.readOnly(s.enumeration(presets)),
    rateLimits: s.readOnly(settings.rateLimits),
    limits: s.readOnly(settings.limits),
    durations: s.readOnly(settings.durations),
    lockout: s.readOnly(settings.lockout),
    clock: s.readOnly(ClockSetting),
    forkedFrom: s.readOnly(worldName),
    createTime: s.readOnly(s.timestamp()),
    /** Absent unless the world is OPEN. */
    time: s.readOnly(s.timestamp()),
    /** RESTING: closed until its next request. FAILED: its store does not open; `fault` says why. */
    state: s.readOnly(s.enumeration(['OPEN', 'RESTING', 'FAILED'])),
    fault: s.readOnly(s.text()),
    /** URLs that reach the world without a header, with `/api`. */
    urls: s.readOnly(s.arrayOf(s.text(), { maxItems: 2 })),
    sizeBytes: s.readOnly(s.integer({ minimum: 0 })),
  },
  bare: true,
  indexed: ['name'],
  notFound: 'WORLD_NOT_FOUND',
})
export type World = EntityOf<typeof World>

/** Stored with the world, for resets; answers do not repeat it. */
const seedText = s.text({ minLength: 1, maxLength: 64 * 1024 * 1024, multiline: true })

const creation = {
  name: worldName,
  description: s.optional(s.text({ maxLength: 1000, multiline: true })),
  port: s.optional(port),
  /** Default: the password of the world `default`. */
  adminPassword: s.secret(s.text({ minLength: 8, maxLength: 255 })),
  ...settings,
} as const

const WorldCreation = s.object('control.v1.WorldCreation', {
  ...creation,
  /** Excludes `seed`; default: `demo`. */
  preset: s.optional(s.enumeration(presets)),
  seed: s.optional(seedText),
})

const WorldFork = s.object('control.v1.WorldFork', {
  name: worldName,
  description: s.optional(s.text({ maxLength: 1000, multiline: true })),
  port: s.optional(port),
})

const WorldImport = s.object('control.v1.WorldImport', {
  ...creation,
  seed: s.text({ minLength: 1 }),
})

const envelope = 'control.v1.WorldApiResponse'
const largestSeed = 65 * 1024 * 1024
/** Size of an export of 250,000 VMs; an option of the service sets a lower limit. */
const largestImport = 400 * 1024 * 1024

export const worldOperations = {
  listWorlds: list('/worlds', World, {
    ...controlled,
    envelope: 'control.v1.ListWorldsApiResponse',
    filter: ['name', 'forkedFrom', 'createTime'],
    orderby: ['name', 'createTime'],
    select: 'any',
  }),
  createWorld: create('/worlds', World, {
    ...controlled,
    envelope,
    iam: 'Create_World',
    body: WorldCreation,
    maximumBodyBytes: largestSeed,
  }),
  importWorld: action('/worlds/$actions/import', {
    ...controlled,
    envelope,
    iam: 'Create_World',
    body: WorldImport,
    form: { spooled: ['seed'] },
    answer: World.schema,
    status: 201,
    maximumBodyBytes: largestImport,
  }),
  getWorld: get('/worlds/{worldName}', World, { ...controlled, envelope }),
  updateWorld: update('/worlds/{worldName}', World, {
    ...controlled,
    envelope,
    iam: 'Update_World',
  }),
  deleteWorld: remove('/worlds/{worldName}', World, { ...controlled, envelope }),
  forkWorld: action('/worlds/{worldName}/$actions/fork', {
    ...controlled,
    of: World,
    envelope,
    iam: 'Create_World',
    body: WorldFork,
    answer: World.schema,
    status: 201,
  }),
  resetWorld: action('/worlds/{worldName}/$actions/reset', {
    ...controlled,
    of: World,
    envelope,
    iam: 'Update_World',
    answer: World.schema,
  }),
  /** `within`: ISO 8601 duration on the world clock to wait for unfinished tasks; at most a minute of real time. */
  exportWorld: read('/worlds/{worldName}/seed', s.text(), {
    ...controlled,
    of: World,
    envelope,
    query: { within: s.optional(s.text({ minLength: 3, maxLength: 40 })) },
    produces: 'application/yaml',
  }),
}
