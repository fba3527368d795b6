/** Entities by which a restored manager is recognised: a category, a password, an API key. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { aUser } from './identities.ts'
import type { TestApp } from './start-app.ts'

const categories = '/platform/v4.3/config/categories'
const users = '/iam/v4.1.b2/authn/users'

export interface Keepsakes {
  readonly apiKey: string
  /** `name:password`; may read. */
  readonly person: string
  /** As it was made. */
  readonly category: { readonly path: string; readonly etag: string }
}

export async function leaveKeepsakes(app: TestApp): Promise<Keepsakes> {
  const created = await app.call('POST', categories, { body: { key: 'Restored', value: 'whole' } })
  const path = `${categories}/${created.data.extId}`
  const etag = (await app.call('GET', path)).etag as string
  const {
    data: [robot],
  } = await app.call('GET', `${users}?$filter=${encodeURIComponent("username eq 'ci-robot'")}`)
  const key = await app.call('POST', `${users}/${robot.extId}/keys`, {
    body: { name: 'kept', keyType: 'API_KEY' },
    requestId: randomUUID(),
  })
  assert.equal(key.status, 201, JSON.stringify(key.errors))
  const person = await aUser(app, ['Platform Viewer'])
  return { apiKey: key.data.keyDetails.apiKey, person, category: { path, etag } }
}

/** Nobody knows them here. */
export async function assertUnknown(app: TestApp, { apiKey, person, category }: Keepsakes): Promise<void> {
  assert.equal((await app.call('GET', category.path)).status, 404)
  assert.equal((await app.call('GET', categories, { apiKey })).status, 401)
  assert.equal((await app.call('GET', categories, { as: person })).status, 401)
}

export async function assertKept(app: TestApp, { apiKey, person, category }: Keepsakes): Promise<void> {
  const { data } = await app.call('GET', category.path)
  assert.deepEqual([data?.key, data?.value], ['Restored', 'whole'])
  assert.equal((await app.call('GET', '/vmm/v4.2/ahv/config/vms', { apiKey })).status, 200, 'API keys work')
  assert.equal((await app.call('GET', categories, { as: person })).status, 200, 'passwords work')
}
