/** Lists whose query exceeds the time limit. Source: behaviour conventions 10.3. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { adminPassword, startApp, type TestApp } from '../support/start-app.ts'

let app: TestApp
let url: string
before(async () => {
  // No query that looks at a row is quick enough.
  app = await startApp({ queryTime: { mainThread: 0, ownThread: 0 } })
  url = (await app.listen()).url
})
after(() => app.close())

const categories = '/platform/v4.3/config/categories'
const slow = `${categories}?$filter=${encodeURIComponent("contains(value, 'x')")}`

const get = (path: string): Promise<Response> =>
  fetch(`${url}/api${path}`, {
    headers: { authorization: `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}` },
  })

test('a query above the limit is stopped with 503 PLAT-10503, in the envelope, with a remedy', async () => {
  const response = await get(slow)
  assert.equal(response.status, 503)
  const { data, metadata } = (await response.json()) as any
  assert.equal(metadata.flags.find((flag: any) => flag.name === 'hasError').value, true)
  const [{ code, errorGroup, severity, message }] = data.error
  assert.deepEqual(
    { code, errorGroup, severity },
    { code: 'PLAT-10503', errorGroup: 'SERVICE_UNAVAILABLE', severity: 'ERROR' },
  )
  assert.match(message, /stopped.*Narrow/)
  assert.doesNotMatch(message, /select|json|sqlite/i)
})

test('groupings are stopped as well', async () => {
  const { status, errors } = await app.call('GET', '/clustermgmt/v4.2/config/hosts?$apply=groupby((hostName))')
  assert.equal(status, 503)
  assert.equal(errors[0]?.code, 'PLAT-10503')
})

test('reads by id, mutations and queries of the service itself are not stopped', async () => {
  const body = { key: 'kept', value: 'working' }
  const made = await app.call('POST', categories, { body, requestId: crypto.randomUUID() })
  assert.equal(made.status, 201)
  assert.equal((await get(`${categories}/${made.data.extId}`)).status, 200)
})
