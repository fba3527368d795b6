/** The journal's record of a call, with the reason for its answer. Source: reference journal.md. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { systemRoleId } from '../../../src/domains/iam/catalogue/system-roles.ts'
import { http } from '../../support/http.ts'
import { aUser } from '../../support/identities.ts'
import { callsOf, categories, recorded } from '../../support/journal.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const json = (body: unknown) => ({ body: JSON.stringify(body) })
const aCategory = async (value = randomUUID()) => {
  const { json: made, headers } = await http(url, categories, { method: 'POST', ...json({ key: 'Journal', value }) })
  return { extId: made.data.extId as string, path: `${categories}/${made.data.extId}`, headers }
}

test('a call is recorded with caller, operation, target, status, request and answer', async () => {
  const requestId = randomUUID()
  const body = JSON.stringify({ key: 'Journal', value: 'whole' })
  const headers = { 'SVC-Request-Id': requestId }
  const { answer, call } = await recorded(app, url, categories, { method: 'POST', body, headers })
  assert.equal(answer.status, 201)
  const { sequence, caller, decision, answer: kept, ...rest } = call
  assert.ok(sequence > 0)
  assert.equal(caller.name, 'admin')
  assert.equal(caller.credential, 'basic')
  assert.match(decision, new RegExp(`^policy [0-9a-f-]{36}, role ${systemRoleId('Super Admin')}$`))
  assert.deepEqual(rest, {
    time: app.clock.iso(),
    durationMicros: 0,
    address: '127.0.0.1',
    profile: 'spec',
    method: 'POST',
    path: categories,
    operation: 'platform.createCategory',
    target: { kind: 'Category', extId: answer.json.data.extId },
    status: 201,
    errorCodes: [],
    requestId,
    request: { mediaType: 'application/json', sizeBytes: body.length, text: body },
    unreadFields: [],
    warnings: [],
    rewrites: [],
    faults: [],
  })
  assert.deepEqual(kept, { mediaType: 'application/json', sizeBytes: answer.text.length, text: answer.text })
})

test('time and duration of a call are on the world clock', async () => {
  const faults = '/control/v1/worlds/default/faults'
  const effect = { delay: { fixed: 'PT3S' } }
  const made = await app.call('POST', faults, { body: { match: { operation: 'createCategory' }, effect } })
  assert.equal(made.status, 201, JSON.stringify(made.errors))
  const came = app.clock.iso()
  const before = app.clock.waiting().count
  const sent = http(url, categories, { method: 'POST', ...json({ key: 'Journal', value: 'slow' }) })
  while (app.clock.waiting().count === before) await new Promise(setImmediate)
  await app.clock.advance(3000)
  assert.equal((await sent).status, 201)
  await app.call('DELETE', faults)
  const [call] = await callsOf(app, "contains(request/text,'slow')")
  assert.deepEqual([call.time, call.durationMicros], [came, 3_000_000])
})

test('the record of an asynchronous call names its task', async () => {
  const cluster = (await app.call('GET', '/clustermgmt/v4.2/config/clusters?$limit=1')).data[0].extId
  const { answer, call } = await recorded(app, url, '/api/volumes/v4.2/config/volume-groups', {
    method: 'POST',
    headers: { 'SVC-Request-Id': randomUUID() },
    ...json({ name: randomUUID(), clusterReference: cluster }),
  })
  assert.equal(answer.status, 202)
  assert.equal(call.taskExtId, answer.json.data.extId)
  assert.equal(call.target.kind, 'VolumeGroup')
})

test('requests that end before the pipeline are recorded: no route, no credentials, a header that is too large', async () => {
  const { call: lost } = await recorded(app, url, '/api/platform/v4.3/config/nothing')
  assert.deepEqual([lost.status, lost.errorCodes, lost.operation], [404, ['PLAT-10001'], undefined])
  const { call: anonymous } = await recorded(app, url, categories, { as: null })
  assert.deepEqual([anonymous.status, anonymous.caller, anonymous.operation], [401, undefined, undefined])
  const { call: large } = await recorded(app, url, `${categories}?x=${'y'.repeat(17_000)}`)
  assert.deepEqual([large.status, large.errorCodes], [414, ['PLAT-10016']])
  assert.ok(large.query.length <= 2000)
})

test('a request that fails validation is recorded with its status and code', async () => {
  const { call } = await recorded(app, url, categories, { method: 'POST', ...json({ key: 1 }) })
  assert.deepEqual([call.status, call.errorCodes], [400, ['SchemaValidationError']])
  assert.equal(call.request.text, '{"key":1}')
})

test('the record of a denied call names the missing permission', async () => {
  const person = await aUser(app, ['Network Infra Admin'])
  const { call } = await recorded(app, url, categories, {
    method: 'POST',
    as: person,
    ...json({ key: 'a', value: 'b' }),
  })
  assert.equal(call.status, 403)
  assert.equal(call.decision, 'no policy grants Create_Category')
  assert.equal(call.caller.name, person.split(':')[0])
})

test('a stale tag is recorded with the expected one', async () => {
  const { path, headers } = await aCategory()
  const current = (await http(url, path)).headers['etag']
  const body = json({ key: 'Journal', value: 'stale' })
  const { call } = await recorded(app, url, path, { method: 'PUT', headers: { 'If-Match': '"stale"' }, ...body })
  assert.equal(call.status, 412)
  assert.deepEqual(call.precondition, { expected: current, sent: '"stale"' })
  assert.equal(headers['etag'], current)
  const { call: without } = await recorded(app, url, path, { method: 'PUT', ...body })
  assert.deepEqual([without.status, without.precondition], [428, { expected: current }])
})

test('a throttled call names the bucket, and every call the remaining requests', async () => {
  const limited = await startApp({ config: { rateLimits: 'on' } })
  const { url: own } = await limited.listen()
  const path = '/api/platform/v4.3/operations/batches'
  for (let index = 0; index < 6; index++) await http(own, path)
  const calls = await callsOf(limited, "operation eq 'platform.listBatches'")
  assert.deepEqual(
    calls.map(({ status, throttledBy, rate }) => [status, throttledBy, rate.remaining, rate.limit]),
    [
      [200, undefined, 4, 5],
      [200, undefined, 3, 5],
      [200, undefined, 2, 5],
      [200, undefined, 1, 5],
      [200, undefined, 0, 5],
      [429, 'listBatches', 0, 5],
    ],
  )
  assert.deepEqual(calls[0].rate, {
    limit: 5,
    remaining: 4,
    periodSeconds: 1,
    identityLimit: 200,
    identityRemaining: 199,
  })
  await limited.close()
})

test('the record of a list names the used index, and the fields that were compared row by row', async () => {
  const search = async (path: string, query: string) =>
    (await recorded(app, url, `${path}?${query.replaceAll(' ', '%20')}`)).call.search
  assert.deepEqual(await search(categories, "$filter=key eq 'a' and contains(value,'b')"), {
    filteredBy: ['key', 'value'],
    orderedBy: [],
    index: 'key',
    scanned: ['value'],
    isSorted: false,
    isInMemory: false,
  })
  assert.deepEqual(await search(categories, "$filter=contains(value,'b')&$orderby=key desc"), {
    filteredBy: ['value'],
    orderedBy: ['key'],
    scanned: ['value'],
    isSorted: true,
    isInMemory: false,
  })
  assert.equal(await search(categories, '$limit=1'), undefined)
})

test('fields of a body that nothing read are named', async () => {
  const body = { key: 'Journal', value: 'unread', tenantId: randomUUID(), links: [] }
  const { answer, call } = await recorded(app, url, categories, { method: 'POST', ...json(body) })
  assert.equal(answer.status, 201)
  assert.deepEqual(call.unreadFields, ['links', 'tenantId'])
})

test('unknown fields of a public client are among the unread fields, with their warning', async () => {
  const { call } = await recorded(app, url, '/api/prism/v4.3/config/categories', {
    method: 'POST',
    ...json({ key: 'Journal', value: 'public', colour: 'red' }),
  })
  assert.equal(call.status, 201)
  assert.deepEqual(call.unreadFields, ['colour'])
  assert.match(call.warnings[0], /colour/)
})

test('names that a naming profile spells differently are recorded in both spellings', async () => {
  const { call } = await recorded(app, url, '/api/prism/v4.3/config/categories?$limit=1')
  assert.equal(call.profile, 'public')
  assert.equal(call.path, categories)
  assert.deepEqual(call.rewrites, [
    { place: 'path', sent: '/api/prism/v4.3/config/categories', understood: categories },
  ])
  const task = (await app.call('GET', '/platform/v4.3/config/tasks?$limit=1')).data[0].extId
  const { call: ofTask } = await recorded(app, url, `/api/prism/v4.3/config/tasks/ZXJnb24=:${task}`)
  assert.equal(ofTask.status, 200)
  assert.ok(ofTask.rewrites.some(({ place, understood }: any) => place === 'taskId' && understood === task))
})

test('a retry is recorded as the answer to an earlier call', async () => {
  const options = {
    method: 'POST',
    headers: { 'SVC-Request-Id': randomUUID() },
    ...json({ key: 'Journal', value: randomUUID() }),
  }
  const first = await recorded(app, url, categories, options)
  const second = await recorded(app, url, categories, options)
  assert.deepEqual([first.call.isReplayed, second.call.isReplayed], [undefined, true])
  assert.deepEqual([second.call.status, second.call.unreadFields], [201, []])
})

test('elements of a batch are recorded as calls of their own, with the task of the batch', async () => {
  const values = [randomUUID(), randomUUID(), 7]
  const { answer, call } = await recorded(app, url, '/api/platform/v4.3/operations/$actions/batch', {
    method: 'POST',
    headers: { 'SVC-Request-Id': randomUUID() },
    ...json({
      metadata: { action: 'CREATE', name: 'journal', uri: categories },
      payload: values.map((value) => ({ data: { key: 'Journal', value } })),
    }),
  })
  assert.equal(answer.status, 202)
  await app.task(answer.json.data.extId)
  const elements = await callsOf(app, `parentTaskExtId eq '${call.taskExtId}'`)
  assert.deepEqual(
    elements.map(({ operation, status, caller }) => [operation, status, caller.name]),
    [
      ['platform.createCategory', 201, 'admin'],
      ['platform.createCategory', 201, 'admin'],
      ['platform.createCategory', 400, 'admin'],
    ],
  )
  assert.equal(JSON.parse(elements[0].request.text).value, values[0])
  assert.equal(JSON.parse(elements[0].answer.text).data.value, values[0])
})

test('a call that a fault struck names the rule', async () => {
  const faults = '/control/v1/worlds/default/faults'
  const { data: rule } = await app.call('POST', faults, {
    body: { match: { operation: 'listCategories' }, effect: { dropConnection: 'BEFORE_COMMIT' } },
  })
  await http(url, categories).catch(() => undefined)
  const [call] = await callsOf(app, `faults/any(f:f eq '${rule?.extId}')`)
  assert.equal(call?.status, 0)
  await app.call('DELETE', faults)
})

test('bodies above 64 KiB are truncated and marked, with their complete size', async () => {
  const description = 'é'.repeat(50_000)
  const body = JSON.stringify({ key: 'Journal', value: 'long', description })
  const { call } = await recorded(app, url, categories, { method: 'POST', body })
  assert.equal(call.request.isCut, true)
  assert.equal(call.request.sizeBytes, Buffer.byteLength(body))
  assert.ok(Buffer.byteLength(call.request.text) <= 65_536)
  assert.ok(body.startsWith(call.request.text))
})

test('the answer to a HEAD request is recorded without a body', async () => {
  const { call } = await recorded(app, url, `${categories}?$limit=1`, { method: 'HEAD' })
  assert.deepEqual([call.method, call.status, call.answer], ['HEAD', 200, undefined])
})

test('calls of the control interface are not recorded', async () => {
  await http(url, '/control/v1/worlds')
  assert.deepEqual(await callsOf(app, "contains(path,'/control')"), [])
})
