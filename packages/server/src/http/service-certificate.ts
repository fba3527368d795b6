/** The default certificate of the service, replaceable while connections are open. Source: behaviour clustermgmt.md 1.15. */
import { createSecureContext } from 'node:tls'
import type { ServiceTls } from '../core/ports.ts'
import type { ServerCertificate } from './certificates/make.ts'

interface CertificateServer {
  useCertificate(certificate: ServerCertificate): void
  shownCertificate(): Promise<string>
}

export class ServiceCertificate implements ServiceTls {
  readonly isConfigured: boolean
  readonly #own: ServerCertificate
  #current: ServerCertificate
  #server: CertificateServer | undefined

  constructor(own: ServerCertificate, isConfigured: boolean) {
    this.isConfigured = isConfigured
    this.#own = own
    this.#current = own
  }

  get current(): ServerCertificate {
    return this.#current
  }

  attach(server: CertificateServer): void {
    this.#server = server
  }

  use(pair: ServerCertificate | undefined): void {
    const next = pair ?? this.#own
    if (next === this.#current) return
    // Throws for a pair that TLS refuses, before anything has changed.
    createSecureContext(next)
    this.#current = next
    this.#server?.useCertificate(next)
  }

  async shownCertificate(): Promise<string> {
    return this.#server === undefined ? this.#current.cert : this.#server.shownCertificate()
  }
}
