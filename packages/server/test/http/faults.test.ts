/** Connections that are dropped and answers that break off, as clients on a socket see them. Source: reference faults.md. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { request } from 'node:https'
import { after, afterEach, before, test } from 'node:test'
import { Category } from '@hyperplane/contract/platform/category'
import { aFault, noFaults } from '../support/faults.ts'
import { type HttpResult, http, raw } from '../support/http.ts'
import { adminPassword, startApp, type TestApp } from '../support/start-app.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
afterEach(() => noFaults(app))
after(() => app.close())

const categories = '/api/platform/v4.3/config/categories'
const match = { operation: 'createCategory' }
const count = (): Promise<number> => app.store.count(Category)
const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`

function post(requestId: string, value: string): Promise<HttpResult> {
  const body = JSON.stringify({ key: 'dropped', value })
  return http(url, categories, { method: 'POST', body, headers: { 'SVC-Request-Id': requestId } })
}

test('a connection dropped before the commit: no answer, no effect; the retry with the same id has the effect', async () => {
  await aFault(app, match, { dropConnection: 'BEFORE_COMMIT' }, { next: 1 })
  const requestId = randomUUID()
  const before = await count()
  await assert.rejects(post(requestId, 'before'), { code: 'ECONNRESET' })
  assert.equal(await count(), before)
  const retried = await post(requestId, 'before')
  assert.deepEqual([retried.status, retried.headers['idempotent-replayed']], [201, undefined])
})

test('a connection dropped after the commit: no answer, but the effect; the retry with the same id is answered, and repeats no effect', async () => {
  await aFault(app, match, { dropConnection: 'AFTER_COMMIT' }, { next: 1 })
  const requestId = randomUUID()
  const before = await count()
  await assert.rejects(post(requestId, 'after'), { code: 'ECONNRESET' })
  assert.equal(await count(), before + 1)
  const retried = await post(requestId, 'after')
  assert.deepEqual(
    [retried.status, retried.headers['idempotent-replayed'], retried.json.data.value],
    [201, 'true', 'after'],
  )
  assert.equal(await count(), before + 1)
})

test('a task starts only once when the connection of its request is dropped after the commit', async () => {
  await aFault(app, { operation: 'createVolumeGroup' }, { dropConnection: 'AFTER_COMMIT' }, { next: 1 })
  const [cluster] = (await app.call('GET', '/clustermgmt/v4.2/config/clusters?$limit=1')).data
  const body = JSON.stringify({ name: `dropped-${randomUUID().slice(0, 8)}`, clusterReference: cluster.extId })
  const headers = { 'SVC-Request-Id': randomUUID() }
  const ask = () => http(url, '/api/volumes/v4.2/config/volume-groups', { method: 'POST', body, headers })
  await assert.rejects(ask(), { code: 'ECONNRESET' })
  const retried = await ask()
  assert.deepEqual([retried.status, retried.headers['idempotent-replayed']], [202, 'true'])
  assert.equal((await app.task(retried.json.data.extId)).status, 'SUCCEEDED')
})

test('a refusal is dropped as well: the client gets no answer', async () => {
  await aFault(app, { operation: 'getCategoryById' }, { dropConnection: 'AFTER_COMMIT' })
  await assert.rejects(http(url, `${categories}/${randomUUID()}`), { code: 'ECONNRESET' })
})

const asBytes = (path: string): Promise<string> =>
  raw(url, `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`)

test('an answer is cut within its body: the head announces the full length, then the connection ends', async () => {
  await aFault(app, { operation: 'listCategories' }, { truncateAfterBytes: 40 })
  const [head = '', body = ''] = (await asBytes(categories)).split('\r\n\r\n')
  assert.match(head, /^HTTP\/1\.1 200 /)
  assert.ok(Number(/content-length: (\d+)/i.exec(head)?.[1]) > 40)
  assert.equal(body.length, 40)
  await assert.rejects(http(url, categories), /aborted/)
})

test('an answer shorter than the limit of the rule is cut before its last byte', async () => {
  await aFault(app, { operation: 'listCategories' }, { truncateAfterBytes: 10_000_000 })
  const [head = '', body = ''] = (await asBytes(categories)).split('\r\n\r\n')
  assert.equal(Buffer.byteLength(body), Number(/content-length: (\d+)/i.exec(head)?.[1]) - 1)
})

test('no byte of the body is sent when the rule allows none', async () => {
  await aFault(app, { operation: 'listCategories' }, { truncateAfterBytes: 0 })
  const [head = '', body] = (await asBytes(categories)).split('\r\n\r\n')
  assert.match(head, /^HTTP\/1\.1 200 /)
  assert.equal(body, '')
})

test('the journal records the rule that applied, and the bytes that reached the client', async () => {
  await app.call('POST', '/control/v1/worlds/default/journal/$actions/clear')
  const rule = await aFault(app, { operation: 'listCategories' }, { dropConnection: 'AFTER_COMMIT' })
  await assert.rejects(http(url, categories))
  const [call] = (await app.call('GET', '/control/v1/worlds/default/journal/calls')).data
  assert.deepEqual([call.status, call.faults], [0, [rule.extId]])
})

test('faults apply over TLS as well', async () => {
  const secure = await startApp({ config: { http: false } })
  try {
    const { port } = new URL((await secure.listen()).url)
    await aFault(secure, { operation: 'listCategories' }, { truncateAfterBytes: 5 }, { next: 1 })
    await aFault(secure, { operation: 'listCategories' }, { dropConnection: 'BEFORE_COMMIT' }, { nth: 2 })
    const ask = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const options = { port, path: categories, headers: { authorization }, rejectUnauthorized: false, agent: false }
        const sent = request(options, (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk) => chunks.push(chunk))
          answer.on('error', () => resolve(`broken off after ${Buffer.concat(chunks).length}`))
          answer.on('end', () => resolve('whole'))
        })
        sent.on('error', reject)
        sent.end()
      })
    assert.equal(await ask(), 'broken off after 5')
    await assert.rejects(ask(), { code: 'ECONNRESET' })
    assert.equal(await ask(), 'whole')
  } finally {
    await secure.close()
  }
})
