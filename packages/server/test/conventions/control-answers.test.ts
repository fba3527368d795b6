/** Every answer and refusal of the control interface, over HTTP: the envelope, its metadata and types. Source: conventions 2, 14. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Operation } from '@hyperplane/contract'
import { controlRequests, operations, type Request, subject } from '../support/control-requests.ts'
import type { HttpResult } from '../support/http.ts'
import { adminPassword, startApp, type TestApp } from '../support/start-app.ts'
import { aWorld } from '../support/worlds.ts'

let app: TestApp
let url: string
let requests: ReturnType<typeof controlRequests>
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
  await aWorld(app, subject)
  requests = controlRequests(app, url)
})
after(() => app.close())

test('every answer is an envelope: metadata and data of the declared types, in the names of the specification for all clients', async () => {
  for (const operation of operations) {
    if (operation.produces !== undefined) continue
    const answer = await requests.overHttp(await requests.aRequest(operation), { 'NTNX-Request-Id': randomUUID() })
    const about = `${operation.key}: ${answer.text.slice(0, 500)}`
    const { answer: shape, status, verb, resource } = operation
    assert.equal(answer.status, status, about)
    assert.deepEqual(
      [answer.headers['x-hyperplane-names'], answer.headers['cache-control']],
      ['spec', 'no-store'],
      about,
    )
    if (status === 204) {
      assert.equal(answer.text, '', about)
      continue
    }
    checkMetadata(answer, operation, about)
    assert.deepEqual(Object.keys(answer.json), ['metadata', 'data'], about)
    const item = shape?.type === 'list' ? shape.items : shape
    assert.ok(item?.type === 'object' && item.objectType !== undefined, about)
    for (const { $objectType } of [answer.json.data].flat()) assert.equal($objectType, item.objectType, about)
    if (verb === 'get' && resource?.derived !== true) assert.ok(answer.headers['etag'], about)
  }
})

test('every answer without an envelope has the declared media type', async () => {
  const others = operations.filter(({ produces }) => produces !== undefined)
  assert.deepEqual(others.map(({ id }) => id).sort(), ['exportJournal', 'exportWorld', 'streamJournal'])
  for (const operation of others) {
    // One of them is an endless stream: only its head is read.
    const stop = new AbortController()
    const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
    const answer = await fetch(url + requests.pathOf(operation, subject), {
      signal: stop.signal,
      headers: { authorization },
    })
    stop.abort()
    const about = [
      answer.status,
      answer.headers.get('content-type')?.split(';')[0],
      answer.headers.get('cache-control'),
    ]
    assert.deepEqual(about, [200, operation.produces, 'no-store'], operation.key)
  }
})

test('every refusal is an envelope too: messages with a code, or the fields at fault', async () => {
  for (const operation of operations) {
    const request: Request = { operation, world: subject, path: requests.pathOf(operation, subject), content: {} }
    const stranger = await requests.overHttp(request, {}, null)
    assert.equal(stranger.status, 401, operation.key)
    assert.match(String(stranger.headers['www-authenticate']), /^Basic realm=/, operation.key)
    checkMetadata(stranger, undefined, operation.key)
    assert.equal(stranger.json.data.$objectType, 'control.v1.error.ErrorResponse', operation.key)
    const [message] = stranger.json.data.error
    assert.deepEqual([message.$objectType, message.code], ['control.v1.error.AppMessage', 'PLAT-10401'], operation.key)

    const malformed = await requests.overHttp({ ...request, path: `${request.path}?nonsense=1` })
    assert.equal(malformed.status, 400, operation.key)
    checkMetadata(malformed, undefined, operation.key)
    const { error } = malformed.json.data
    assert.equal(error.$objectType, 'control.v1.error.SchemaValidationError', operation.key)
    assert.equal(error.path, request.path, operation.key)
    assert.ok(
      error.validationErrorMessages.some(({ attributePath }: any) => attributePath === 'nonsense'),
      operation.key,
    )
  }
})

function checkMetadata({ json }: HttpResult, operation: Operation | undefined, about: string): void {
  const { metadata } = json
  assert.equal(metadata.$objectType, 'common.v1.response.ApiResponseMetadata', about)
  const flags = Object.fromEntries(metadata.flags.map(({ name, value }: any) => [name, value]))
  const isPaginated = operation?.paged ?? false
  assert.deepEqual(flags, { hasError: operation === undefined, isPaginated, isTruncated: false }, about)
  assert.equal(typeof metadata.totalAvailableResults, isPaginated ? 'number' : 'undefined', about)
  const [self] = metadata.links
  assert.deepEqual([self.$objectType, self.rel], ['common.v1.response.ApiLink', 'self'], about)
  assert.ok(self.href.startsWith(`${url}/control/v1/`), about)
}
