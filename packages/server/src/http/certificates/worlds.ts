/**
 * Certificates for `<world>.localhost`, one for each, since clients refuse `*.localhost`. They live as long as the process:
 * clients trust their issuer. Source: DESIGN C; decision a-local-authority.
 */
import { X509Certificate } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { authorityPath, loadAuthority } from './authority.ts'
import { type Authority, dayMillis, issueCertificate, type ServerCertificate } from './make.ts'

export interface WorldCertificates {
  /**
   * The certificate for a server name that a client asks for, issued when it is first asked for; undefined: it is the name of
   * no world, or none can be issued, which is in the log.
   */
  certificateOf(serverName: string): ServerCertificate | undefined
  /**
   * The file that clients of worlds may trust; the authority is made when there is none.
   * @throws StartRefusal when it can neither be read nor be made
   */
  trustedPath(): string
}

export interface WorldCertificatesOptions {
  /** The data folder. */
  readonly data: string
  /** Of a name in lower case. */
  readonly isWorld: (name: string) => boolean
  /** Real time, in milliseconds since 1970. */
  readonly now: () => number
  readonly log: { error(details: object, message: string): void }
}

/** As many as there can be worlds. */
const maximumKept = 500
/** A certificate is not shown in its last days. */
const lastDays = 30

const worldHost = /^([a-z0-9-]{1,63})\.localhost$/

export function createWorldCertificates({ data, isWorld, now, log }: WorldCertificatesOptions): WorldCertificates {
  const issued = new LRUCache<string, { readonly certificate: ServerCertificate; readonly until: number }>({
    max: maximumKept,
  })
  let loaded: Authority | undefined
  const authority = (): Authority => (loaded ??= loadAuthority(data, new Date(now())))

  function issue(serverName: string): ServerCertificate | undefined {
    try {
      const certificate = issueCertificate(authority(), [serverName], new Date(now()))
      const until = new X509Certificate(certificate.cert).validToDate.getTime() - lastDays * dayMillis
      issued.set(serverName, { certificate, until })
      return certificate
    } catch (error) {
      log.error({ err: error, serverName }, 'no certificate can be issued for a world; clients are shown the usual one')
      return undefined
    }
  }

  return {
    certificateOf(asked) {
      const serverName = asked.toLowerCase()
      const [, world] = worldHost.exec(serverName) ?? []
      if (world === undefined || !isWorld(world)) return undefined
      const kept = issued.get(serverName)
      return kept !== undefined && now() < kept.until ? kept.certificate : issue(serverName)
    },
    trustedPath() {
      authority()
      return authorityPath(data)
    },
  }
}
