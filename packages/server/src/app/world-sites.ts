import { randomUUID } from 'node:crypto'
import type { Namespace } from '@hyperplane/contract'
import type { Control } from '../control/control.ts'
import { ApiError } from '../core/api-error.ts'
import { createEnvelopeWriter, type EnvelopeWriter } from '../http/envelope.ts'
import type { Site } from '../http/exchange.ts'
import { inOrder } from '../worlds/in-order.ts'
import type { HostedWorld } from '../worlds/world.ts'
import type { Worlds } from '../worlds/worlds.ts'

export class WorldSites {
  readonly #worlds: Worlds
  readonly #control: Control | undefined
  readonly #namespaces: ReadonlyMap<string, Namespace>
  readonly #envelopes: EnvelopeWriter
  readonly #sites = new WeakMap<HostedWorld, Site>()

  constructor(worlds: Worlds, control: Control | undefined, namespaces: ReadonlyMap<string, Namespace>) {
    this.#worlds = worlds
    this.#control = control
    this.#namespaces = namespaces
    this.#envelopes = createEnvelopeWriter({ namespaces })
  }

  get(name: string): Site | undefined {
    const world = this.#worlds.get(name)
    return world === undefined ? undefined : this.#siteOf(world)
  }

  control(home: HostedWorld): Site | undefined {
    if (this.#control === undefined) return undefined
    return { ...this.#control.site, opening: () => undefined, makeRequestId: requestIdsOf(home) }
  }

  #siteOf(world: HostedWorld): Site {
    const cached = this.#sites.get(world)
    if (cached !== undefined) return cached
    const site: Site = {
      base: '/api',
      namespaces: this.#namespaces,
      envelopes: this.#envelopes,
      now: world.now,
      opening: () => (world.state.is === 'RESTING' ? world.instance().catch(() => undefined) : undefined),
      makeRequestId: requestIdsOf(world),
      dispatch: inOrder(world),
      recorder: this.#control?.ofWorld(world).recorder,
      async openConsole(vmExtId, token) {
        // As for a wrong token: a client must not learn that a world exists and cannot be opened.
        const instance = await world.instance().catch(() => undefined)
        if (instance === undefined) throw new ApiError('CONSOLE_TOKEN_REFUSED')
        return instance.consoles.open(vmExtId, token)
      },
    }
    this.#sites.set(world, site)
    return site
  }
}

/** From the world's random source, so that a world repeats them. */
const requestIdsOf = (world: HostedWorld) => (): string => world.current?.makeRequestId() ?? randomUUID()
