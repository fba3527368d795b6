import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

/**
 * Cost of one hash: 19 MiB and 4 passes take about 80 ms of one core where this was chosen, 50 ms being the least that
 * conventions 13 ask. Little memory, so that several logins at once fit into the budget of the process.
 */
const cost = { memory: 19_456, passes: 4, parallelism: 1 }
const saltBytes = 16
const hashBytes = 32

const runArgon2 = promisify(argon2)

/** `$argon2id$v=19$m=…,t=…,p=…$salt$hash`, with a salt of its own. Runs beside the event loop. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  return phcText(salt, await derive(password, salt, cost, hashBytes))
}

/** @throws Error when `stored` is no hash of `hashPassword`; a wrong password is `false` */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const { salt, hash, ...storedCost } = parsePhc(stored)
  return timingSafeEqual(await derive(password, salt, storedCost, hash.length), hash)
}

/** What `verifyPassword` costs, for a user that does not exist: the time of an answer must not tell. */
export async function dummyVerify(password: string): Promise<false> {
  await verifyPassword(password, dummyHash)
  return false
}

const dummyHash = phcText(Buffer.alloc(saltBytes), Buffer.alloc(hashBytes))

function derive(
  password: string,
  salt: Buffer,
  { memory, passes, parallelism }: typeof cost,
  tagLength: number,
): Promise<Buffer> {
  // Two keyboards may send the same letter in two forms.
  const message = password.normalize('NFC')
  return runArgon2('argon2id', { message, nonce: salt, parallelism, tagLength, memory, passes })
}

function phcText(salt: Buffer, hash: Buffer): string {
  const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${base64(salt)}$${base64(hash)}`
}

function parsePhc(text: string): typeof cost & { salt: Buffer; hash: Buffer } {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]{11,})\$([A-Za-z0-9+/]{16,})$/.exec(text)
  if (parts === null) throw new Error('A stored password hash is not in the form $argon2id$v=19$…')
  return {
    memory: Number(parts[1]),
    passes: Number(parts[2]),
    parallelism: Number(parts[3]),
    salt: Buffer.from(parts[4]!, 'base64'),
    hash: Buffer.from(parts[5]!, 'base64'),
  }
}

/** 20 characters that satisfy the password policy and can be typed. */
export function generatedPassword(): string {
  const letters = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789'
  const body = [...randomBytes(16)].map((byte) => letters[byte % letters.length]).join('')
  return `Hp9.${body}`
}
