/**
 * Encryption of backup parts: AES-256-GCM with a random data key per restore point and a fresh nonce per part. The restore
 * point and the number of the part are authenticated with it, so that parts cannot be swapped or left out unnoticed.
 * Source: behaviour platform.md 8 (encryption).
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

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
  const bytes = Buffer.from(sealed)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
}

export const newDataKey = (): Buffer => randomBytes(32)

/** The same key has the same id; the id tells nothing about the key. */
export const keyIdOf = (backupKey: Buffer): string =>
  createHmac('sha256', backupKey).update('hyperplane backup key').digest('hex').slice(0, 16)

export const aboutPart = (restorePointExtId: string, index: number): string => `${restorePointExtId}/${index + 1}`
export const aboutKey = (restorePointExtId: string): string => `${restorePointExtId}/key`
