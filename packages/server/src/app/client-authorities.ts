import type { pino } from 'pino'
import type { HttpServer } from '../http/server.ts'
import { storeAuthorities, storedAuthorities } from '../worlds/client-authorities.ts'
import type { HostedWorld } from '../worlds/world.ts'
import type { Worlds } from '../worlds/worlds.ts'

export class ClientAuthorities {
  readonly #worlds: Worlds
  readonly #server: Pick<HttpServer, 'requestCertificates'>
  readonly #log: pino.Logger
  readonly #isClosing: () => boolean

  constructor(
    worlds: Worlds,
    server: Pick<HttpServer, 'requestCertificates'>,
    log: pino.Logger,
    isClosing: () => boolean,
  ) {
    this.#worlds = worlds
    this.#server = server
    this.#log = log
    this.#isClosing = isClosing
  }

  /** Asks for the authorities of all worlds, because the world of a connection is not known yet. */
  async refresh(): Promise<void> {
    const authorities = await Promise.all([...this.#worlds.all()].map((world) => this.#authoritiesOf(world)))
    this.#server.requestCertificates([...new Set(authorities.flat())])
  }

  /** A world that is broken or being closed must not hinder the others. */
  async #authoritiesOf({ name, current, config }: HostedWorld): Promise<readonly string[]> {
    try {
      if (current === undefined) return storedAuthorities(config.data)
      const authorities = await current.clientCertificates.authorities()
      storeAuthorities(config.data, authorities)
      return authorities
    } catch (error) {
      const message =
        'the trusted authorities of a world cannot be read: no certificates are requested from its clients'
      if (!this.#isClosing()) this.#log.error({ err: error, world: name }, message)
      return []
    }
  }
}
