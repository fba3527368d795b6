/** The welcome banner. Source: behaviour iam.md 6, 13. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aUser, grant, ok } from './people.ts'

const banner = '/iam/v4.1.b2/authn/welcome-banner'

let app: TestApp
before(async () => void (app = await startApp()))
after(() => app.close())

test('a new world has an empty banner that is not shown', async () => {
  const { content, isEnabled } = (await app.call('GET', banner)).data
  assert.deepEqual({ content, isEnabled }, { content: '', isEnabled: false })
})

test('PUT with the current ETag is 200, with a stale one 412, without one 428', async () => {
  const { etag } = await app.call('GET', banner)
  const body = { content: 'Maintenance tonight.', isEnabled: true }
  assert.equal((await app.call('PUT', banner, { body })).status, 428)
  const changed = ok(await app.call('PUT', banner, { body, ifMatch: etag as string }), 200)
  assert.notEqual(changed.etag, etag)
  assert.equal((await app.call('PUT', banner, { body, ifMatch: etag as string })).status, 412)
  const shown = await app.call('GET', banner)
  assert.equal(shown.etag, changed.etag)
  assert.equal(shown.data.content, 'Maintenance tonight.')
})

test('banner content with markup is returned unchanged, as text', async () => {
  const content = '<script>alert("a & b")</script>\n\t<b>\u00fc</b>'
  const { etag } = await app.call('GET', banner)
  ok(await app.call('PUT', banner, { body: { content, isEnabled: true }, ifMatch: etag as string }), 200)
  assert.equal((await app.call('GET', banner)).data.content, content)
})

test('an enabled banner needs a text of at most 5,000 characters', async () => {
  const { etag } = await app.call('GET', banner)
  const put = (body: object) => app.call('PUT', banner, { body, ifMatch: etag as string })
  assert.equal((await put({ content: ' \n', isEnabled: true })).status, 400)
  assert.equal((await put({})).status, 400)
  assert.equal((await put({ content: 'x'.repeat(5001), isEnabled: false })).status, 400)
  ok(await put({ content: '', isEnabled: false }), 200)
})

test('every signed-in user reads the banner, and only a Platform Admin changes it', async () => {
  const nobody = await aUser(app)
  const { etag } = ok(await app.call('GET', banner, { as: nobody.as }), 200)
  const body = { content: 'x', isEnabled: false }
  assert.equal((await app.call('PUT', banner, { body, ifMatch: etag as string, as: nobody.as })).status, 403)
  await grant(app, 'Platform Admin', nobody.extId)
  ok(await app.call('PUT', banner, { body, ifMatch: etag as string, as: nobody.as }), 200)
})

test('of two concurrent updates with the same ETag one succeeds and the other is 412', async () => {
  const { etag } = await app.call('GET', banner)
  const body = { content: 'both', isEnabled: false }
  const results = await Promise.all([1, 2].map(() => app.call('PUT', banner, { body, ifMatch: etag as string })))
  assert.deepEqual(results.map(({ status }) => status).sort(), [200, 412])
})
