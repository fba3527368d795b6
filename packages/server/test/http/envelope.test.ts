/** Bytes on the wire: envelope, names and headers of both profiles. Source: behaviour conventions 1, 2, 25. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { contract } from '@hyperplane/contract'
import { seedId } from '../../src/core/ids/named-id.ts'
import { http, raw } from '../support/http.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { addressesOfTask, reserve } from '../support/subnets.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

/** All property names in a value, at any depth. */
function* names(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* names(item)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      yield name
      yield* names(item)
    }
  }
}

const lists = contract
  .flatMap((namespace) => namespace.operations)
  .filter(
    (operation) =>
      operation.verb === 'list' &&
      !operation.path.includes('{') &&
      operation.clusterId === undefined &&
      Object.keys(operation.query).length === 0,
  )

test('with the names of the specification no answer has an envelope property besides metadata and data, and no $reserved anywhere', async () => {
  for (const operation of lists) {
    const answer = await http(url, `/api/${operation.namespace}/${operation.versions[0]}${operation.path}`, {
      headers: { 'SVC-Request-Id': crypto.randomUUID() },
    })
    assert.ok(
      answer.status === 200 || answer.status === 501,
      `${operation.key}: ${answer.status} ${answer.text.slice(0, 200)}`,
    )
    assert.deepEqual(
      Object.keys(answer.json).filter((name) => name !== 'metadata' && name !== 'data'),
      [],
      operation.key,
    )
    assert.ok(![...names(answer.json)].includes('$reserved'), operation.key)
    assert.equal(answer.headers['x-hyperplane-names'], 'spec')
    if (answer.status !== 200) continue
    assert.ok(Array.isArray(answer.json.data), operation.key)
    assert.equal(typeof answer.json.metadata.totalAvailableResults, 'number', operation.key)
    assert.deepEqual(
      answer.json.metadata.flags.map((flag: any) => flag.name),
      ['hasError', 'isPaginated', 'isTruncated'],
    )
    for (const item of answer.json.data)
      assert.equal(item.$objectType, operation.rowType ?? (operation.answer as any).items.objectType, operation.key)
  }
})

test('with public names envelope and data have $reserved and $objectType, and an empty list has no data', async () => {
  for (const operation of lists) {
    const answer = await http(url, `/api/${operation.namespace}/${operation.versions[0]}${operation.path}`, {
      headers: { 'NTNX-Request-Id': crypto.randomUUID() },
    })
    if (operation.namespace === 'platform' || operation.path.startsWith('/extern')) continue
    assert.equal(answer.headers['x-hyperplane-names'], 'public', operation.key)
    assert.ok(answer.json.$objectType.startsWith(`${operation.namespace}.v4.`), operation.key)
    assert.ok(answer.json.$reserved, operation.key)
    if (answer.status !== 200) continue
    assert.notDeepEqual(answer.json.data, [], operation.key)
    for (const item of answer.json.data ?? []) assert.ok(item.$reserved && item.$objectType, operation.key)
  }
})

test('the same category in both profiles has the same id and tag; a PUT in one takes the tag of the other', async () => {
  const created = await http(url, '/api/platform/v4.3/config/categories', {
    method: 'POST',
    body: JSON.stringify({ key: 'profile', value: 'both' }),
  })
  assert.equal(created.status, 201)
  const id = created.json.data.extId
  const spec = await http(url, `/api/platform/v4.3/config/categories/${id}`)
  const pub = await http(url, `/api/prism/v4.3/config/categories/${id}`)
  assert.equal(spec.headers['etag'], pub.headers['etag'])
  assert.equal(pub.json.data.$objectType, 'prism.v4.config.Category')
  assert.equal(pub.json.data.extId, id)
  const changed = await http(url, `/api/platform/v4.3/config/categories/${id}`, {
    method: 'PUT',
    headers: { 'If-Match': pub.headers['etag'] as string },
    body: JSON.stringify({ key: 'profile', value: 'changed' }),
  })
  assert.equal(changed.status, 200, changed.text)
})

