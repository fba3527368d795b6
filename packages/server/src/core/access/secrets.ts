import {
  type CipherKey,
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** AES-256-GCM. `about` names the place (`users/<extId>/password`): a text copied to another row does not open. */
export interface Sealer {
  seal(plain: string, about: string): string
  /** @throws Error when the text was changed, belongs elsewhere, or was sealed with another data key */
  open(sealed: string, about: string): string
  /** Sealed texts stay valid. Store a new key check too. */
  rewrap(newMasterKey: Buffer): void
}

/** Keeps the wrapped data key beside the data; the master key is never stored there. */
export interface DataKeyStore {
  load(): string | undefined
  save(wrapped: string): void
}

export class WrongMasterKey extends Error {
  override readonly name = 'WrongMasterKey'
}

const formatVersion = 'v1'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** @throws WrongMasterKey when `masterKey` does not open the stored data key */
export function createSealer(masterKey: Buffer, store: DataKeyStore): Sealer {
  const { id, key } = loadDataKey(masterKey, store) ?? makeDataKey(masterKey, store)
  return {
    ...sealerWith(key, id),
    rewrap: (newMasterKey) => store.save(wrap(newMasterKey, id, key)),
  }
}

export const sealerOf = (
  masterKey: Buffer,
  store: { meta(name: string): string | undefined; setMeta(name: string, value: string): void },
): Sealer =>
  createSealer(masterKey, {
    load: () => store.meta(dataKeyName),
    save: (wrapped) => store.setMeta(dataKeyName, wrapped),
  })
const dataKeyName = 'key.data'

export function sealerWith(key: Buffer, id: string): Pick<Sealer, 'seal' | 'open'> {
  // Imported once: importing the key for each text takes longer than sealing it.
  const secret = createSecretKey(key)
  return {
    seal: (plain, about) => `${formatVersion}.${id}.${encrypt(secret, Buffer.from(plain), about)}`,
    open(sealed, about) {
      const [version, keyId, content] = sealed.split('.')
      if (version !== formatVersion || keyId !== id || content === undefined) {
        throw new Error(`The sealed text of ${about} was not made with data key ${id}`)
      }
      return decrypt(secret, content, about).toString()
    },
  }
}

/** Stored beside the data, for `checkKey`; reveals nothing about the key. */
export function makeKeyCheck(masterKey: Buffer): string {
  return createHmac('sha256', derive(masterKey, 'check')).update('hyperplane').digest('base64url')
}

export function checkKey(masterKey: Buffer, keyCheck: string): boolean {
  const expected = Buffer.from(makeKeyCheck(masterKey))
  const found = Buffer.from(keyCheck)
  return expected.length === found.length && timingSafeEqual(expected, found)
}

interface DataKey {
  /** Marks sealed texts, so that texts of a second data key can be distinguished. */
  readonly id: string
  readonly key: Buffer
}

function makeDataKey(masterKey: Buffer, store: DataKeyStore): DataKey {
  const dataKey = { id: randomBytes(4).toString('hex'), key: randomBytes(keyBytes) }
  store.save(wrap(masterKey, dataKey.id, dataKey.key))
  return dataKey
}

function loadDataKey(masterKey: Buffer, store: DataKeyStore): DataKey | undefined {
  const wrapped = store.load()
  if (wrapped === undefined) return undefined
  const [version, id, content] = wrapped.split('.')
  if (version !== formatVersion || id === undefined || content === undefined) {
    throw new Error('The stored data key has an unknown form')
  }
  try {
    return { id, key: decrypt(derive(masterKey, 'wrap'), content, id) }
  } catch (cause) {
    throw new WrongMasterKey('The master key does not open the stored data key', { cause })
  }
}

function wrap(masterKey: Buffer, id: string, key: Buffer): string {
  return `${formatVersion}.${id}.${encrypt(derive(masterKey, 'wrap'), key, id)}`
}

/** A separate key for each use, so that no use weakens another. */
function derive(masterKey: Buffer, use: 'wrap' | 'check'): Buffer {
  if (masterKey.length !== keyBytes) throw new Error(`A master key has ${keyBytes} bytes, not ${masterKey.length}`)
  return Buffer.from(hkdfSync('sha256', masterKey, '', `hyperplane ${use}`, keyBytes))
}

function encrypt(key: CipherKey, plain: Buffer, about: string): string {
  const nonce = nextNonce()
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(about))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString('base64url')
}

const noncesDrawn = 256
let nonces = Buffer.alloc(0)

/** Drawn many at a time: each call for random bytes takes 2 to 4 us. */
function nextNonce(): Buffer {
  if (nonces.length === 0) nonces = randomBytes(noncesDrawn * nonceBytes)
  const nonce = nonces.subarray(0, nonceBytes)
  nonces = nonces.subarray(nonceBytes)
  return nonce
}

function decrypt(key: CipherKey, content: string, about: string): Buffer {
  const bytes = Buffer.from(content, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
  decipher.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
}
