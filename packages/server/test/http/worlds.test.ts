/** The world of a request over real sockets: header, host, port; the control interface on the same port. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { World } from '@hyperplane/contract/control/world'
import { seedId } from '../../src/core/ids/named-id.ts'
import { tablesOf } from '../../src/store/tables.ts'
import { http } from '../support/http.ts'
import { startApp, type TestApp } from '../support/start-app.ts'

let app: TestApp
let url: string
let own: string
const categories = '/api/platform/v4.3/config/categories'
const keys = async (at: string, headers: Record<string, string> = {}): Promise<{ status: number; keys: string[] }> => {
  const { status, json } = await http(at, `${categories}?$filter=startswith(key,'only-')`, { headers })
  return { status, keys: (json.data ?? []).map(({ key }: { key: string }) => key) }
}

before(async () => {
  app = await startApp({ logLevel: 'silent' })
  url = (await app.listen()).url
  const created = await http(url, '/control/v1/worlds', {
    method: 'POST',
    body: JSON.stringify({ name: 'lab-1', preset: 'empty', port: 0 }),
  })
  assert.equal(created.status, 201, created.text)
  own = `http://127.0.0.1:${created.json.data.port}`
  assert.deepEqual(created.json.data.urls, [
    `http://lab-1.localhost:${new URL(url).port}/api`,
    `http://localhost:${created.json.data.port}/api`,
  ])
  for (const [headers, key] of [
    [{}, 'only-default'],
    [{ 'x-world': 'lab-1' }, 'only-lab'],
  ] as const) {
    const body = JSON.stringify({ key, value: 'x' })
    assert.equal((await http(url, categories, { method: 'POST', body, headers })).status, 201)
  }
})
after(() => app.close())

test('header, host name and port each choose a world; without them it is default', async () => {
  assert.deepEqual(await keys(url), { status: 200, keys: ['only-default'] })
  assert.deepEqual(await keys(url, { 'x-world': 'default' }), { status: 200, keys: ['only-default'] })
  assert.deepEqual(await keys(url, { 'x-world': 'LAB-1' }), { status: 200, keys: ['only-lab'] })
  assert.deepEqual(await keys(url, { host: 'lab-1.localhost:9440' }), { status: 200, keys: ['only-lab'] })
  assert.deepEqual(await keys(own), { status: 200, keys: ['only-lab'] })
})

test('links of an answer have the origin that the client called', async () => {
  const own1 = await http(own, categories)
  assert.ok(own1.json.metadata.links[0].href.startsWith(`${own}/api/`), own1.json.metadata.links[0].href)
  const byHost = await http(url, categories, { headers: { host: 'lab-1.localhost:9440' } })
  assert.ok(byHost.json.metadata.links[0].href.startsWith('http://lab-1.localhost:9440/api/'))
})

test('an unknown world is 404 in the envelope for administrators of default, 401 without credentials', async () => {
  const requested = await http(url, categories, { headers: { 'x-world': 'nowhere' } })
  assert.equal(requested.status, 404)
  assert.equal(requested.json.data.error[0].code, 'CTRL-10002')
  assert.equal((await http(url, categories, { headers: { host: 'nowhere.localhost' } })).status, 404)
  assert.equal((await http(url, categories, { as: null, headers: { 'x-world': 'nowhere' } })).status, 401)
})

test('two of header, host and port that name different worlds are 400', async () => {
  for (const [at, headers] of [
    [url, { 'x-world': 'lab-1', host: 'default.localhost' }],
    [own, { 'x-world': 'default' }],
    [own, { host: 'default.localhost' }],
  ] as const) {
    const { status, json } = await http(at, categories, { headers })
    assert.equal(status, 400)
    assert.equal((await http(at, categories, { as: null, headers })).status, 401)
    assert.equal(json.data.error[0].code, 'CTRL-10005')
  }
})

test('the control interface answers on every port, in the envelope, for the administrators of default', async () => {
  for (const at of [url, own]) {
    const { status, json, headers } = await http(at, '/control/v1/worlds/lab-1', { headers: { 'x-world': 'lab-1' } })
    assert.equal(status, 200)
    assert.equal(json.data.name, 'lab-1')
    assert.ok(headers['etag'])
    assert.ok(json.metadata.links[0].href.endsWith('/control/v1/worlds/lab-1'), json.metadata.links[0].href)
  }
  const nobody = await http(url, '/control/v1/worlds', { as: null })
  assert.equal(nobody.status, 401)
  const missing = await http(url, '/control/v1/nothing')
  assert.equal(missing.status, 404)
  assert.match(missing.json.data.error[0].message, /"\/control\/v1\/nothing".*v1\./)
  assert.equal((await http(url, '/control/v1/worlds?colour=red')).status, 400)
})

test('the control interface describes itself', async () => {
  const { status, json } = await http(url, '/openapi/control/v1.json', { as: null })
  assert.equal(status, 200)
  assert.ok(json.paths['/control/v1/worlds/{worldName}/clock/$actions/advance'])
})

test('the port of a world closes with the world; a port in use is refused', async () => {
  const taken = Number(new URL(own).port)
  const body = JSON.stringify({ name: 'other', preset: 'empty', port: taken })
  const refused = await http(url, '/control/v1/worlds', { method: 'POST', body })
  assert.equal(refused.status, 409, refused.text)
  assert.equal((await http(url, '/control/v1/worlds/other')).status, 404)
  const again = await http(url, '/control/v1/worlds', { method: 'POST', body: body.replace(String(taken), '0') })
  assert.equal(again.status, 201, again.text)
  const at = `http://127.0.0.1:${again.json.data.port}`
  assert.equal((await http(at, categories)).status, 200)
  assert.equal((await http(url, '/control/v1/worlds/other', { method: 'DELETE' })).status, 204)
  await assert.rejects(http(at, categories))
})

test('a world changes its port when its row is committed; if that fails, it keeps its port', async () => {
  const path = '/control/v1/worlds/shifting'
  const created = await http(url, '/control/v1/worlds', {
    method: 'POST',
    body: JSON.stringify({ name: 'shifting', preset: 'empty', port: 0 }),
  })
  const before = `http://127.0.0.1:${created.json.data.port}`
  const moveTo = async (port: number) => {
    const headers = { 'if-match': String((await http(url, path)).headers['etag']) }
    return http(url, path, { method: 'PUT', headers, body: JSON.stringify({ name: 'shifting', port }) })
  }
  const asBefore = async (): Promise<void> => {
    assert.equal((await http(before, categories)).status, 200)
    assert.equal((await http(url, path)).json.data.port, created.json.data.port)
  }

  const free = await freePort()
  const registry = new DatabaseSync(join(app.folder, 'worlds.sqlite'))
  registry.exec(`CREATE TRIGGER full BEFORE UPDATE ON ${tablesOf([World], []).get(World.kind)?.name}
    BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
  assert.equal((await moveTo(free)).status, 500)
  await asBefore()
  await assert.rejects(http(`http://127.0.0.1:${free}`, categories))
  registry.exec('DROP TRIGGER full')
  registry.close()

  const moved = await moveTo(free)
  assert.deepEqual([moved.status, moved.json.data.port], [200, free], moved.text)
  assert.equal((await http(`http://127.0.0.1:${free}`, categories)).status, 200)
  await assert.rejects(http(before, categories))
})

/** A port in no use. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

test('a DELETE of a world through its own port is answered before the port closes', async () => {
  for (const [method, name] of [
    ['DELETE', 'leaving-1'],
    ['PUT', 'leaving-2'],
  ] as const) {
    const path = `/control/v1/worlds/${name}`
    const body = JSON.stringify({ name, preset: 'empty', port: 0 })
    const created = await http(url, '/control/v1/worlds', { method: 'POST', body })
    assert.equal(created.status, 201, created.text)
    const at = `http://127.0.0.1:${created.json.data.port}`
    const read = await http(at, path)
    const headers = { 'if-match': String(read.headers['etag']) }
    const change = method === 'PUT' ? { body: JSON.stringify({ name }) } : {}
    const answer = await http(at, path, { method, headers, ...change })
    assert.equal(answer.status, method === 'PUT' ? 200 : 204, answer.text)
    assert.equal(answer.headers['connection'], 'close')
    await assert.rejects(http(at, path))
  }
})

test('a world keeps its port if the requested one is in use, and releases it if none is requested', async () => {
  const at = '/control/v1/worlds/moving'
  const body = JSON.stringify({ name: 'moving', preset: 'empty', port: 0 })
  const created = await http(url, '/control/v1/worlds', { method: 'POST', body })
  assert.equal(created.status, 201, created.text)
  const first = `http://127.0.0.1:${created.json.data.port}`
  const moved = async (port?: number) => {
    const { headers, json } = await http(url, at)
    const sent = { 'if-match': String(headers['etag']) }
    return http(url, at, { method: 'PUT', headers: sent, body: JSON.stringify({ ...json.data, port }) })
  }
  assert.equal((await moved(Number(new URL(own).port))).status, 409)
  assert.equal((await http(first, categories)).status, 200)
  assert.equal((await moved()).status, 200)
  await assert.rejects(http(first, categories))
})

test('HEAD of an export releases its snapshot, so that the store can checkpoint', async () => {
  const { status, text } = await http(url, '/control/v1/worlds/lab-1/seed', { method: 'HEAD' })
  assert.deepEqual([status, text], [200, ''])
  const body = JSON.stringify({ key: 'after-head', value: 'x' })
  assert.equal((await http(own, categories, { method: 'POST', body })).status, 201)
  const forked = await http(url, '/control/v1/worlds/lab-1/$actions/fork', { method: 'POST', body: '{"name":"tidy"}' })
  assert.equal(forked.status, 201, forked.text)
  assert.equal(statSync(join(app.folder, 'worlds', 'lab-1', 'world.sqlite-wal')).size, 0)
})

test('an export that waits for tasks does not delay a stop', async () => {
  const ending = await startApp({ config: { seed: 'tiny', durations: 'natural' } })
  const at = (await ending.listen()).url
  const body = JSON.stringify({ name: 'slow', memorySizeBytes: 1024 ** 3, cluster: { extId: seedId('cluster/tiny') } })
  const headers = { 'SVC-Request-Id': crypto.randomUUID() }
  const started = await http(at, '/api/vmm/v4.2/ahv/config/vms', { method: 'POST', body, headers })
  assert.equal(started.status, 202, started.text)
  const requested = http(at, '/control/v1/worlds/default/seed?within=PT1M')
  // The export has arrived: a later request on another connection is answered.
  assert.equal((await http(at, '/control/v1/worlds')).status, 200)
  const [answer] = await Promise.all([requested, ending.close()])
  assert.equal(answer.status, 409, answer.text)
})

test('with --control off there is no control interface, and no world but default', async () => {
  const plain = await startApp({ config: { control: 'off' } })
  try {
    const at = (await plain.listen()).url
    assert.equal((await http(at, '/control/v1/worlds')).status, 404)
    assert.equal((await http(at, categories, { headers: { 'x-world': 'default' } })).status, 200)
    assert.equal((await http(at, '/openapi/control/v1.json')).status, 404)
  } finally {
    await plain.close()
  }
})
