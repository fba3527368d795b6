/** For worlds and the control interface; a seed has no pipeline and uses `assembleWorld` alone. */

import { createRateLimiter, type RateLimiterOptions } from '../access/rate-limit.ts'
import type { Sealer } from '../access/secrets.ts'
import { createIdempotency } from '../idempotency.ts'
import type { Authenticator, Tasks } from '../ports.ts'
import type { TaskStarter } from '../tasks/define-task.ts'
import type { WorldClock } from '../time/clock.ts'
import { recordRetention } from '../time/retention.ts'
import { startSchedules } from '../time/schedules.ts'
import type { SecretReader, Services, World } from '../world.ts'
import type { Collected } from './collect.ts'
import { createPipeline } from './dispatch.ts'
import type { Machinery } from './machinery.ts'
import type { Dispatch } from './request.ts'

type LateServices = Pick<Services, 'runner' | 'authenticator' | 'dispatch'>

type CommonServices = Pick<Services, 'router' | 'names' | 'tags' | 'access' | 'passwords' | 'tier'>

export type WorldServices = Omit<Services, keyof LateServices>

export interface WorldParts<D> extends Omit<World<D>, 'services'> {
  readonly owner: string
  /** Reading an absent service throws an error that names it. */
  readonly services: Partial<Services>
}

export interface AssembleOptions<D, R extends Tasks & TaskStarter>
  extends Pick<WorldParts<D>, 'owner' | 'tenantId' | 'ids' | 'drivers'>,
    Pick<Machinery<D>, 'store' | 'kinds' | 'audit' | 'admit' | 'serialised' | 'spool' | 'forward' | 'faults' | 'log'> {
  readonly clock: WorldClock
  readonly sealer: Pick<Sealer, 'seal' | 'open'>
  readonly services: CommonServices & Partial<WorldServices>
  readonly operations: Collected<D>
  readonly rates: Omit<RateLimiterOptions, 'tier'>
  readonly fingerprintSalt: string
  readonly runner: (world: World<D>) => R
  readonly authenticator: (world: World<D>) => Authenticator
  /** Wraps the pipeline for requests of the world to itself (elements of batches). */
  readonly ownDispatch?: (dispatch: Dispatch) => Dispatch
}

export interface Assembled<D, R> {
  readonly world: World<D>
  readonly runner: R
  readonly authenticator: Authenticator
  readonly dispatch: Dispatch
  startSchedules(): () => void
}

export function assemble<D, R extends Tasks & TaskStarter>(options: AssembleOptions<D, R>): Assembled<D, R> {
  const { owner, tenantId, clock, ids, drivers, sealer, services, operations, rates, fingerprintSalt, ...rest } =
    options
  const { runner: createRunner, authenticator: createAuthenticator, ownDispatch, ...pipeline } = rest
  const late = new LateBound<LateServices>(owner)
  const world = assembleWorld<D>({
    ...{ owner, tenantId, clock, ids, drivers, secrets: secretReader(sealer) },
    services: {
      ...services,
      get runner() {
        return late.value.runner
      },
      get authenticator() {
        return late.value.authenticator
      },
      get dispatch() {
        return late.value.dispatch
      },
    },
  })
  const runner = createRunner(world)
  const authenticator = createAuthenticator(world)
  const { router, names, access, tags, tier } = services
  const { handlers, rules, prepares, presenters, computed } = operations
  const { dispatch } = createPipeline<D>({
    ...pipeline,
    ...{ world, router, names, access, tags, authenticator, runner, handlers, rules, prepares, presenters, computed },
    limiter: createRateLimiter({ ...rates, tier }),
    idempotency: createIdempotency({
      clock,
      salt: fingerprintSalt,
      seal: (text, about) => sealer.seal(text, about),
      open: (sealed, about) => sealer.open(sealed, about),
    }),
  })
  late.bind({ runner, authenticator, dispatch: ownDispatch?.(dispatch) ?? dispatch })
  const schedules = [...operations.schedules, recordRetention]
  const { store, log } = pipeline
  return {
    ...{ world, runner, authenticator, dispatch },
    startSchedules: () => startSchedules(schedules, { ...world, store, runner }, clock, log),
  }
}

export class AbsentService extends Error {
  constructor(owner: string, service: string) {
    super(`${owner} has no service "${service}"`)
  }
}

export const assembleWorld = <D>({ owner, services, ...parts }: WorldParts<D>): World<D> => ({
  ...parts,
  services: refusingAbsent(owner, services),
})

/** A handler that starts a task fails with an error that names `owner`. */
export function noTasks(owner: string): Tasks & TaskStarter {
  const refuse = async (): Promise<never> => {
    throw new Error(`${owner} has no tasks`)
  }
  return { starter: () => refuse, requestCancel: refuse, size: () => 0, queueLength: () => 0, queueAhead: () => 0 }
}

function refusingAbsent(owner: string, present: Partial<Services>): Services {
  // As the prototype, so that reading a service that is present does not pass through the proxy.
  const absent = new Proxy(
    {},
    {
      get(target, name) {
        if (typeof name === 'string' && !(name in target)) throw new AbsentService(owner, name)
        return Reflect.get(target, name)
      },
    },
  )
  return Object.create(absent, Object.getOwnPropertyDescriptors(present))
}

const secretReader = (sealer: Pick<Sealer, 'open'>): SecretReader => ({
  open(kind, extId, path, value) {
    const sealed = (value as { $sealed?: string } | undefined)?.$sealed
    return sealed === undefined ? undefined : sealer.open(sealed, `${kind}/${extId}/${path}`)
  },
})

class LateBound<T> {
  readonly #owner: string
  #value: T | undefined

  constructor(owner: string) {
    this.#owner = owner
  }

  bind(value: T): void {
    this.#value = value
  }

  get value(): T {
    if (this.#value === undefined) throw new Error(`${this.#owner} is used before it is assembled`)
    return this.#value
  }
}
