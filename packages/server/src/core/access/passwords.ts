import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

export interface HashCost {
  readonly memory: number
  readonly passes: number
  readonly parallelism: number
}

/** About 80 ms of one core (conventions 13: at least 50); little memory, so that concurrent sign-ins fit the budget. */
const defaultCost: HashCost = { memory: 19_456, passes: 4, parallelism: 1 }
const saltBytes = 16
const hashBytes = 32

const runArgon2 = promisify(argon2)

export interface Passwords {
  hash(password: string): Promise<string>
  /** @throws Error when `stored` is no hash; a wrong password is `false` */
  verify(password: string, stored: string): Promise<boolean>
  /** Takes as long as `verify`: the response time must not reveal that a user does not exist. */
  verifyNone(password: string): Promise<false>
}

export function createPasswords(cost: HashCost = defaultCost): Passwords {
  const none = phcText(Buffer.alloc(saltBytes), Buffer.alloc(hashBytes), cost)
  return {
    async hash(password) {
      const salt = randomBytes(saltBytes)
      return phcText(salt, await derive(password, salt, cost, hashBytes), cost)
    },
    verify: verifyPassword,
    async verifyNone(password) {
      await verifyPassword(password, none)
      return false
    },
  }
}

export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const { salt, hash, ...storedCost } = parsePhc(stored)
  return timingSafeEqual(await derive(password, salt, storedCost, hash.length), hash)
}

function derive(
  password: string,
  salt: Buffer,
  { memory, passes, parallelism }: HashCost,
  tagLength: number,
): Promise<Buffer> {
  // Keyboards differ in whether they send a letter composed or decomposed.
  const message = password.normalize('NFC')
  return runArgon2('argon2id', { message, nonce: salt, parallelism, tagLength, memory, passes })
}

function phcText(salt: Buffer, hash: Buffer, { memory, passes, parallelism }: HashCost): string {
  const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(salt)}$${base64(hash)}`
}

function parsePhc(text: string): HashCost & { salt: Buffer; hash: Buffer } {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]{11,})\$([A-Za-z0-9+/]{16,})$/.exec(text)
  if (parts === null) throw new Error('A stored password hash is not in the form $argon2id$v=19$…')
  const [, memory, passes, parallelism, salt = '', hash = ''] = parts
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}

export function generatedPassword(): string {
  const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
  const body = [...randomBytes(16)].map((byte) => letters[byte % letters.length]).join('')
  return `Hp9.${body}`
}
