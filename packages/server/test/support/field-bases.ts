/** Builds the requests of `fieldBases` in the files of kinds, to which `field-outcomes.ts` adds fields. */

import { randomUUID } from 'node:crypto'
import type { FieldBase } from '../kinds/kind.ts'
import type { TestApp } from './start-app.ts'

export const named = (prefix = 'field'): string => `${prefix}-${randomUUID().slice(0, 8)}`
export const address = (value: string): object => ({ ipv4: { value } })

/** Creates an entity. @returns its path */
export async function createdPath(app: TestApp, collection: string, body: object, clusterId?: string): Promise<string> {
  const answer = await app.call('POST', collection, {
    body,
    requestId: randomUUID(),
    ...(clusterId === undefined ? {} : { clusterId }),
  })
  if (answer.status === 201) return `${collection}/${answer.data.extId}`
  const task = await app.task(answer)
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
  return `${collection}/${task.entitiesAffected[0].extId}`
}
export async function deleteEntity(app: TestApp, path: string): Promise<void> {
  const { etag } = await app.call('GET', path)
  const headers = { requestId: randomUUID(), ...(etag === undefined ? {} : { ifMatch: etag }) }
  const task = await app.task(await app.call('DELETE', path, headers))
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
}
const cache = new WeakMap<TestApp, Map<string, Promise<string>>>()
/** Runs `make` once per world. */
export function once(app: TestApp, name: string, make: () => Promise<string>): Promise<string> {
  const ofWorld = cache.get(app) ?? new Map()
  cache.set(app, ofWorld)
  if (!ofWorld.has(name)) ofWorld.set(name, make())
  return ofWorld.get(name)
}
/** Creates with this body. */
export const creating =
  (collection: string, body: () => object | Promise<object>, clusterId?: string, readPath?: string): FieldBase =>
  async () => ({
    path: collection,
    body: await body(),
    ...(clusterId === undefined ? {} : { clusterId }),
    ...(readPath === undefined ? {} : { readPath }),
  })
/** Updates one entity that is created with this body; each update sends the body with the fields. */
export const updating =
  (collection: string, body: () => object, clusterId?: string): FieldBase =>
  async (app) => {
    const path = await once(app, `${collection} ${body.name} ${Object.keys(body())}`, () =>
      createdPath(app, collection, body(), clusterId),
    )
    return { path }
  }
export const at =
  (path: string, body?: object): FieldBase =>
  async () => ({ path, ...(body === undefined ? {} : { body }) })
