/** The journal as files and as a stream of events. Source: reference journal.md. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { harFaults } from '../../support/har.ts'
import { http } from '../../support/http.ts'
import { callsOf, categories, journal } from '../../support/journal.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
  await create('a')
  await create('b')
  await http(url, `${categories}?$limit=1&$filter=${encodeURIComponent("key eq 'a b'")}`)
  await http(url, categories, { as: null })
})
after(() => app.close())

const create = (value: string) =>
  http(url, categories, { method: 'POST', body: JSON.stringify({ key: 'Journal', value }) })

test('an export as JSON Lines has one call a line, equal to the list', async () => {
  const { headers, text } = await http(url, `${journal}/export`)
  assert.equal(headers['content-type'], 'application/x-ndjson')
  assert.equal(headers['content-disposition'], 'attachment; filename="default.jsonl"')
  const lines = text.trimEnd().split('\n')
  const shown = await callsOf(app)
  assert.equal(lines.length, shown.length)
  for (const [index, line] of lines.entries()) {
    const { sequence, path, status } = JSON.parse(line)
    const { [index]: call } = shown
    assert.deepEqual({ sequence, path, status }, { sequence: call.sequence, path: call.path, status: call.status })
  }
})

test('an export accepts the filter of the list, and refuses unknown formats and invalid filters', async () => {
  const filtered = await http(url, `${journal}/export?$filter=status%20eq%20201`)
  assert.equal(filtered.text.trimEnd().split('\n').length, 2)
  assert.equal((await http(url, `${journal}/export?format=csv`)).status, 400)
  assert.equal((await http(url, `${journal}/export?$filter=colour%20eq%201`)).status, 400)
})

test('an export as HTTP Archive has every member that HAR 1.2 requires', async () => {
  const { headers, json: har } = await http(url, `${journal}/export?format=har`)
  assert.equal(headers['content-type'], 'application/json')
  assert.deepEqual(harFaults(har), [])
  const [first, , third, fourth] = har.log.entries
  assert.equal(first.request.url, `${url}${categories}`.replace('127.0.0.1', 'localhost'))
  assert.equal(first.request.postData.text, '{"key":"Journal","value":"a"}')
  assert.equal(first.response.status, 201)
  assert.equal(JSON.parse(first.response.content.text).data.value, 'a')
  assert.deepEqual(third.request.queryString, [
    { name: '$limit', value: '1' },
    { name: '$filter', value: "key eq 'a b'" },
  ])
  assert.equal(fourth.response.statusText, 'Unauthorized')
  assert.equal(first._call.operation, 'platform.createCategory')
})

test('an empty journal is a valid archive', async () => {
  const { json: har } = await http(url, `${journal}/export?format=har&$filter=status%20eq%20599`)
  assert.deepEqual([harFaults(har), har.log.entries], [[], []])
})

interface Events {
  /** Numbers of the next calls, at least this many. */
  calls(count: number): Promise<number[]>
  close(): void
  readonly status: number
  readonly type: string | null
}

async function listen(headers: Record<string, string> = {}, query = ''): Promise<Events> {
  const stop = new AbortController()
  const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
  const answer = await fetch(`${url}${journal}/stream${query}`, {
    signal: stop.signal,
    headers: { authorization, accept: 'text/event-stream', ...headers },
  })
  const reader = answer.body?.getReader()
  let text = ''
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    async calls(count) {
      for (;;) {
        const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id))
        if (ids.length >= count) return ids
        const piece = await reader?.read()
        assert.ok(piece !== undefined && !piece.done, `the stream ended after ${text}`)
        text += Buffer.from(piece.value).toString()
      }
    },
    close: () => stop.abort(),
  }
}

test('a stream sends calls as they are recorded, and continues after a reconnect', async () => {
  const [newest = 0] = (await callsOf(app)).map(({ sequence }) => sequence).reverse()
  const events = await listen()
  assert.deepEqual([events.status, events.type], [200, 'text/event-stream'])
  await create('c')
  assert.deepEqual(await events.calls(1), [newest + 1])
  events.close()
  await create('d')
  await create('e')
  const again = await listen({ 'Last-Event-ID': String(newest + 1) })
  assert.deepEqual(await again.calls(2), [newest + 2, newest + 3])
  again.close()
})

test('a stream may begin with recorded calls, and sends only calls that match its filter', async () => {
  const events = await listen({}, '?after=0&$filter=status%20eq%20401')
  const refused = (await callsOf(app, 'status eq 401')).map(({ sequence }) => sequence)
  assert.deepEqual(await events.calls(refused.length), refused)
  events.close()
})

test('a Last-Event-ID that is not the number of a call is refused', async () => {
  const events = await listen({ 'Last-Event-ID': 'yesterday' })
  assert.equal(events.status, 400)
  events.close()
})

test('a stop of the service does not wait for streams', async () => {
  const other = await startApp()
  const { url: at } = await other.listen()
  const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
  const answer = await fetch(`${at}${journal}/stream`, { headers: { authorization } })
  const read = answer.text()
  await other.close()
  assert.match(await read, /^: the journal\n/)
})
