/** The certificate that the service shows whoever asks for no world. Source: decision a-local-authority. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, StartRefusal } from '../core/start-refusal.ts'
import { loadAuthority } from './certificates/authority.ts'
import { write, writePair } from './certificates/files.ts'
import { loadKept } from './certificates/kept.ts'
import { issueCertificate, type ServerCertificate } from './certificates/make.ts'

/** The settings that decide which certificate the service shows. */
export interface CertificateSettings {
  readonly host: string
  readonly data: string
  readonly publicUrl?: string | undefined
  readonly tlsCert?: string | undefined
  readonly tlsKey?: string | undefined
}

/** The file that clients may trust: a given certificate, else that of the service and its authority. */
export function certificatePath(settings: CertificateSettings): string {
  return settings.tlsCert ?? join(settings.data, 'tls', 'cert.pem')
}

/**
 * The given certificate, else that of the data folder. This one is issued by the authority of the folder at the first start,
 * and again when it has expired, is damaged, is of an authority that is gone, or lacks a name under which the service is now
 * reached. One that signs itself, as those of earlier versions do, is kept as long.
 * @param now real time
 * @throws StartRefusal when given files cannot be read or do not belong together, or those of the folder not be read or written
 */
export function loadCertificate(settings: CertificateSettings, now: Date): ServerCertificate {
  const { tlsCert, tlsKey } = settings
  if (tlsCert !== undefined && tlsKey !== undefined) return loadGiven(tlsCert, tlsKey)

  const names = namesOf(settings)
  const certPath = certificatePath(settings)
  const keyPath = join(settings.data, 'tls', 'key.pem')
  const authority = loadAuthority(settings.data, now)
  const kept = loadKept(certPath, keyPath, authority, names, now)
  const { cert, key } = kept ?? issueCertificate(authority, names, now)
  const trusted = cert + authority.certificate.toString()
  if (kept === undefined) writePair(certPath, trusted, keyPath, key)
  else if (kept.file !== trusted) write(certPath, trusted, 0o644)
  // Whoever trusts the authority has it: it is not shown.
  return { cert, key }
}

function loadGiven(certPath: string, keyPath: string): ServerCertificate {
  const cert = readGiven('certificate', certPath)
  const key = readGiven('private key', keyPath)
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

function readGiven(what: string, path: string): string {
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
  // "All addresses" is nothing that a client could ask for.
  if (host !== '0.0.0.0' && host !== '::') names.add(host.replace(/%.*$/, ''))
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1'))
  return [...names]
}
