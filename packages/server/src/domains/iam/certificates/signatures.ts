/** Signature algorithms of certificates and lists. Weak digests (MD5, SHA-1) are refused. */
import { type KeyObject, verify } from 'node:crypto'

/** Object identifier of the algorithm -> digest; null: the algorithm defines its own. */
const digests: Readonly<Record<string, string | null>> = {
  '1.2.840.113549.1.1.11': 'sha256',
  '1.2.840.113549.1.1.12': 'sha384',
  '1.2.840.113549.1.1.13': 'sha512',
  '1.2.840.10045.4.3.2': 'sha256',
  '1.2.840.10045.4.3.3': 'sha384',
  '1.2.840.10045.4.3.4': 'sha512',
  '1.3.101.112': null,
  '1.3.101.113': null,
}

export const isAcceptedAlgorithm = (oid: string): boolean => Object.hasOwn(digests, oid)

export function isSignedBy(key: KeyObject, algorithm: string, signed: Uint8Array, signature: Uint8Array): boolean {
  const digest = digests[algorithm]
  if (digest === undefined) return false
  try {
    return verify(digest, signed, key, signature)
  } catch {
    return false
  }
}
