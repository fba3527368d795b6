/** A certificate for a server of a test, of an authority of its own. */
import { issueCertificate, makeAuthority, type ServerCertificate } from '../../src/http/certificates/make.ts'

/** @returns also the certificate of the authority, PEM */
export function makeServerCertificate(names: readonly string[], now = new Date()): ServerCertificate & { ca: string } {
  const authority = makeAuthority(now)
  return { ...issueCertificate(authority, names, now), ca: authority.certificate.toString() }
}
