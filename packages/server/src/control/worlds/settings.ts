import type { presets, World } from '@hyperplane/contract/control/world'
import { defined } from '../../core/defined.ts'
import { parseTime } from '../../core/time/clock.ts'
import type { NewSeed, WorldSettings } from '../../worlds/worlds.ts'

export interface NewWorld
  extends Pick<World, 'name' | 'description' | 'port' | 'rateLimits' | 'limits' | 'durations' | 'lockout' | 'clock'> {
  readonly preset?: (typeof presets)[number] | undefined
  readonly forkedFrom?: string
  readonly adminPassword?: string
}

/** The id of the row is the name of the world. */
export function rowOf({ adminPassword: _, ...stored }: NewWorld, createTime: string): World {
  return defined({ ...stored, extId: stored.name, createTime })
}

export function settingsOf(row: World, seed?: NewSeed): WorldSettings {
  const { preset, rateLimits, limits, durations, lockout, clock } = row
  const source: NewSeed | undefined = seed ?? preset
  const mode = clock?.mode === 'scaled' ? (clock.scale ?? 1) : clock?.mode
  return {
    ...(source === undefined ? {} : { seed: source }),
    ...(rateLimits === undefined ? {} : { rateLimits }),
    ...(limits === undefined ? {} : { limits }),
    ...(durations === undefined ? {} : { durations }),
    ...(lockout === undefined ? {} : { lockout }),
    ...(mode === undefined ? {} : { clock: mode }),
    ...(clock?.startTime === undefined ? {} : { startAt: parseTime(clock.startTime) }),
  }
}
