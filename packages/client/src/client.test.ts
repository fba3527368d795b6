import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiRefusal, type ClientOptions, createClient, createControlClient, type FetchInit } from './index.ts'

function answering(status: number, body: unknown, headers: Record<string, string> = {}) {
  const sent: (FetchInit & { url: string })[] = []
  const answerHeaders = new Headers({ 'content-type': 'application/json', ...headers })
  const fetch: ClientOptions['fetch'] = async (url, init) => {
    sent.push({ url, ...init })
    return { status, headers: answerHeaders, text: async () => JSON.stringify(body) }
  }
  return { sent, options: { url: 'https://manager.example:9440', username: 'admin', password: 'secret', fetch } }
}

test('only a client with a world sends its name, in every call', async () => {
  const { sent, options } = answering(200, { data: [] })
  await createClient({ ...options, world: 'left' }).vmm.listVms({ limit: 5 })
  await createClient(options).vmm.listVms()
  assert.deepEqual(
    sent.map(({ url, headers }) => [url, headers['X-World']]),
    [
      ['https://manager.example:9440/api/vmm/v4.2/ahv/config/vms?$limit=5', 'left'],
      ['https://manager.example:9440/api/vmm/v4.2/ahv/config/vms', undefined],
    ],
  )
})

test('paths of the control interface have the world of the call, else of the client, else default', async () => {
  const { sent, options } = answering(200, { data: {} })
  const bound = createControlClient({ ...options, url: `${options.url}/api`, world: 'left' })
  await bound.getClock()
  await bound.advanceClock({ path: { worldName: 'right' }, body: { duration: 'PT1H' } })
  await createControlClient(options).getCall({ path: { sequence: 7 } })
  assert.deepEqual(
    sent.map(({ method, url, body }) => [method, url, body]),
    [
      ['GET', 'https://manager.example:9440/control/v1/worlds/left/clock', undefined],
      ['POST', 'https://manager.example:9440/control/v1/worlds/right/clock/$actions/advance', '{"duration":"PT1H"}'],
      ['GET', 'https://manager.example:9440/control/v1/worlds/default/journal/calls/7', undefined],
    ],
  )
  assert.deepEqual(
    sent.map(({ headers }) => 'SVC-Request-Id' in headers),
    [false, true, false],
  )
})

test('a seed is sent and received as text', async () => {
  const { sent, options } = answering(200, 'extends: empty', { 'content-type': 'application/yaml' })
  const { data } = await createControlClient(options).exportWorld()
  assert.equal(sent[0]?.headers['Accept'], 'application/yaml')
  assert.equal(data, '"extends: empty"')
})

test('a refusal has status, errors and headers', async () => {
  const error = [{ code: 'PLAT-10429', message: 'Retry in 3 s.' }]
  const { options } = answering(429, { data: { error } }, { 'retry-after': '3' })
  await assert.rejects(createClient(options).vmm.listVms(), (refusal) => {
    assert.ok(refusal instanceof ApiRefusal)
    assert.equal(refusal.message, 'vmm.listVms: 429 PLAT-10429 Retry in 3 s.')
    assert.deepEqual([refusal.status, refusal.headers.get('Retry-After')], [429, '3'])
    return true
  })
})

test('a call without a path parameter is not sent', async () => {
  const { sent, options } = answering(200, {})
  await assert.rejects(
    createClient(options).vmm.getVmById(undefined as never),
    /vmm\.getVmById needs the path parameter extId/,
  )
  for (const extId of ['', '.', '..'])
    await assert.rejects(createControlClient(options).deleteFaultRule({ path: { extId } }), /path parameter extId, not/)
  assert.equal(sent.length, 0)
})
