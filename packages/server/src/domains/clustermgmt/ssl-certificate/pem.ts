/** Reads PEM that clients sent, which may be anything. Faults quote nothing of it. Source: RFC 7468; behaviour clustermgmt.md 1.15. */
import { createPrivateKey, type KeyObject, type PrivateKeyInput, X509Certificate } from 'node:crypto'
import { acceptedEncryption, otherEncryptionOf } from './key-encryption.ts'

const maximumBytes = 64 * 1024

export interface PemFault {
  readonly expected: string
  readonly found: string
}

interface Block {
  readonly label: string
  readonly pem: string
}

export const isFault = <T extends object>(read: T | PemFault): read is PemFault => 'expected' in read

/** @param what `certificate` or `private key`, for the fault */
export function readPem(given: string, what: string): { readonly text: string } | PemFault {
  const isPem = given.includes('-----BEGIN ')
  const bytes = isPem ? Buffer.from(given) : bytesOf(given)
  const expected = `a ${what} as PEM, or as Base64 of PEM`
  if (bytes === undefined) return { expected, found: given.trim() === '' ? 'an empty text' : 'neither' }
  if (bytes.length > maximumBytes)
    return { expected: `at most ${maximumBytes} bytes of PEM`, found: `${bytes.length} bytes` }
  const text = isPem ? given : bytes.toString('latin1')
  return text.includes('-----BEGIN ') ? { text } : { expected, found: formatOf(bytes) }
}

function bytesOf(given: string): Buffer | undefined {
  const bare = given.replace(/\s/g, '')
  return bare !== '' && /^[A-Za-z0-9+/]+={0,2}$/.test(bare) ? Buffer.from(bare, 'base64') : undefined
}

function formatOf(bytes: Buffer): string {
  const start = bytes.subarray(0, 4).toString('hex')
  if (start === '504b0304') return 'a ZIP archive'
  if (start === 'feedfeed') return 'a Java key store'
  return bytes[0] === 0x30 && (bytes[1] ?? 0) > 0x80
    ? 'DER (binary); convert it with openssl -inform DER'
    : 'other bytes'
}

/** undefined: a block does not end, or ends as another one. */
function blocksOf(text: string): readonly Block[] | undefined {
  const blocks: Block[] = []
  let open: { readonly label: string; readonly at: number } | undefined
  for (const { 0: line, 1: side, 2: label = '', index } of text.matchAll(/-----(BEGIN|END) ([A-Z0-9 ]{1,40})-----/g)) {
    if ((side === 'BEGIN') !== (open === undefined)) return undefined
    if (open === undefined) open = { label, at: index }
    else if (open.label !== label) return undefined
    else {
      blocks.push({ label, pem: text.slice(open.at, index + line.length) })
      open = undefined
    }
  }
  return open === undefined ? blocks : undefined
}

export function readCertificates(
  given: string,
  maximum: number,
): { readonly certificates: readonly X509Certificate[] } | PemFault {
  const read = readPem(given, 'certificate')
  if (isFault(read)) return read
  const expected = maximum === 1 ? 'one certificate' : `1 to ${maximum} certificates`
  const blocks = blocksOf(read.text)
  if (blocks === undefined || blocks.length === 0) return { expected, found: 'a PEM block that is cut off' }
  const other = blocks.find(({ label }) => label !== 'CERTIFICATE' && label !== 'X509 CERTIFICATE')
  if (other !== undefined) return { expected, found: `a PEM block ${other.label}` }
  if (blocks.length > maximum) return { expected, found: `${blocks.length}` }
  const certificates: X509Certificate[] = []
  for (const [index, { pem }] of blocks.entries()) {
    const certificate = certificateIn(pem)
    if (certificate === undefined) return { expected, found: `block ${index + 1} damaged` }
    certificates.push(certificate)
  }
  return { certificates }
}

function certificateIn(pem: string): X509Certificate | undefined {
  try {
    const certificate = new X509Certificate(pem)
    // Throws for a public key of an unknown kind.
    return certificate.publicKey === undefined ? undefined : certificate
  } catch {
    return undefined
  }
}

export function readPrivateKey(
  given: string,
  passphrase: string | undefined,
): { readonly key: KeyObject } | (PemFault & { readonly isPassphrase?: true }) {
  const read = readPem(given, 'private key')
  if (isFault(read)) return read
  // OpenSSL writes the parameters of a curve before its key.
  const blocks = blocksOf(read.text)?.filter(({ label }) => label !== 'EC PARAMETERS')
  const [block] = blocks ?? []
  const expected = 'one private key'
  if (block === undefined) return { expected, found: 'a PEM block that is cut off' }
  if (blocks !== undefined && blocks.length > 1) return { expected, found: `${blocks.length} PEM blocks` }
  if (!block.label.endsWith('PRIVATE KEY')) return { expected, found: `a PEM block ${block.label}` }
  const isEncrypted = block.label === 'ENCRYPTED PRIVATE KEY' || /^Proc-Type: 4,ENCRYPTED/m.test(block.pem)
  if (!isEncrypted) return opened(block.pem) ?? { expected, found: 'one that is damaged' }
  if (passphrase === undefined)
    return { isPassphrase: true, expected: 'the passphrase of the encrypted private key', found: 'none' }
  const locked = lockedKeyIn(block)
  if (isFault(locked)) return locked
  return (
    opened({ ...locked, passphrase }) ?? {
      ...{ isPassphrase: true, expected: 'the passphrase of the private key' },
      found: 'one that does not decrypt it',
    }
  )
}

function opened(key: PrivateKeyInput | string): { readonly key: KeyObject } | undefined {
  try {
    return { key: createPrivateKey(key) }
  } catch {
    return undefined
  }
}

function lockedKeyIn({ label, pem }: Block): PrivateKeyInput | PemFault {
  // PEM's own encryption (RFC 1421) derives its key in one step. Within a block PRIVATE KEY it may hide another one.
  if (label === 'RSA PRIVATE KEY' || label === 'EC PRIVATE KEY') return { key: pem }
  // In DER the key is what was judged: OpenSSL reads PEM in a way of its own.
  const key = bytesOf(pem.slice(`-----BEGIN ${label}-----`.length, -`-----END ${label}-----`.length)) ?? Buffer.alloc(0)
  const found = otherEncryptionOf(key)
  return found === undefined ? { key, format: 'der', type: 'pkcs8' } : { expected: acceptedEncryption, found }
}
