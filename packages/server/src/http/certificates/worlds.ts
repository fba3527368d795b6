/**
 * Certificates for `<world>.localhost`, one for each, since clients refuse `*.localhost`. Each is kept in the folder of its world,
 * so that whoever remembers it finds the same after a restart. Source: DESIGN C; decision a-local-authority.
 */
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { authorityPath, loadAuthority } from './authority.ts'
import { writePair } from './files.ts'
import { loadKept } from './kept.ts'
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
  /** Of the world of a name in lower case; undefined: there is none. */
  readonly folderOf: (name: string) => string | undefined
  /** Real time, in milliseconds since 1970. */
  readonly now: () => number
  readonly log: { error(details: object, message: string): void }
}

/** In memory: as many as there can be worlds. */
const maximumKept = 500
/** A certificate is not shown in its last days. */
const lastDays = 30

const worldHost = /^([a-z0-9-]{1,63})\.localhost$/

/** Beside the certificate of the service, for the world whose folder is that of the service. */
const filesIn = (folder: string) => ({
  cert: join(folder, 'tls', 'world-cert.pem'),
  key: join(folder, 'tls', 'world-key.pem'),
})

interface Shown {
  readonly certificate: ServerCertificate
  readonly until: number
  /** Where it is kept; absent: it cannot be. */
  readonly file?: string
}

export function createWorldCertificates({ data, folderOf, now, log }: WorldCertificatesOptions): WorldCertificates {
  const shown = new LRUCache<string, Shown>({ max: maximumKept })
  let loaded: Authority | undefined
  const authority = (): Authority => (loaded ??= loadAuthority(data, new Date(now())))

  function show(serverName: string, folder: string): ServerCertificate | undefined {
    try {
      const files = filesIn(folder)
      const good = new Date(now() + lastDays * dayMillis)
      const kept = loadKept(files.cert, files.key, authority(), [serverName], good)
      const { cert, key } = kept ?? issueCertificate(authority(), [serverName], new Date(now()))
      const certificate = { cert, key }
      const until = new X509Certificate(certificate.cert).validToDate.getTime() - lastDays * dayMillis
      const file = kept === undefined ? keep(certificate, files) : files.cert
      shown.set(serverName, { certificate, until, ...(file === undefined ? {} : { file }) })
      return certificate
    } catch (error) {
      log.error({ err: error, serverName }, 'no certificate can be issued for a world; clients are shown the usual one')
      return undefined
    }
  }

  function keep({ cert, key }: ServerCertificate, files: ReturnType<typeof filesIn>): string | undefined {
    try {
      writePair(files.cert, cert, files.key, key)
      return files.cert
    } catch (error) {
      log.error({ err: error }, 'the certificate of a world cannot be kept: it will be another one after a restart')
      return undefined
    }
  }

  return {
    certificateOf(asked) {
      const serverName = asked.toLowerCase()
      const [, world] = worldHost.exec(serverName) ?? []
      const folder = world === undefined ? undefined : folderOf(world)
      if (folder === undefined) return undefined
      const last = shown.get(serverName)
      // A world that was made again under the name of an earlier one begins with none.
      const isPresent = last !== undefined && now() < last.until && (last.file === undefined || existsSync(last.file))
      return isPresent ? last.certificate : show(serverName, folder)
    },
    trustedPath() {
      authority()
      return authorityPath(data)
    },
  }
}
