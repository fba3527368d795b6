/** The request that starts the task of a scenario. */
import assert from 'node:assert/strict'
import type { TestApp } from '../support/start-app.ts'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly ifMatch?: string
  readonly clusterId?: string
}

/** The entity as it is, with changes and its tag. */
export async function changing(app: TestApp, path: string, changes: object): Promise<Asked> {
  const { data, etag, status } = await app.call('GET', path)
  assert.equal(status, 200, path)
  return { method: 'PUT', path, body: { ...data, ...changes }, ifMatch: etag as string }
}
export const deleting = (path: string): Asked => ({ method: 'DELETE', path })
