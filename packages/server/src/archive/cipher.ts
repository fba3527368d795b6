/**
 * AES-256-GCM with a random data key per restore point and a fresh nonce per part. Additional data: restore point and number (parts cannot
 * be swapped); for the wrapped data key also the manifest's digest (no part can be left out). Source: behaviour platform.md 8 (encryption).
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { BackupFault, type Manifest } from './format.ts'

const nonceBytes = 12
const tagBytes = 16

/** Returns nonce, ciphertext and tag. `about` names the plaintext, for `decrypt` too. */
export function encrypt(key: Buffer, plain: Uint8Array, about: string): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** @throws Error when the key or `about` differs, or the bytes were changed */
export function decrypt(key: Buffer, sealed: Uint8Array, about: string): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-tagBytes))
  const plain = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
  // Returns no bytes, but compares the tag.
  decipher.final()
  return plain
}

export const newDataKey = (): Buffer => randomBytes(32)

/** Equal keys have equal ids; the id reveals nothing about the key. */
export const keyIdOf = (backupKey: Buffer): string =>
  createHmac('sha256', backupKey).update('hyperplane backup key').digest('hex').slice(0, 16)

export const aboutPart = (restorePointExtId: string, index: number): string => `${restorePointExtId}/${index + 1}`

/** Seals secrets inside the parts: a key for each purpose. */
export const secretsKeyOf = (dataKey: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', dataKey, '', 'hyperplane backup secrets', 32))

/** The id of the backup key, and the data key, wrapped for this manifest only. */
export function wrapDataKey(backupKey: Buffer, dataKey: Buffer, manifest: Omit<Manifest, 'key'>): Manifest['key'] {
  return { id: keyIdOf(backupKey), wrapped: encrypt(backupKey, dataKey, aboutKey(manifest)).toString('base64') }
}

/** @throws BackupFault `keyMismatch` for another backup key, `corrupt` when the manifest was changed */
export function unwrapDataKey(backupKey: Buffer, manifest: Manifest): Buffer {
  const keyId = keyIdOf(backupKey)
  if (manifest.key.id !== keyId)
    throw new BackupFault('keyMismatch', `it was written with the backup key ${manifest.key.id}, not with ${keyId}`)
  try {
    return decrypt(backupKey, Buffer.from(manifest.key.wrapped, 'base64'), aboutKey(manifest))
  } catch (cause) {
    throw new BackupFault('corrupt', 'its manifest.json is not the one that was written', cause)
  }
}

/** Sorted properties: the file may have been reformatted. */
function aboutKey(manifest: Omit<Manifest, 'key'>): string {
  const { key: _, ...rest } = manifest as Manifest
  return `${manifest.restorePointExtId}/key/${createHash('sha256').update(sortedJson(rest)).digest('hex')}`
}

const sortedJson = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
