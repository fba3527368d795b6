/**
 * From a client's certificate to an authority that an administrator trusts. Certificates that the client presented beside its
 * own may stand between; the path ends at the root of the trusted chain. Source: behaviour iam.md 5; RFC 5280 6.
 */
import { isIssuedBy, keyFault } from './ca-chain.ts'
import { type Certificate, isForClients } from './certificate.ts'
import { isAcceptedAlgorithm } from './signatures.ts'

const maximumLength = 10
/** Signatures that are checked for one path: a client that presents many look-alikes gains nothing. */
const maximumChecks = 100

/**
 * The issuers of the certificate, its own first, the root last; undefined: it does not come from this chain, or one of them
 * is not valid now. `now`: the world's time.
 */
export function issuersOf(
  leaf: Certificate,
  presented: readonly Certificate[],
  chain: readonly Certificate[],
  now: number,
): readonly Certificate[] | undefined {
  const trusted = new Set(chain.map(({ fingerprint }) => fingerprint))
  const candidates = [...chain, ...presented.filter(({ fingerprint }) => !trusted.has(fingerprint))]
  // What a root says of itself proves nothing, with whichever digest: it is trusted because it was uploaded.
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

/** It holds at this moment, for a key that nobody breaks, and nothing in it is beyond us. */
export const isValid = (certificate: Certificate, now: number): boolean =>
  certificate.notBefore <= now &&
  now < certificate.notAfter &&
  certificate.notUnderstood.length === 0 &&
  keyFault(certificate) === undefined

/** @param below authorities between it and the client's certificate */
const mayIssue = (issuer: Certificate, below: number): boolean =>
  issuer.isAuthority && issuer.signsCertificates && isForClients(issuer) && below <= issuer.pathLength

const isSelfSigned = (certificate: Certificate): boolean => certificate.subject.equals(certificate.issuer)
