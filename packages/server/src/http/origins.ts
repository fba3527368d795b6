import type { IncomingMessage } from 'node:http'
import type { Target } from './wire/target.ts'
import type { WorldPorts } from './wire/world-ports.ts'
import { namesWorld } from './world-choice.ts'

export interface OriginOptions {
  readonly scheme: 'http' | 'https'
  /** undefined: links repeat the host that the client called. */
  readonly publicUrl: string | undefined
  readonly worldPorts: WorldPorts
}

/** A target in absolute form replaces the header `Host`. */
export const requestedHost = (request: IncomingMessage, { authority }: Target): string | undefined =>
  authority ?? request.headers.host

export const originAt = (scheme: string, host: string, port: number): string =>
  `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`

export class Origins {
  port = 0
  readonly #options: OriginOptions

  constructor(options: OriginOptions) {
    this.#options = options
  }

  /** The default if the request shows no better one. */
  get local(): string {
    return `${this.#options.scheme}://localhost:${this.port}`
  }

  /** A malformed or hostile `Host` never appears in a link. */
  of(request: IncomingMessage, target: Target): string {
    const { scheme, publicUrl, worldPorts } = this.#options
    const host = requestedHost(request, target)
    // Only the called host or port leads to a world other than `default`.
    const isOfWorld = worldPorts.worldOf(request.socket) !== undefined || (host !== undefined && namesWorld(host))
    if (publicUrl !== undefined && !isOfWorld) return publicUrl
    return host !== undefined && validHost.test(host) ? `${scheme}://${host}` : this.local
  }
}

const validHost = /^(?:[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:]{2,45}\])(?::\d{1,5})?$/
