/** The default certificate, for every server name except those of worlds. Source: decision a-local-authority. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, StartRefusal } from '../core/start-refusal.ts'
import { loadAuthority } from './certificates/authority.ts'
import { write, writePair } from './certificates/files.ts'
import { loadIssued } from './certificates/issued.ts'
import { issueCertificate, type ServerCertificate } from './certificates/make.ts'

export interface CertificateSettings {
  readonly host: string
  readonly data: string
  readonly publicUrl?: string | undefined
  readonly tlsCert?: string | undefined
  readonly tlsKey?: string | undefined
}

/** The certificate that clients can trust: the configured one, or that of the service with its authority. */
export function certificatePath(settings: CertificateSettings): string {
  return settings.tlsCert ?? join(settings.data, 'tls', 'cert.pem')
}

/**
 * The configured certificate, or that of the data folder, issued again when unusable; valid self-signed ones of earlier versions stay.
 * @throws StartRefusal when files cannot be read or written, or the configured files do not belong together
 */
export function loadCertificate(settings: CertificateSettings, now: Date): ServerCertificate {
  const { tlsCert, tlsKey } = settings
  if (tlsCert !== undefined && tlsKey !== undefined) return loadConfigured(tlsCert, tlsKey)

  const names = namesOf(settings)
  const certPath = certificatePath(settings)
  const keyPath = join(settings.data, 'tls', 'key.pem')
  const authority = loadAuthority(settings.data, now)
  const issued = loadIssued(certPath, keyPath, authority, names, now)
  const { cert, key } = issued ?? issueCertificate(authority, names, now)
  const trusted = cert + authority.certificate.toString()
  if (issued === undefined) writePair(certPath, trusted, keyPath, key)
  else if (issued.file !== trusted) write(certPath, trusted, 0o644)
  // Not the authority's certificate: a client that trusts it has it.
  return { cert, key }
}

function loadConfigured(certPath: string, keyPath: string): ServerCertificate {
  const cert = readConfigured('certificate', certPath)
  const key = readConfigured('private key', keyPath)
  const remedy = 'give PEM files that belong together with --tls-cert and --tls-key'
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(cert)
  } catch (error) {
    throw new StartRefusal(`${certPath} holds no certificate: ${remedy}.`, { cause: error })
  }
  let matches: boolean
  try {
    matches = certificate.checkPrivateKey(createPrivateKey(key))
  } catch (error) {
    throw new StartRefusal(`${keyPath} holds no private key without a passphrase: ${remedy}.`, { cause: error })
  }
  if (!matches) throw new StartRefusal(`The key ${keyPath} does not belong to the certificate ${certPath}: ${remedy}.`)
  return { cert, key }
}

function readConfigured(what: string, path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new StartRefusal(
      `The ${what} ${path} cannot be read (${reasonOf(error)}): correct the path or the file's permissions.`,
      { cause: error },
    )
  }
}

function namesOf({ host, publicUrl }: CertificateSettings): readonly string[] {
  const names = new Set(['localhost', '127.0.0.1', '::1'])
  if (host !== '0.0.0.0' && host !== '::') names.add(host.replace(/%.*$/, ''))
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1'))
  return [...names]
}
