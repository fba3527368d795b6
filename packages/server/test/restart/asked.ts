/** The request that starts the task of a scenario. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Creation } from '../kinds/kind.ts'
import type { CallOptions, TestApp } from '../support/start-app.ts'

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

/** A request with the tag of the entity at `entityPath`. */
export async function tagged(
  app: TestApp,
  method: string,
  path: string,
  body?: unknown,
  entityPath = path,
): Promise<Asked> {
  const { etag, status } = await app.call('GET', entityPath)
  assert.equal(status, 200, entityPath)
  return { method, path, ifMatch: etag as string, ...(body === undefined ? {} : { body }) }
}

export const requestOf = ({ path, body, clusterId }: Creation): Asked => ({
  method: 'POST',
  path,
  body: body('killed'),
  ...(clusterId === undefined ? {} : { clusterId }),
})

/** Sends a request and waits for its task. @returns the id of the first entity that the task names */
export async function completed(
  app: TestApp,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<string> {
  const task = await app.task(await app.call(method, path, { requestId: randomUUID(), ...options }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task.entitiesAffected[0].extId
}

/** Creates an entity. @returns its id */
export const created = (app: TestApp, { path, body, clusterId }: Creation, name: string): Promise<string> =>
  completed(app, 'POST', path, { body: body(name), ...(clusterId === undefined ? {} : { clusterId }) })
