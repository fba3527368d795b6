/** Two equal worlds answer the same calls with the same bytes, except their ports: successes and every type of refusal. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTime, realClock } from '../../src/core/time/clock.ts'
import { beginning, startApp, type TestApp } from '../support/start-app.ts'
import { basic, exchange } from '../support/wire.ts'

const categories = '/api/platform/v4.3/config/categories'
const users = '/api/iam/v4.1.b2/authn/users'
const vms = '/api/vmm/v4.2/ahv/config/vms'
const clusters = '/api/clustermgmt/v4.2/config/clusters'
const images = '/api/vmm/v4.2/content/images'
const world = '/control/v1/worlds/default'
const json = 'Content-Type: application/json'

type Answer = { readonly status: number; readonly etag: string | undefined; readonly json: any }
type Call = (method: string, path: string, headers?: readonly string[], body?: unknown) => Promise<Answer>

/** Makes all calls, each on its own connection, and returns the bytes of their answers. */
async function answers(): Promise<string[]> {
  const app = await startApp({
    config: { seed: 'tiny', rateLimits: 'on', limits: 'world-clock' },
    isFilledAnew: true,
    realClock: { ...realClock, now: () => beginning, iso: () => formatTime(beginning) },
    logLevel: 'silent',
  })
  const seen: string[] = []
  try {
    const { url } = await app.listen()
    const { port } = new URL(url)
    const say = async (line: string, bytes: string): Promise<string> => {
      const wire = (await exchange(url, bytes)).toString().replaceAll(port, 'PORT')
      seen.push(`${line}\n${wire}`)
      return wire
    }
    const call = callerOf(say)
    const { id, etag } = await callCategory(call)
    await callRefused(call, id, etag)
    await callMalformed(call)
    await callTask(call)
    await callThrottled(call, id)
    await callFaulty(call, app)
    for (const bytes of ['GARBAGE\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'])
      await say(bytes, bytes)
    return seen
  } finally {
    await app.close()
  }
}

/** The request has no request id, unless `headers` contain one. */
const callerOf =
  (say: (line: string, bytes: string) => Promise<string>): Call =>
  async (method, path, headers = [], body) => {
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
    const type = headers.some((header) => header.startsWith('Content-Type')) ? [] : [json]
    const length = body === undefined ? [] : [...type, `Content-Length: ${Buffer.byteLength(text)}`]
    const all = [...(headers.includes('no credentials') ? [] : [basic()]), ...headers, ...length]
    const prefix = [`${method} ${path} HTTP/1.1`, 'Host: a.example', 'Connection: close']
    const lines = [...prefix, ...all.filter((header) => header !== 'no credentials')]
    const wire = await say(`${method} ${path}`, `${lines.join('\r\n')}\r\n\r\n${text}`)
    const [head = '', answerText = ''] = wire.split('\r\n\r\n')
    return {
      status: Number(head.slice(9, 12)),
      etag: /^ETag: (.*)$/m.exec(head)?.[1],
      json: answerText.startsWith('{') ? JSON.parse(answerText) : undefined,
    }
  }

async function callCategory(call: Call): Promise<{ id: string; etag: string | undefined }> {
  const created = await call('POST', categories, [], { key: 'equal', value: 'worlds' })
  const id = created.json.data.extId
  const etag = created.etag
  await call('GET', `${categories}/${id}`)
  await call('HEAD', categories)
  await call('GET', categories.replace('platform', 'prism'))
  await call('PUT', `${categories}/${id}`, [`If-Match: ${etag}`], { key: 'equal', value: 'changed' })
  return { id, etag }
}

/** 412, 428, 409, 404, 405, 406, 413, 414, 415, 417, 431. */
async function callRefused(call: Call, id: string, etag: string | undefined): Promise<void> {
  await call('PUT', `${categories}/${id}`, [`If-Match: ${etag}`], { key: 'equal', value: 'again' })
  await call('PUT', `${categories}/${id}`, [], { key: 'equal', value: 'again' })
  await call('POST', categories, [], { key: 'equal', value: 'changed' })
  await call('GET', `${categories}/00000000-0000-4000-8000-000000000000`)
  await call('GET', '/api/nowhere')
  await call('GET', '/nowhere')
  await call('OPTIONS', '/api/nope/unversioned/info')
  await call('OPTIONS', '/api/prism/unversioned/info')
  await call('PATCH', categories)
  await call('GET', categories, ['Accept: image/png'])
  await call('POST', categories, ['Content-Length: 2000000', json])
  await call('GET', `/api/${'a'.repeat(17_000)}`)
  await call('POST', categories, ['Content-Type: text/plain'], 'x')
  await call('GET', categories, ['Expect: miracles'])
  await call('GET', categories, Array(120).fill('X: 1'))
}

