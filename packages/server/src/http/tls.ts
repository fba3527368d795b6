/**
 * TLS with a certificate for each server name, with and without the question for a client certificate. Only while some
 * authority is trusted are clients asked, and for certificates of these authorities alone; else they notice nothing. Every
 * certificate is let in: whether it counts is judged for each request, so nothing that a session remembers decides.
 * Source: behaviour iam.md 5; conventions 14; decision a-local-authority.
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
  /** The usual certificate and its key, PEM. */
  readonly cert: string
  readonly key: string
  /** Another certificate for a server name that the usual one does not cover; undefined: there is none. */
  readonly certificateOf?: ((serverName: string) => ServerCertificate | undefined) | undefined
}

export interface TlsServers {
  /** The one that new connections belong to. */
  current(): Server
  all(): readonly Server[]
  /** From the next connection on, clients are asked for certificates of these authorities (PEM); none: they are not asked. */
  ask(authorities: readonly string[]): void
}

const maximumPresented = 10

/**
 * The revocation list of an authority that nobody has. With a list, the TLS library wants one of each authority, and finds
 * that it cannot tell. So it has no verdict that could be taken for ours, and keeps what a client sent along, which Node drops
 * where the library verified the chain itself (nodejs/node#65579).
 */
const listOfNobody = `-----BEGIN X509 CRL-----
MIGoMFACAQEwCgYIKoZIzj0EAwIwETEPMA0GA1UEAwwGTm9ib2R5Fw0yNjExMjEw
NzUxNDFaFw0yNjExMjIwNzUxNDFaoA4wDDAKBgNVHRQEAwIBATAKBggqhkjOPQQD
AgNIADBFAiEAvUVXxhUos25ouE5q7hPxmTblKjptGTliINtEZL9waMwCIGI9le3K
7vDvSXncWbcj+XzxxVkQaKmzTN0aHQuK7Qfg
-----END X509 CRL-----
`

/** Node's question which context belongs to a server name; what it throws ends that one connection. */
type AnswerName = NonNullable<ServerOptions['SNICallback']>

/** @param prepare is called with each server before its first connection */
export function createTlsServers(options: TlsOptions, prepare: (server: Server) => void): TlsServers {
  const { cert, key, minVersion } = options
  const make = (more: ServerOptions): Server => {
    const server = createServer({ ...options, ...more })
    prepare(server)
    return server
  }
  const answersWith = (trusted: SecureContextOptions): AnswerName => {
    const contextOf = contextsOf(options, { minVersion, ...trusted })
    return (serverName, answer) => answer(null, contextOf(serverName))
  }

  const silent = make({ SNICallback: answersWith({}) })
  let asking: Server | undefined
  let answerAsking: AnswerName
  function trust(authorities: readonly string[]): Server {
    const trusted = { ca: [...authorities], crl: listOfNobody }
    answerAsking = answersWith(trusted)
    if (asking === undefined) {
      const SNICallback: AnswerName = (serverName, answer) => answerAsking(serverName, answer)
      asking = make({ ...trusted, SNICallback, requestCert: true, rejectUnauthorized: false })
    }
    // Connections that are open stay; what they showed is judged again with their next request.
    else asking.setSecureContext({ cert, key, minVersion, ...trusted })
    return asking
  }

  let current = silent
  let asked = ''
  return {
    current: () => current,
    all: () => (asking === undefined ? [silent] : [silent, asking]),
    ask(authorities) {
      const wanted = authorities.join()
      // Worlds come and go, which mostly changes nothing here.
      if (wanted === asked) return
      current = authorities.length === 0 ? silent : trust(authorities)
      asked = wanted
    },
  }
}

/** What a connection to a server name begins with, if not with the usual certificate. */
function contextsOf(
  options: TlsOptions,
  more: SecureContextOptions,
): (serverName: string) => SecureContext | undefined {
  const usual = new X509Certificate(options.cert)
  // Each is forgotten with its certificate.
  const contexts = new WeakMap<ServerCertificate, SecureContext>()
  return (serverName) => {
    const certificate = usual.checkHost(serverName) === undefined ? options.certificateOf?.(serverName) : undefined
    if (certificate === undefined) return undefined
    let context = contexts.get(certificate)
    if (context === undefined) {
      context = createSecureContext({ ...certificate, ...more })
      contexts.set(certificate, context)
    }
    return context
  }
}

/** What was shown on a connection, which shows it once: null for nothing. */
const shownOn = new WeakMap<Socket, ClientCertificate | null>()

/** What the client showed on this connection; undefined: nothing. */
export function clientCertificateOf(socket: Socket): ClientCertificate | undefined {
  let shown = shownOn.get(socket)
  if (shown === undefined) {
    shown = socket instanceof TLSSocket ? readShown(socket) : null
    shownOn.set(socket, shown)
  }
  return shown ?? undefined
}

function readShown(socket: TLSSocket): ClientCertificate | null {
  // Its type does not say that it is null once the connection has ended.
  const leaf = socket.getPeerCertificate(true) as DetailedPeerCertificate | null
  if (leaf?.raw === undefined) return null
  const presented: Buffer[] = []
  // The issuer of a root is the root itself.
  for (let above = leaf.issuerCertificate; above !== undefined; above = above.issuerCertificate) {
    const { raw } = above
    if (presented.length === maximumPresented || presented.some((known) => known.equals(raw))) break
    presented.push(raw)
  }
  return { raw: leaf.raw, presented }
}
