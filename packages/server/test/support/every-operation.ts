/**
 * Refusals that every operation of every contract shares. The caller builds a request that is valid otherwise. Source:
 * behaviour conventions 1, 2.4, 9, 14.
 */
import assert from 'node:assert/strict'
import type { Operation } from '@hyperplane/contract'
import type { CallOptions, CallResult } from './start-app.ts'

export interface Asking {
  readonly operations: readonly Operation[]
  /** @param query added to the required options */
  send(operation: Operation, query?: string, options?: CallOptions): Promise<CallResult>
}

export const facts = (result: CallResult): string => `${result.status} ${JSON.stringify(result.errors).slice(0, 300)}`

export async function refusesStrangers({ operations, send }: Asking): Promise<void> {
  for (const operation of operations) {
    const address = `198.51.100.${operations.indexOf(operation) % 250}`
    const result = await send(operation, '', { as: null, address })
    assert.equal(result.status, 401, `${operation.key}: ${facts(result)}`)
    assert.equal(result.errors[0]?.code, 'PLAT-10401')
  }
}

export async function refusesPagesOutOfRange({ operations, send }: Asking): Promise<void> {
  for (const operation of operations.filter((candidate) => candidate.paged)) {
    const isClamped = operation.namespace === 'storage'
    for (const option of ['$limit=0', '$limit=101', '$limit=-1', '$page=-1']) {
      const result = await send(operation, option)
      if (isClamped) assert.notEqual(result.status, 400, `${operation.key} ${option}: ${facts(result)}`)
      else assert.equal(result.status, 400, `${operation.key} ${option}: ${facts(result)}`)
    }
    for (const option of ['$limit=abc', '$page=1.5', '$limit=']) {
      const result = await send(operation, option)
      assert.equal(result.status, 400, `${operation.key} ${option}: ${facts(result)}`)
    }
  }
}

const tellsOfNonsense = ({ errors }: CallResult): boolean =>
  errors.some(({ attributePath }) => attributePath === '$nonsense')

export async function refusesUnknownOptions({ operations, send }: Asking): Promise<void> {
  for (const operation of operations) {
    const result = await send(operation, '$nonsense=1')
    assert.equal(result.status, 400, `${operation.key}: ${facts(result)}`)
    assert.ok(tellsOfNonsense(result), operation.key)
  }
}

export async function ignoresUnknownOptionsOfPublicClients({ operations, send }: Asking): Promise<void> {
  for (const operation of operations) {
    const result = await send(operation, '$nonsense=1', { unknown: 'ignore' })
    assert.ok(!tellsOfNonsense(result), operation.key)
  }
}

export async function refusesUnknownFields({ operations, send }: Asking): Promise<void> {
  const form = new FormData()
  form.append('no such field', '1')
  for (const operation of operations.filter((candidate) => candidate.body?.type === 'object')) {
    const sent = operation.form === undefined ? { body: { 'no such field': 1 } } : { form }
    const result = await send(operation, '', sent)
    assert.equal(result.status, 400, `${operation.key}: ${facts(result)}`)
    assert.ok(
      result.errors.some((error) => error.attributePath === 'no such field'),
      operation.key,
    )
  }
}
