/** How an encrypted private key is to be opened, read before it is. Source: RFC 5958 3; RFC 8018 A.2, A.4. */
import {
  DerFault,
  type DerValue,
  derAt,
  derTag,
  expectDer,
  firstDerValuesIn,
  integerOf,
  oidOf,
} from '../../../core/der.ts'

/** Opening a key with more takes seconds of this process. */
const maximumIterations = 1_000_000
const maximumSaltBytes = 64
const pbes2 = '1.2.840.113549.1.5.13'
const pbkdf2 = '1.2.840.113549.1.5.12'
const scrypt = '1.3.6.1.4.1.11591.4.11'

export const acceptedEncryption = 'a key encrypted with PBES2 and PBKDF2 of at most 1,000,000 iterations'

/** Names the encryption of a key that is not accepted, because opening it may take long. Undefined: it is accepted. */
export function otherEncryptionOf(key: Uint8Array): string | undefined {
  const partsOf = (outer: DerValue | undefined): DerValue[] =>
    firstDerValuesIn(key, expectDer(outer, derTag.sequence), 2)
  const nameOf = (value: DerValue | undefined): string => oidOf(key, expectDer(value, derTag.oid))
  try {
    const [encryption] = partsOf(derAt(key, 0))
    const [scheme, schemeParameters] = partsOf(encryption)
    if (nameOf(scheme) !== pbes2) return 'another scheme'
    const [derivation] = partsOf(schemeParameters)
    const [func, parameters] = partsOf(derivation)
    if (nameOf(func) !== pbkdf2) return nameOf(func) === scrypt ? 'scrypt' : 'another key derivation'
    const [salt, iterations] = partsOf(parameters)
    const { content, end } = expectDer(salt, derTag.octetString)
    if (end - content > maximumSaltBytes) return `a salt of ${end - content} bytes`
    const count = Number(`0x${integerOf(key, expectDer(iterations, derTag.integer))}`)
    if (count <= maximumIterations) return undefined
    return Number.isSafeInteger(count) ? `${count.toLocaleString('en-US')} iterations` : 'more iterations'
  } catch (error) {
    if (error instanceof DerFault) return 'one that is damaged'
    throw error
  }
}
