/**
 * The authority of a data folder: it issues what the service shows, and is what clients trust. It is made when it is first
 * needed, and replaced when it is damaged or could not vouch for a new certificate for as long as that lasts.
 * Source: decision a-local-authority.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { reasonOf, StartRefusal } from '../../core/start-refusal.ts'
import { readKey, writePair } from './files.ts'
import { type Authority, dayMillis, makeAuthority, serverDays } from './make.ts'

/** Its certificate. */
export const authorityPath = (data: string): string => join(data, 'tls', 'ca.pem')
const keyPathOf = (data: string): string => join(data, 'tls', 'ca-key.pem')

/**
 * @param now real time
 * @throws StartRefusal when its files are there and cannot be read, or cannot be written
 */
export function loadAuthority(data: string, now: Date): Authority {
  const [certPath, keyPath] = [authorityPath(data), keyPathOf(data)]
  const cert = readIfThere(certPath, (path) => readFileSync(path, 'utf8'))
  const key = readIfThere(keyPath, readKey)
  const kept = cert === undefined || key === undefined ? undefined : parse(cert, key)
  if (kept !== undefined && isFit(kept, now)) return kept

  const made = makeAuthority(now)
  const madeKey = made.key.export({ type: 'pkcs8', format: 'pem' }) as string
  writePair(certPath, made.certificate.toString(), keyPath, madeKey)
  return made
}

/** Unlike one that is damaged, a file that cannot be read may be whole, and clients may trust it: it is not replaced. */
function readIfThere(path: string, read: (path: string) => string): string | undefined {
  try {
    return read(path)
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === 'ENOENT') return undefined
    throw new StartRefusal(
      `${path} cannot be read (${reason}): correct its permissions, or remove it to have a new authority made, which clients must trust anew.`,
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

function isFit({ certificate, key }: Authority, now: Date): boolean {
  const remaining = certificate.validToDate.getTime() - now.getTime()
  return (
    certificate.ca &&
    certificate.checkPrivateKey(key) &&
    key.asymmetricKeyDetails?.namedCurve === 'prime256v1' &&
    certificate.validFromDate <= now &&
    remaining >= serverDays * dayMillis
  )
}
