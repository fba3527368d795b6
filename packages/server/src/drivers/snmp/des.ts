/** DES, which OpenSSL 3 lacks: triple DES with three equal keys. Source: RFC 3414 8.1.1; FIPS 46-3 (keying option 3). */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import snmp, { type Engine } from 'net-snmp'

const cipher = 'des-ede3-cbc'
const blockBytes = 8

/** The localized key: eight octets of the key, then eight that make the first block with the salt. */
function inputsOf(localizedKey: Buffer, salt: Buffer): { readonly key: Buffer; readonly iv: Buffer } {
  const key = localizedKey.subarray(0, blockBytes)
  const first = localizedKey.subarray(blockBytes, 2 * blockBytes)
  return {
    key: Buffer.concat([key, key, key]),
    iv: Buffer.from(first.map((byte, index) => byte ^ (salt[index] as number))),
  }
}

export function encrypted(plain: Buffer, localizedKey: Buffer, salt: Buffer): Buffer {
  const { key, iv } = inputsOf(localizedKey, salt)
  const encryption = createCipheriv(cipher, key, iv).setAutoPadding(false)
  const padding = Buffer.alloc((blockBytes - (plain.length % blockBytes)) % blockBytes)
  return Buffer.concat([encryption.update(plain), encryption.update(padding), encryption.final()])
}

export function decrypted(bytes: Buffer, localizedKey: Buffer, salt: Buffer): Buffer {
  const { key, iv } = inputsOf(localizedKey, salt)
  const decryption = createDecipheriv(cipher, key, iv).setAutoPadding(false)
  return Buffer.concat([decryption.update(bytes), decryption.final()])
}

export function provideDes(): void {
  const keyOf = (authProtocol: string, password: string, { engineID }: Engine): Buffer =>
    snmp.Authentication.passwordToKey(authProtocol, password, engineID)
  Object.assign(snmp.Encryption.algorithms[snmp.PrivProtocols.des] ?? {}, {
    encryptPdu(pdu: Buffer, _: string, password: string, authProtocol: string, engine: Engine) {
      // A repeated salt would show equal beginnings of messages.
      const salt = randomBytes(blockBytes)
      return { encryptedPdu: encrypted(pdu, keyOf(authProtocol, password, engine), salt), msgPrivacyParameters: salt }
    },
    decryptPdu: (pdu: Buffer, _: string, salt: Buffer, password: string, authProtocol: string, engine: Engine) =>
      decrypted(pdu, keyOf(authProtocol, password, engine), salt),
  })
}
