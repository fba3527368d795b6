import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { readKey } from './files.ts'
import type { Authority, ServerCertificate } from './make.ts'

export function loadIssued(
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
    const matchesKey = certificate.checkPrivateKey(createPrivateKey(key))
    return valid && covers && issued && matchesKey ? { cert: certificate.toString(), key, file } : undefined
  } catch {
    // The caller issues a new certificate, which clients accept because they trust the authority.
    return undefined
  }
}

// `checkIssued` demands a CA certificate; a self-signed server certificate is none. Compare names and signature instead.
const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.issuer === issuer.subject && certificate.verify(issuer.publicKey)
