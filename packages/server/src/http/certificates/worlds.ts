/** One certificate per world, because clients refuse `*.localhost`. Source: decision a-local-authority. */
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { LRUCache } from 'lru-cache'
import { authorityPath, loadAuthority } from './authority.ts'
import { writePair } from './files.ts'
import { loadIssued } from './issued.ts'
import { type Authority, dayMillis, issueCertificate, type ServerCertificate } from './make.ts'

export interface WorldCertificates {
  /** undefined: no such world, or issuing failed, which is logged. */
  certificateOf(serverName: string): ServerCertificate | undefined
  /** @throws StartRefusal when there is no authority, and none can be created */
  trustedPath(): string
}

export interface WorldCertificatesOptions {
  readonly data: string
  /** By the world's name in lower case. */
  readonly folderOf: (name: string) => string | undefined
  readonly now: () => number
  readonly log: { error(details: object, message: string): void }
}

const maximumCached = 500
const renewalDays = 30

const worldHost = /^([a-z0-9-]{1,63})\.localhost$/

/** Must differ from the files of the service, whose folder is also that of the world `default`. */
const filesIn = (folder: string) => ({
  cert: join(folder, 'tls', 'world-cert.pem'),
  key: join(folder, 'tls', 'world-key.pem'),
})

interface CachedCertificate {
  readonly certificate: ServerCertificate
  readonly until: number
  readonly file?: string
}

export function createWorldCertificates({ data, folderOf, now, log }: WorldCertificatesOptions): WorldCertificates {
  const cache = new LRUCache<string, CachedCertificate>({ max: maximumCached })
  let loaded: Authority | undefined
  const authority = (): Authority => (loaded ??= loadAuthority(data, new Date(now())))

  function load(serverName: string, folder: string): ServerCertificate | undefined {
    try {
      const files = filesIn(folder)
      const renewal = new Date(now() + renewalDays * dayMillis)
      const issued = loadIssued(files.cert, files.key, authority(), [serverName], renewal)
      const { cert, key } = issued ?? issueCertificate(authority(), [serverName], new Date(now()))
      const certificate = { cert, key }
      const until = new X509Certificate(certificate.cert).validToDate.getTime() - renewalDays * dayMillis
      const file = issued === undefined ? store(certificate, files) : files.cert
      cache.set(serverName, { certificate, until, file })
      return certificate
    } catch (error) {
      log.error(
        { err: error, serverName },
        'issuing the certificate of a world failed: clients get the default certificate',
      )
      return undefined
    }
  }

  function store({ cert, key }: ServerCertificate, files: ReturnType<typeof filesIn>): string | undefined {
    try {
      writePair(files.cert, cert, files.key, key)
      return files.cert
    } catch (error) {
      log.error(
        { err: error },
        'storing the certificate of a world failed: the world gets a new certificate after a restart',
      )
      return undefined
    }
  }

  return {
    certificateOf(requestedName) {
      const serverName = requestedName.toLowerCase()
      const [, world] = worldHost.exec(serverName) ?? []
      const folder = world === undefined ? undefined : folderOf(world)
      if (folder === undefined) return undefined
      const cached = cache.get(serverName)
      // The file is missing if the world was removed, and perhaps created again.
      const isUsable =
        cached !== undefined && now() < cached.until && (cached.file === undefined || existsSync(cached.file))
      return isUsable ? cached.certificate : load(serverName, folder)
    },
    trustedPath() {
      authority()
      return authorityPath(data)
    },
  }
}
