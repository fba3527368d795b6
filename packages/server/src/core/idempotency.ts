/** Replays the first answer to a retry; recorded in the transaction of the effect. Source: conventions 6. */
import { createHmac, hash } from 'node:crypto'
import { type Reader, type Transaction, UniqueViolation } from '../store/store.ts'
import { ApiError } from './api-error.ts'
import { RememberedAnswer } from './records.ts'
import type { Reply } from './reply.ts'
import { type Clock, formatTime } from './time/clock.ts'

const retentionMilliseconds = 24 * 3600 * 1000

export interface Idempotency {
  keyOf(tenantId: string, identity: string, requestId: string): string
  /** Independent of the order of fields; keyed, so that it reveals no secrets. */
  fingerprintOf(method: string, path: string, query: string, body: unknown): string
  /** @throws ApiError 422 when the id was used for another request */
  recall(store: Reader, key: string, fingerprint: string, requestId: string): Promise<Reply | undefined>
  remember(store: Transaction, key: string, fingerprint: string, reply: Reply): Promise<void>
}

export interface IdempotencyOptions {
  readonly clock: Clock
  readonly salt: string
  readonly seal: (text: string, about: string) => string
  readonly open: (sealed: string, about: string) => string
}

export function createIdempotency(options: IdempotencyOptions): Idempotency {
  return {
    keyOf: (tenantId, identity, requestId) =>
      hash('sha256', `${tenantId}\0${identity}\0${requestId.toLowerCase()}`, 'base64url'),
    fingerprintOf: (method, path, query, body) =>
      createHmac('sha256', options.salt)
        .update(`${method}\0${path}\0${query.split('&').sort().join('&')}\0${canonicalJson(body)}`)
        .digest('base64url'),
    async recall(store, key, fingerprint, requestId) {
      const record = await store.get(RememberedAnswer, key)
      if (record === undefined || record.expires < options.clock.iso()) return undefined
      if (record.fingerprint !== fingerprint) throw new ApiError('IDEMPOTENCY_KEY_REUSED', { requestId })
      return { ...JSON.parse(options.open(record.answer, `answer/${key}`)), replayed: true }
    },
    async remember(store, key, fingerprint, reply) {
      const answer = options.seal(JSON.stringify(reply), `answer/${key}`)
      const expires = formatTime(options.clock.now() + retentionMilliseconds)
      const record = { extId: key, fingerprint, status: reply.status, answer, expires }
      try {
        await store.insert(RememberedAnswer, record)
      } catch (error) {
        // An expired answer that is not pruned yet.
        if (!(error instanceof UniqueViolation)) throw error
        await store.replace(RememberedAnswer, record)
      }
    },
  }
}

const decoration = /^\$(?:objectType|reserved|unknownFields|\w+Discriminator)$/

/** With sorted keys, without decorations of the profiles. */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return ''
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value)
      .filter(([name, item]) => item !== undefined && !decoration.test(name))
      .sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${fields.map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`).join(',')}}`
  }
  return JSON.stringify(value)
}
