import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { reasonOf, StartRefusal } from '../start-refusal.ts'
import { makeSelfSigned } from './self-signed.ts'

/** The settings that decide which certificate the service shows. */
export interface CertificateSettings {
  readonly host: string
  readonly data: string
  readonly publicUrl?: string | undefined
  readonly tlsCert?: string | undefined
  readonly tlsKey?: string | undefined
}

export interface ServerCertificate {
  /** PEM; a given one may bring its chain. */
  readonly cert: string
  /** PEM. */
  readonly key: string
}

/** Where the certificate that clients may trust lies. */
export function certificatePath(settings: CertificateSettings): string {
  return settings.tlsCert ?? join(settings.data, 'tls', 'cert.pem')
}

/**
 * The given certificate, else the self-signed one of the data folder. That one is made at the first start, and again when it has
 * expired, is damaged, or lacks a name under which the service is now reached.
 * @param now real time
 * @throws StartRefusal when given files cannot be read or do not belong together
 */
export async function loadCertificate(settings: CertificateSettings, now: Date): Promise<ServerCertificate> {
  const { tlsCert, tlsKey } = settings
  if (tlsCert !== undefined && tlsKey !== undefined) return loadGiven(tlsCert, tlsKey)

  const names = namesOf(settings)
  const certPath = certificatePath(settings)
  const keyPath = join(settings.data, 'tls', 'key.pem')
  const kept = loadKept(certPath, keyPath, names, now)
  if (kept !== undefined) return kept

  const made = await makeSelfSigned(names, now)
  try {
    mkdirSync(join(settings.data, 'tls'), { recursive: true, mode: 0o700 })
    // A crash between the two leaves a pair that does not match, which the next start replaces.
    replaceFile(keyPath, made.key, 0o600)
    replaceFile(certPath, made.cert, 0o644)
  } catch (error) {
    throw new StartRefusal(
      `The certificate ${certPath} cannot be written (${reasonOf(error)}): correct the folder's permissions, or give --tls-cert and --tls-key.`,
      { cause: error },
    )
  }
  return made
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

function loadKept(
  certPath: string,
  keyPath: string,
  names: readonly string[],
  now: Date,
): ServerCertificate | undefined {
  try {
    const cert = readFileSync(certPath, 'utf8')
    const key = readFileSync(keyPath, 'utf8')
    const certificate = new X509Certificate(cert)
    const valid = certificate.validFromDate <= now && now < certificate.validToDate
    const covers = names.every((name) => (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)))
    return valid && covers && certificate.checkPrivateKey(createPrivateKey(key)) ? { cert, key } : undefined
  } catch {
    // Absent or damaged: nothing depends on it but clients, which see a new one either way.
    return undefined
  }
}

function namesOf({ host, publicUrl }: CertificateSettings): readonly string[] {
  const names = new Set(['localhost', '127.0.0.1', '::1'])
  // "All addresses" is nothing that a client could ask for.
  if (host !== '0.0.0.0' && host !== '::') names.add(host.replace(/%.*$/, ''))
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1'))
  return [...names]
}

function replaceFile(path: string, text: string, mode: number): void {
  const unfinished = `${path}.new`
  rmSync(unfinished, { force: true })
  writeFileSync(unfinished, text, { mode, flush: true })
  renameSync(unfinished, path)
}
