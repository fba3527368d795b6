/** A certificate that was issued before, if it is still good. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { readKey } from './files.ts'
import type { Authority, ServerCertificate } from './make.ts'

/**
 * @param now when it must be valid
 * @returns undefined where the files are absent or damaged, or of another authority, or do not cover all names
 */
export function loadKept(
  certPath: string,
  keyPath: string,
  authority: Authority,
  names: readonly string[],
  now: Date,
): (ServerCertificate & { readonly file: string }) | undefined {
  try {
    const file = readFileSync(certPath, 'utf8')
    const key = readKey(keyPath)
    const certificate = new X509Certificate(file)
    const valid = certificate.validFromDate <= now && now < certificate.validToDate
    const covers = names.every((name) => (isIP(name) ? certificate.checkIP(name) : certificate.checkHost(name)))
    const issued = isIssuedBy(certificate, authority.certificate) || isIssuedBy(certificate, certificate)
    const belongs = certificate.checkPrivateKey(createPrivateKey(key))
    return valid && covers && issued && belongs ? { cert: certificate.toString(), key, file } : undefined
  } catch {
    // Absent or damaged: nothing depends on it but clients, which trust the authority.
    return undefined
  }
}

// Not `checkIssued`: it wants of an issuer that it may issue, which one that signs itself need not.
const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.issuer === issuer.subject && certificate.verify(issuer.publicKey)
