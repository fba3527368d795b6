/** The authority of a data folder, replaced when damaged or about to expire. Source: decision a-local-authority. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, StartRefusal } from '../../core/start-refusal.ts'
import { serverDays } from '../../core/x509.ts'
import { readKey, writePair } from './files.ts'
import { type Authority, dayMillis, makeAuthority, privateKeyPem } from './make.ts'

export const authorityPath = (data: string): string => join(data, 'tls', 'ca.pem')
const keyPathOf = (data: string): string => join(data, 'tls', 'ca-key.pem')

/** @throws StartRefusal when its files exist but cannot be read, or cannot be written */
export function loadAuthority(data: string, now: Date): Authority {
  const [certPath, keyPath] = [authorityPath(data), keyPathOf(data)]
  const cert = readIfPresent(certPath, (path) => readFileSync(path, 'utf8'))
  const key = readIfPresent(keyPath, readKey)
  const stored = cert === undefined || key === undefined ? undefined : parse(cert, key)
  if (stored !== undefined && isUsable(stored, now)) return stored

  const created = makeAuthority(now)
  writePair(certPath, created.certificate.toString(), keyPath, privateKeyPem(created.key))
  return created
}

/** An unreadable file is not replaced, unlike a damaged one: it may be intact, and clients may trust it. */
function readIfPresent(path: string, read: (path: string) => string): string | undefined {
  try {
    return read(path)
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === 'ENOENT') return undefined
    throw new StartRefusal(
      `${path} cannot be read (${reason}): correct its permissions, or remove it: a new authority is created, which clients must then trust.`,
      { cause: error },
    )
  }
}

function parse(cert: string, key: string): Authority | undefined {
  try {
    return { certificate: new X509Certificate(cert), key: createPrivateKey(key) }
  } catch {
    return undefined
  }
}

function isUsable({ certificate, key }: Authority, now: Date): boolean {
  const remaining = certificate.validToDate.getTime() - now.getTime()
  return (
    certificate.ca &&
    certificate.checkPrivateKey(key) &&
    key.asymmetricKeyDetails?.namedCurve === 'prime256v1' &&
    certificate.validFromDate <= now &&
    remaining >= serverDays * dayMillis
  )
}