test('a value that looks like a rewritten name is unchanged in both profiles', async () => {
  const created = await http(url, '/api/prism/v4.3/config/categories', {
    method: 'POST',
    body: JSON.stringify({ key: 'prism.config', value: 'prism.v4.config.x' }),
  })
  const id = created.json.data.extId
  for (const path of ['prism', 'platform']) {
    const read = await http(url, `/api/${path}/v4.3/config/categories/${id}`)
    assert.equal(read.json.data.key, 'prism.config')
    assert.equal(read.json.data.value, 'prism.v4.config.x')
  }
})

test('a public 404 has its reason phrase in upper case, and the message of the entity that was not found', async () => {
  const answer = await http(url, '/api/prism/v4.3/config/categories/00000000-0000-4000-8000-000000000000')
  assert.equal(answer.status, 404)
  assert.equal(answer.reason, 'NOT FOUND')
  assert.equal(answer.json.data.$objectType, 'prism.v4.error.ErrorResponse')
  assert.match(answer.json.data.error[0].message, /valid metadata or attributes could not be fetched/)
})

test('every answer is JSON in the envelope, echoes the request id, is not cached and sets no cookie', async () => {
  const id = crypto.randomUUID()
  for (const [path, options] of [
    ['/api/platform/v4.3/config/categories', {}],
    ['/api/nowhere', {}],
    ['/api/platform/v9.9/config/categories', {}],
    ['/api/platform/v4.3/config/categories', { as: null }],
    ['/api/platform/v4.3/config/categories', { method: 'PATCH' }],
    ['/api/platform/v4.3/config/categories', { method: 'POST', body: '{' }],
    ['/api/platform/v4.3/config/categories', { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }],
  ] as const) {
    const answer = await http(url, path, { ...options, headers: { ...(options as any).headers, 'SVC-Request-Id': id } })
    assert.ok(answer.json?.metadata, `${path}: ${answer.text}`)
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    assert.equal(answer.headers['cache-control'], 'no-store')
    assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    assert.equal(answer.headers['svc-request-id'], id)
    assert.equal(answer.headers['set-cookie'], undefined)
  }
})

test('401 has the same bytes for an unknown user and a wrong password', async () => {
  const unknown = await http(url, '/api/platform/v4.3/config/categories', { as: 'nobody:whatever' })
  const wrong = await http(url, '/api/platform/v4.3/config/categories', { as: 'admin:whatever' })
  assert.equal(unknown.status, 401)
  assert.equal(unknown.text, wrong.text)
  assert.match(String(wrong.headers['www-authenticate']), /^Basic realm="/)
  assert.equal((await http(url, '/api/nowhere/at/all', { as: 'admin:whatever' })).status, 401)
})

test('the negotiation answers a string without credentials and request id', async () => {
  const answer = await http(url, '/api/prism/unversioned/info', { method: 'OPTIONS', as: null })
  assert.equal(answer.status, 200)
  assert.equal(answer.json.data, 'v4.3')
  for (const [namespace, version] of [
    ['iam', 'v4.1.b2'],
    ['storage', 'v4.0.a3'],
    ['clustermgmt', 'v4.2'],
    ['vmm', 'v4.2'],
  ]) {
    assert.equal(
      (await http(url, `/api/${namespace}/unversioned/info`, { method: 'OPTIONS', as: null })).json.data,
      version,
    )
  }
})

test('a method that a path does not answer is 405 with Allow', async () => {
  const answer = await http(url, '/api/platform/v4.3/config/categories', { method: 'DELETE' })
  assert.equal(answer.status, 405)
  assert.equal(answer.headers['allow'], 'GET, POST')
})

test('a hostile Host header never appears in a link', async () => {
  const answer = await raw(
    url,
    `GET /api/platform/v4.3/config/categories HTTP/1.1\r\nHost: evil.example/x?y\r\nAuthorization: Basic ${Buffer.from('admin:Admin.Passw0rd!').toString('base64')}\r\nConnection: close\r\n\r\n`,
  )
  assert.ok(answer.startsWith('HTTP/1.1 200'), answer.slice(0, 200))
  assert.ok(!answer.includes('evil.example'))
  assert.match(answer, /https?:\/\/localhost:\d+\/api/)
})

test('heads that are too large are refused in the envelope: 414, 431', async () => {
  assert.equal((await http(url, `/api/platform/v4.3/config/categories?${'a'.repeat(17 * 1024)}`)).status, 414)
  const many = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`x-${index}`, '1']))
  assert.equal((await http(url, '/api/platform/v4.3/config/categories', { headers: many })).status, 431)
  const huge = await raw(url, `GET /api/x HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(60 * 1024)}\r\n\r\n`)
  assert.match(huge, /^HTTP\/1\.1 431/)
  assert.match(huge, /"code":"PLAT-10016"/)
})