/** 400: JSON, shape, filter, page, request id; then 401, 403. */
async function callMalformed(call: Call): Promise<void> {
  await call('POST', categories, [], '{"key":')
  await call('POST', categories, [], { none: 1 })
  await call('GET', `${categories}?$filter=nothing%20eq%201`)
  await call('GET', `${categories}?$page=-1`)
  await call('POST', categories, ['SVC-Request-Id: no-id'], { key: 'a', value: 'b' })
  await call('GET', categories, ['no credentials'])
  await call('GET', categories, ['no credentials', basic('admin:wrong')])
  await call('GET', categories, ['X-SVC-Api-Key: nothing'])
  const reader = { username: 'someone', userType: 'LOCAL', password: 'An.Other-Passw0rd' }
  await call('POST', users, ['SVC-Request-Id: 00000000-0000-4000-8000-000000000001'], reader)
  await call('GET', categories, ['no credentials', basic('someone:An.Other-Passw0rd')])
}

/** 202, and the task. */
async function callTask(call: Call): Promise<void> {
  const result = (await call('GET', clusters)).json.data
  const cluster = result.find(({ config }: any) => config?.clusterFunction?.includes('AOS'))
  const body = { name: 'equal', memorySizeBytes: 2 ** 30, cluster: { extId: cluster.extId } }
  const task = await call('POST', vms, ['SVC-Request-Id: 00000000-0000-4000-8000-000000000002'], body)
  await call('GET', vms)
  await call('GET', `/api/platform/v4.3/config/tasks/${task.json.data.extId}`)
}

/** 404 and 400 for the choice of a world, then 429. */
async function callThrottled(call: Call, id: string): Promise<void> {
  await call('GET', categories, ['X-World: nowhere'])
  await call('GET', categories, ['Host: b.localhost'])
  await call('GET', `http://nowhere.localhost${categories}`)
  for (let count = 0; count < 12; count++) await call('GET', `${categories}/${id}?$nothing=1`)
  for (let count = 0; count < 7; count++)
    await call('POST', '/api/platform/v4.3/operations/$actions/batch', [], { metadata: {}, payload: [] })
}

/** 500 for an unexpected error, 503 by a fault rule; then clock, journal and documents. */
async function callFaulty(call: Call, app: TestApp): Promise<void> {
  await call('GET', `${images}`)
  Object.assign(app.drivers.contentSource, {
    read() {
      throw new Error('a fault of the service')
    },
  })
  const [image] = (await app.call('GET', `${images.slice(4)}?$limit=1`)).data
  if (image !== undefined) await call('GET', `${images}/${image.extId}/file`)
  await call('POST', `${world}/faults`, [], {
    match: { operation: 'platform.createCategory' },
    effect: { error: 'SERVICE_UNAVAILABLE', arguments: { fault: 'Asked for.' } },
  })
  await call('POST', categories, [], { key: 'unavailable', value: 'now' })
  await call('GET', `${world}/faults`)
  await call('GET', world)
  await call('POST', `${world}/clock/$actions/advance`, [], { duration: 'PT1H' })
  await call('GET', categories)
  await call('GET', `${world}/journal/calls?$limit=100`)
  await call('GET', '/control/v1/nothing')
  await call('GET', '/openapi/control/v1.json')
}

test('two equal worlds answer the same calls, with and without request ids, with the same bytes', async () => {
  const [one, other] = [await answers(), await answers()]
  assert.equal(one.length, other.length)
  for (const [index, answer] of one.entries()) assert.equal(other[index], answer)
  const statuses = new Set(
    one.flatMap(
      (text) =>
        /HTTP\/1\.1 (\d{3})/.exec(text.split('\n').find((line) => line.startsWith('HTTP/1.1 ')) ?? '')?.[1] ?? [],
    ),
  )
  for (const status of '200 201 202 400 401 403 404 405 406 409 412 413 414 415 417 428 429 431 500 503'.split(' '))
    assert.ok(statuses.has(status), `no call was answered ${status}: ${[...statuses].sort()}`)
})
