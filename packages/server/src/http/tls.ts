/**
 * A certificate per server name. Client certificates are requested while some world trusts an authority, and verified by each request, so
 * that a resumed session proves nothing by itself. Source: behaviour iam.md 5; conventions 14; decision a-local-authority.
 */
import { X509Certificate } from 'node:crypto'
import { createServer, type Server, type ServerOptions } from 'node:https'
import type { Socket } from 'node:net'
import {
  createSecureContext,
  type DetailedPeerCertificate,
  type SecureContext,
  type SecureContextOptions,
  TLSSocket,
} from 'node:tls'
import type { ClientCertificate } from '../core/ports.ts'
import type { ServerCertificate } from './certificates/make.ts'

export interface TlsOptions extends ServerOptions {
  readonly cert: string
  readonly key: string
  /** For names that the default certificate does not cover; undefined: none. */
  readonly certificateOf?: ((serverName: string) => ServerCertificate | undefined) | undefined
}

export interface TlsServers {
  current(): Server
  all(): readonly Server[]
  /** Authorities as PEM, from the next connection on; none: requests no client certificates. */
  ask(authorities: readonly string[]): void
  use(certificate: ServerCertificate): void
}

const maximumPresented = 10

/**
 * With any revocation list, OpenSSL demands one of every authority and leaves chains unverified. This is intended: requests verify, and
 * Node keeps intermediate certificates only of unverified chains (nodejs/node#65579).
 */
const unusedRevocationList = `-----BEGIN X509 CRL-----
MIGoMFACAQEwCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGTm9ib2R5Fw0yNjExMjEw
NzUxNDFaFw0yNjExMjIwNzUxNDFaoA4wDDAKBgNVHRQEAwIBATAKBggqhkjOPQQD
AgNIADBFAiEAvUVXxhUos25ouE5q7hPxmTblKjptGTliINtEZL9waMwCIGI9le3K
7vDvSXncWbcj+XzxxVkQaKmzTN0aHQuK7Qfg
-----END X509 CRL-----
`

/** An exception ends only the connection at hand. */
type SelectContext = NonNullable<ServerOptions['SNICallback']>

/** @param prepare called with each server before its first connection */
export function createTlsServers(options: TlsOptions, prepare: (server: Server) => void): TlsServers {
  const { minVersion } = options
  let own: ServerCertificate = { cert: options.cert, key: options.key }
  const make = (more: ServerOptions): Server => {
    const server = createServer({ ...options, ...own, ...more })
    prepare(server)
    return server
  }
  const selectorFor = (more: SecureContextOptions): SelectContext => {
    const contextOf = contextsOf(() => own.cert, options.certificateOf, { minVersion, ...more })
    return (serverName, answer) => answer(null, contextOf(serverName))
  }

  let trusted: SecureContextOptions = {}
  const notAsking = make({ SNICallback: selectorFor({}) })
  let asking: Server | undefined
  let selectAsking: SelectContext
  function trust(authorities: readonly string[]): Server {
    trusted = { ca: [...authorities], crl: unusedRevocationList }
    selectAsking = selectorFor(trusted)
    if (asking === undefined) {
      const SNICallback: SelectContext = (serverName, answer) => selectAsking(serverName, answer)
      asking = make({ ...trusted, SNICallback, requestCert: true, rejectUnauthorized: false })
    }
    // Open connections stay: their next request checks their certificates again.
    else asking.setSecureContext({ ...own, minVersion, ...trusted })
    return asking
  }

  let current = notAsking
  let currentAuthorities = ''
  return {
    current: () => current,
    all: () => (asking === undefined ? [notAsking] : [notAsking, asking]),
    ask(authorities) {
      const text = authorities.join()
      // Worlds are opened and removed often, mostly without a change here.
      if (text === currentAuthorities) return
      current = authorities.length === 0 ? notAsking : trust(authorities)
      currentAuthorities = text
    },
    use(certificate) {
      own = certificate
      notAsking.setSecureContext({ ...own, minVersion })
      asking?.setSecureContext({ ...own, minVersion, ...trusted })
    },
  }
}

/** undefined: the default certificate covers the name, or no certificate does. */
function contextsOf(
  defaultCertificate: () => string,
  certificateOf: TlsOptions['certificateOf'],
  more: SecureContextOptions,
): (serverName: string) => SecureContext | undefined {
  let covering: { readonly cert: string; readonly x509: X509Certificate } | undefined
  const isCovered = (serverName: string): boolean => {
    const cert = defaultCertificate()
    if (covering?.cert !== cert) covering = { cert, x509: new X509Certificate(cert) }
    return covering.x509.checkHost(serverName) !== undefined
  }
  const contexts = new WeakMap<ServerCertificate, SecureContext>()
  return (serverName) => {
    const certificate = isCovered(serverName) ? undefined : certificateOf?.(serverName)
    if (certificate === undefined) return undefined
    let context = contexts.get(certificate)
    if (context === undefined) {
      context = createSecureContext({ ...certificate, ...more })
      contexts.set(certificate, context)
    }
    return context
  }
}

/** A connection's certificate never changes; null: none. */
const certificates = new WeakMap<Socket, ClientCertificate | null>()

export function clientCertificateOf(socket: Socket): ClientCertificate | undefined {
  let certificate = certificates.get(socket)
  if (certificate === undefined) {
    certificate = socket instanceof TLSSocket ? readCertificate(socket) : null
    certificates.set(socket, certificate)
  }
  return certificate ?? undefined
}

function readCertificate(socket: TLSSocket): ClientCertificate | null {
  // Missing in Node's types: null once the connection has ended.
  const leaf = socket.getPeerCertificate(true) as DetailedPeerCertificate | null
  if (leaf?.raw === undefined) return null
  const presented: Buffer[] = []
  // The issuer of a root is the root itself.
  for (let issuer = leaf.issuerCertificate; issuer !== undefined; issuer = issuer.issuerCertificate) {
    const { raw } = issuer
    if (presented.length === maximumPresented || presented.some((earlier) => earlier.equals(raw))) break
    presented.push(raw)
  }
  return { raw: leaf.raw, presented }
}
