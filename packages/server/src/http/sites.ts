import type { IncomingMessage } from 'node:http'
import { ApiError } from '../core/api-error.ts'
import type { Site } from './exchange.ts'
import { requestedHost } from './origins.ts'
import type { Target } from './wire/target.ts'
import type { WorldPorts } from './wire/world-ports.ts'
import { chosenWorld } from './world-choice.ts'

export interface ChosenSite {
  readonly site: Site
  /** For an unknown world, or two worlds in one request. */
  readonly refusal?: ApiError
}

export class Sites {
  readonly #siteOf: (world: string) => Site | undefined
  readonly #worldPorts: WorldPorts

  constructor(siteOf: (world: string) => Site | undefined, worldPorts: WorldPorts) {
    this.#siteOf = siteOf
    this.#worldPorts = worldPorts
  }

  get default(): Site {
    const site = this.#siteOf('default')
    if (site === undefined) throw new Error('the world default has no site')
    return site
  }

  /** Requests for unknown worlds go to `default`, which reveals the refusal only to its administrators. */
  choose(request: IncomingMessage, target: Target): ChosenSite {
    try {
      const header = request.headers['x-world']
      const name = chosenWorld({
        header: Array.isArray(header) ? header[0] : header,
        host: requestedHost(request, target),
        port: this.#worldPorts.worldOf(request.socket),
      })
      const site = this.#siteOf(name ?? 'default')
      if (site !== undefined) return { site }
      const id = String(name).slice(0, 100)
      throw new ApiError('WORLD_NOT_FOUND', { kind: 'world', id, attribute: 'X-World, host' })
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return { site: this.default, refusal: error }
    }
  }
}
