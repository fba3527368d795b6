/**
 * Encryption of backups: AES-256-GCM with a random data key per restore point and a fresh nonce per part. The restore point
 * and the number of the part are authenticated with it, so that parts cannot be swapped; the manifest, which lists them, is
 * authenticated with the data key, so that none can be left out. Source: behaviour platform.md 8 (encryption).
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { BackupFault, type Manifest } from './format.ts'

const nonceBytes = 12
const tagBytes = 16

/** Nonce, ciphertext, tag. `about`: what the bytes are, the same at opening. */
export function encrypt(key: Buffer, plain: Uint8Array, about: string): Buffer {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** @throws Error when the key is another, the bytes were changed, or they are something else than `about` */
export function decrypt(key: Buffer, sealed: Uint8Array, about: string): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-tagBytes))
  const plain = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
  // The end of a stream cipher has no bytes: it is where the tag is compared.
  decipher.final()
  return plain
}

export const newDataKey = (): Buffer => randomBytes(32)

/** The same key has the same id; the id tells nothing about the key. */
export const keyIdOf = (backupKey: Buffer): string =>
  createHmac('sha256', backupKey).update('hyperplane backup key').digest('hex').slice(0, 16)

export const aboutPart = (restorePointExtId: string, index: number): string => `${restorePointExtId}/${index + 1}`

/** The key under which secrets stand inside the parts: another use, another key. */
export const secretsKeyOf = (dataKey: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', dataKey, '', 'hyperplane backup secrets', 32))

/** What a manifest says of its key: the id of the backup key, and the data key, good for this manifest alone. */
export function wrapDataKey(backupKey: Buffer, dataKey: Buffer, manifest: Omit<Manifest, 'key'>): Manifest['key'] {
  return { id: keyIdOf(backupKey), wrapped: encrypt(backupKey, dataKey, aboutKey(manifest)).toString('base64') }
}

/**
 * @throws BackupFault `keyMismatch` for a backup that another backup key wrote, `corrupt` when the manifest is not as it
 * was written
 */
export function unwrapDataKey(backupKey: Buffer, manifest: Manifest): Buffer {
  const found = keyIdOf(backupKey)
  if (manifest.key.id !== found)
    throw new BackupFault('keyMismatch', `it was written with the backup key ${manifest.key.id}, not with ${found}`)
  try {
    return decrypt(backupKey, Buffer.from(manifest.key.wrapped, 'base64'), aboutKey(manifest))
  } catch (cause) {
    throw new BackupFault('corrupt', 'its manifest.json is not the one that was written', cause)
  }
}

/** All of the manifest but the key. Properties in a fixed order: the text of a file may be indented anew. */
function aboutKey(manifest: Omit<Manifest, 'key'>): string {
  const { key: _, ...rest } = manifest as Manifest
  return `${manifest.restorePointExtId}/key/${createHash('sha256').update(inOrder(rest)).digest('hex')}`
}

const inOrder = (value: unknown): string =>
  JSON.stringify(value, (_, each) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