test('bodies: too large 413, not JSON 400, invalid UTF-8 400, keys twice 400, nested too deep 400, __proto__ refused as a field', async () => {
  const post = (body: string | Uint8Array) =>
    http(url, '/api/platform/v4.3/config/categories', { method: 'POST', body })
  assert.equal((await post(`{"key":"${'k'.repeat(1024 * 1024)}"}`)).status, 413)
  assert.equal((await post('{"key":')).status, 400)
  assert.equal((await post(new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]))).status, 400)
  assert.match((await post('{"key":"a","key":"b","value":"c"}')).json.data.error[0].message, /twice/)
  assert.equal((await post('['.repeat(1000) + ']'.repeat(1000))).status, 400)
  const proto = await post('{"__proto__":{"polluted":true},"key":"a","value":"b"}')
  assert.equal(proto.status, 400)
  assert.equal(({} as any).polluted, undefined)
})

test('elements of reservedIpAddresses carry $objectType and $reserved for public clients, as every object does', async () => {
  const subnet = `/networking/v4.3/config/subnets/${seedId('subnet/vlan-100-app')}`
  await addressesOfTask(app, await reserve(app, subnet, { reserveType: 'IP_ADDRESS_COUNT', count: 2 }))
  const { json } = await http(url, `/api${subnet}`, { headers: { 'NTNX-Request-Id': crypto.randomUUID() } })
  assert.equal(json.data.reservedIpAddresses.length, 2)
  for (const address of json.data.reservedIpAddresses) {
    assert.deepEqual([address.$objectType, address.$reserved], ['common.v1.config.IPAddress', { $fv: 'v1.r0' }])
    assert.deepEqual(address.ipv4.$reserved, { $fv: 'v1.r0' })
  }
})

test('health, metrics and documents need no credentials and contain no names of users', async () => {
  assert.equal((await http(url, '/health/live', { as: null })).text, 'live\n')
  assert.equal((await http(url, '/health/ready', { as: null })).status, 200)
  const metrics = await http(url, '/metrics', { as: null })
  assert.match(metrics.text, /hyperplane_requests_total\{operation="platform\.createCategory",status="201"\}/)
  assert.match(metrics.text, /hyperplane_request_seconds_count [1-9]/)
  for (const name of ['syslog_lines', 'flow_messages'])
    assert.match(metrics.text, new RegExp(`hyperplane_${name}_total\\{outcome="lost"\\} \\d`))
  assert.ok(!metrics.text.includes('admin'))
  const index = await http(url, '/openapi.json', { as: null })
  assert.equal(index.json.documents.length, 9)
  for (const document of index.json.documents)
    assert.equal((await http(url, document.url, { as: null })).json.openapi, '3.1.0')
  const page = await http(url, '/docs', { as: null })
  assert.match(page.text, /createCategory/)
  assert.ok(!/(?:src|href)="https?:/.test(page.text), 'works offline')
})
