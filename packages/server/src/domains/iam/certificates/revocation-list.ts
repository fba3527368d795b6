/** Revocation lists (CRL), searched as bytes: up to half a million entries. Source: behaviour iam.md 5; RFC 5280 5. */

import {
  bytesOf,
  DerFault,
  type DerValue,
  derAt,
  derTag,
  derValuesIn,
  expectDer,
  firstDerValuesIn,
  oidOf,
  timeOf,
} from '../../../core/der.ts'
import type { Certificate } from './certificate.ts'
import { isSignedBy } from './signatures.ts'

export const maximumListBytes = 20 * 1024 * 1024

export interface RevocationList {
  readonly raw: Uint8Array
  readonly issuer: Buffer
  readonly thisUpdate: number
  /** Required: a list without it would never expire. */
  readonly nextUpdate: number
  readonly entries: DerValue | undefined
  readonly signed: Uint8Array
  readonly signature: Uint8Array
  readonly signatureAlgorithm: string
}

/** Authority key identifier, CRL number: they do not change the meaning of a list. */
const harmless: ReadonlySet<string> = new Set(['2.5.29.35', '2.5.29.20'])
/** Delta lists and partial lists: refused even if the extension is not marked as critical. */
const restricting: ReadonlySet<string> = new Set(['2.5.29.27', '2.5.29.28'])
const maximumFields = 7
const true_ = 0xff

/** @param content DER, or PEM (some servers send it). @throws DerFault */
export function readRevocationList(content: Uint8Array): RevocationList {
  const raw = unarmoured(content)
  const outer = expectDer(derAt(raw, 0), derTag.sequence)
  const [toBeSigned, algorithm, signature] = derValuesIn(raw, outer)
  const body = expectDer(toBeSigned, derTag.sequence)
  const fields = firstDerValuesIn(raw, body, maximumFields)
  if (fields[0]?.tag === derTag.integer) fields.shift()
  const [, issuer, thisUpdate, nextUpdate] = fields
  if (thisUpdate === undefined || nextUpdate === undefined || !isTime(nextUpdate))
    throw new DerFault('it does not say when the next one comes (nextUpdate)')
  for (const field of fields.slice(4)) if (field.tag === 0xa0) refuseUnknown(raw, field)
  const [oid] = derValuesIn(raw, expectDer(algorithm, derTag.sequence))
  const bits = expectDer(signature, derTag.bitString)
  return {
    raw,
    issuer: bytesOf(raw, expectDer(issuer, derTag.sequence)),
    thisUpdate: timeOf(raw, thisUpdate),
    nextUpdate: timeOf(raw, nextUpdate),
    entries: fields[4]?.tag === derTag.sequence ? fields[4] : undefined,
    signed: raw.subarray(body.start, body.end),
    signature: raw.subarray(bits.content + 1, bits.end),
    signatureAlgorithm: oidOf(raw, expectDer(oid, derTag.oid)),
  }
}

export function listFault(list: RevocationList, authority: Certificate): string | undefined {
  if (!list.issuer.equals(authority.subject)) return 'it is of another issuer'
  if (!authority.signsLists) return `${authority.name} may not sign revocation lists (keyUsage cRLSign)`
  const { publicKey } = authority.x509
  if (!isSignedBy(publicKey, list.signatureAlgorithm, list.signed, list.signature))
    return `it is not signed by ${authority.name}, or with an algorithm that is not accepted`
  return undefined
}

/** A search must not fail later because of an unreadable entry. @throws DerFault */
export function checkEntries({ raw, entries }: RevocationList): void {
  if (entries === undefined) return
  for (const entry of derValuesIn(raw, entries)) {
    const { content, end } = expectDer(entry, derTag.sequence)
    expectDer(derAt(raw, content, end), derTag.integer)
  }
}

/** @param serial hex without leading zeros */
export function isRevoked({ raw, entries }: RevocationList, serial: string): boolean {
  if (entries === undefined) return false
  const target = Buffer.from(serial.length % 2 === 0 ? serial : `0${serial}`, 'hex')
  // Compares bytes in place: a string for each entry would be ten times slower.
  for (const entry of derValuesIn(raw, entries)) {
    const { content, end } = derAt(raw, entry.content, entry.end)
    let from = content
    while (from < end - 1 && raw[from] === 0) from++
    if (end - from !== target.length || raw[end - 1] !== target.at(-1)) continue
    if (target.equals(raw.subarray(from, end))) return true
  }
  return false
}

const isTime = ({ tag }: DerValue): boolean => tag === derTag.utcTime || tag === derTag.generalizedTime

/** Refuses lists that are incomplete: without an entry, a certificate could still be revoked. */
function refuseUnknown(raw: Uint8Array, field: DerValue): void {
  const [list] = derValuesIn(raw, field)
  for (const extension of derValuesIn(raw, expectDer(list, derTag.sequence))) {
    const [type, critical] = derValuesIn(raw, extension)
    const oid = oidOf(raw, expectDer(type, derTag.oid))
    const isCritical = critical?.tag === 0x01 && raw[critical.content] === true_
    if (restricting.has(oid) || (isCritical && !harmless.has(oid)))
      throw new DerFault(`it is a list of a part or of changes only, or otherwise special (extension ${oid})`)
  }
}

function unarmoured(content: Uint8Array): Uint8Array {
  if (content[0] !== 0x2d) return content
  const match = /-----BEGIN X509 CRL-----([^-]+)-----END X509 CRL-----/.exec(Buffer.from(content).toString('latin1'))
  if (match === null) throw new DerFault('it is neither DER nor PEM')
  return Buffer.from(match[1] as string, 'base64')
}
