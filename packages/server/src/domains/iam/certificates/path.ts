/** Builds the path from a client certificate to a trusted root. Source: behaviour iam.md 5; RFC 5280 6. */
import { isIssuedBy, keyFault } from './ca-chain.ts'
import { type Certificate, isForClients } from './certificate.ts'
import { isAcceptedAlgorithm } from './signatures.ts'

const maximumLength = 10
/** Limits the signature checks for one path: a client may present many similar certificates. */
const maximumChecks = 100

/** @returns issuers, the direct one first, the root last; undefined if no path is valid at `now` (world time) */
export function issuersOf(
  leaf: Certificate,
  presented: readonly Certificate[],
  chain: readonly Certificate[],
  now: number,
): readonly Certificate[] | undefined {
  const trusted = new Set(chain.map(({ fingerprint }) => fingerprint))
  const candidates = [...chain, ...presented.filter(({ fingerprint }) => !trusted.has(fingerprint))]
  // Uploaded certificates are trusted, so the algorithm of their signatures does not matter.
  const isSound = (one: Certificate): boolean =>
    isValid(one, now) && (trusted.has(one.fingerprint) || isAcceptedAlgorithm(one.signatureAlgorithm))
  if (!isSound(leaf)) return undefined
  let checks = 0
  const extend = (path: readonly Certificate[]): readonly Certificate[] | undefined => {
    const last = path.at(-1) as Certificate
    if (path.length > 1 && trusted.has(last.fingerprint) && isSelfSigned(last)) return path.slice(1)
    if (path.length > maximumLength) return undefined
    for (const issuer of candidates) {
      if (path.includes(issuer) || !mayIssue(issuer, path.length - 1) || !isSound(issuer)) continue
      if (++checks > maximumChecks) return undefined
      if (!isIssuedBy(last, issuer)) continue
      const found = extend([...path, issuer])
      if (found !== undefined) return found
    }
    return undefined
  }
  return extend([leaf])
}

export const isValid = (certificate: Certificate, now: number): boolean =>
  certificate.notBefore <= now &&
  now < certificate.notAfter &&
  certificate.notUnderstood.length === 0 &&
  keyFault(certificate) === undefined

const mayIssue = (issuer: Certificate, below: number): boolean =>
  issuer.isAuthority && issuer.signsCertificates && isForClients(issuer) && below <= issuer.pathLength

const isSelfSigned = (certificate: Certificate): boolean => certificate.subject.equals(certificate.issuer)
