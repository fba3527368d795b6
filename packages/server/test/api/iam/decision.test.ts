/** Why a request was allowed or denied, as the audit keeps it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { AuditRecord } from '../../../src/core/records.ts'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aRole, categories, grant, ok, policies, policyBody } from './people.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())

const newest = async () => (await app.store.find(AuditRecord, { newestFirst: true, limit: 1 }))[0]
const aPair = (value: string) => ({ key: 'Decision', value })

test('an allowed change names the policy and the role that allow it', async () => {
  const { extId, apiKey } = await aRobot(app)
  const policy = await grant(app, 'Category Admin', extId)
  ok(await app.call('POST', categories, { apiKey, body: aPair('allowed') }), 201)
  assert.equal((await newest())?.decision, `policy ${policy}, role ${systemRoleId('Category Admin')}`)
})

test('the audit names the policy whose scope covers the entity, for an existing entity and for a creation', async () => {
  const { extId, apiKey } = await aRobot(app)
  const [one, other] = await Promise.all(
    ['one', 'other'].map(async (name) => ok(await app.call('POST', categories, { body: aPair(name) }), 201).data.extId),
  )
  const role = await aRole(app, ['View_Category', 'Update_Category', 'Create_Category'])
  await grant(app, { id: role }, extId, { category: { uuid: { eq: other } } })
  const reaching = await grant(app, { id: role }, extId, { category: { uuid: { eq: one } } })
  const own = await grant(app, { id: role }, extId, { category: { owner_uuid: { eq: 'SELF_OWNED' } } })
  const read = ok(await app.call('GET', `${categories}/${one}`, { apiKey }), 200)
  const changed = { ...aPair('one'), description: 'changed' }
  ok(await app.call('PUT', `${categories}/${one}`, { apiKey, ifMatch: read.etag ?? '', body: changed }), 200)
  assert.equal((await newest())?.decision, `policy ${reaching}, role ${role}`)
  ok(await app.call('POST', categories, { apiKey, body: aPair('made') }), 201)
  assert.equal((await newest())?.decision, `policy ${own}, role ${role}`)
})

test('the audit of a denied change names the missing permission', async () => {
  const { extId, apiKey } = await aRobot(app)
  ok(await app.call('POST', categories, { apiKey, body: aPair('denied') }), 403)
  assert.equal((await newest())?.decision, 'no policy grants Create_Category')
  const role = await aRole(app, ['Create_Category', 'View_Category'])
  await grant(app, { id: role }, extId, { category: { owner_uuid: { eq: extId.replace(/./g, '0') } } })
  ok(await app.call('POST', categories, { apiKey, body: aPair('denied') }), 403)
  assert.equal((await newest())?.decision, 'policies that grant Create_Category reach other entities: 1')
})

test('the audit of a change to an owned entity says that ownership allowed it', async () => {
  const { extId, apiKey } = await aRobot(app)
  const body = { name: 'second', keyType: 'API_KEY' }
  const key = ok(await app.call('POST', `/iam/v4.1.b2/authn/users/${extId}/keys`, { body }), 201).data
  const revoke = `/iam/v4.1.b2/authn/users/${extId}/keys/${key.extId}/$actions/revoke`
  ok(await app.call('POST', revoke, { apiKey, body: {} }), 200)
  assert.equal((await newest())?.decision, 'an entity of its own')
})

test('a filter nested deeper than its grammar is refused with its path', async () => {
  const body = {
    ...policyBody(systemRoleId('Category Admin'), 'a'),
    entities: [{ entityFilter: { image: { name: { eq: { or: [{ eq: 'x' }] } } } } }],
    identities: [{ identityFilter: { user: { uuid: [{ eq: 'x' }] } } }],
  }
  const refused = ok(await app.call('POST', policies, { body }), 400)
  assert.deepEqual(
    refused.errors.map((one) => one.argumentsMap?.['attributePath']),
    ['identities[0]/identityFilter/user/uuid', 'entities[0]/entityFilter/image/name/eq'],
  )
})
