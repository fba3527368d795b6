/** A read that is answered again without its handler shows what the handler would show. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { contract } from '@hyperplane/contract'
import { keptReadCounts } from '../../src/core/pipeline/kept-reads.ts'
import { aRobot, aRole, grant } from '../api/iam/people.ts'
import { existing, pathOf, requiredOptions } from '../support/existing.ts'
import { aFault, noFaults, unavailable } from '../support/faults.ts'
import { configure, recorded } from '../support/journal.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../support/start-app.ts'

const operations = contract.flatMap((namespace) => namespace.operations)
const categories = '/platform/v4.3/config/categories'
const vms = '/vmm/v4.2/ahv/config/vms'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

/** A header that no read looks at, and with which no answer is kept. */
const anew = { ifMatch: '"anew"' }

async function poll(path: string, options: CallOptions = {}): Promise<CallResult> {
  for (let asked = 0; asked < 4; asked++) await app.call('GET', path, options)
  return app.call('GET', path, options)
}

async function hitsOf(work: () => Promise<unknown>): Promise<number> {
  const before = keptReadCounts.hits
  await work()
  return keptReadCounts.hits - before
}

/** The reads sign in, which some of them show. */
const withoutSignIns = (result: CallResult): unknown =>
  JSON.parse(JSON.stringify(result, (name, value) => (/^last(Login|Used)Time$/.test(name) ? undefined : value)))

const firstOf = async (path: string): Promise<any> => (await app.call('GET', `${path}?$limit=1`)).data[0]

test('every kept answer of a get or list equals what its handler answers, now and a minute later', async () => {
  let kept = 0
  for (const operation of operations.filter(({ verb }) => verb === 'get' || verb === 'list')) {
    const values = await existing(app, operation)
    if (values === undefined) continue
    const path = `${pathOf(operation, values)}${requiredOptions(operation)}`
    if ((await hitsOf(() => poll(path))) > 0) kept++
    for (const seconds of [0, 20, 40]) {
      await app.clock.advance(1000 * seconds)
      const [seen, handled] = [await app.call('GET', path), await app.call('GET', path, anew)]
      assert.deepEqual(withoutSignIns(seen), withoutSignIns(handled), `${operation.key} after ${seconds} s`)
    }
  }
  assert.ok(kept >= 38, `${kept} operations keep their answers`)
})

test('a guest that boots is seen in each of its phases by a client that polls its VM', async () => {
  const natural = await startApp({ config: { durations: 'natural' } })
  try {
    const [vm] = (await natural.call('GET', `${vms}?$filter=powerState eq Vmm.Ahv.Config.PowerState'ON'&$limit=1`)).data
    const path = `${vms}/${vm.extId}`
    const { etag: ifMatch = '' } = await natural.call('GET', path)
    await natural.call('POST', `${path}/$actions/reset`, { requestId: crypto.randomUUID(), ifMatch })
    const seen = new Set<string>()
    for (let second = 0; second < 180; second++) {
      await natural.clock.advance(1000)
      const [polled, handled] = [await natural.call('GET', path), await natural.call('GET', path, anew)]
      assert.deepEqual(polled.data, handled.data, `after ${second} s`)
      seen.add(JSON.stringify(polled.data))
    }
    assert.ok(seen.size > 1, 'the reset shows')
    const before = keptReadCounts.hits
    for (let asked = 0; asked < 3; asked++) await natural.call('GET', path)
    assert.ok(keptReadCounts.hits > before, 'a guest that has booted is kept')
  } finally {
    await natural.close()
  }
})

test('the next read after a change shows the change', async () => {
  const { extId } = await firstOf(`${categories}`)
  const path = `${categories}/${extId}`
  const { data, etag } = await poll(path)
  const body = { ...data, description: 'changed while polled' }
  assert.equal((await app.call('PUT', path, { body, ifMatch: etag as string })).status, 200)
  assert.equal((await app.call('GET', path)).data.description, 'changed while polled')
})

test('a caller gets no answer that was kept for another, and none after its role is taken away', async () => {
  const { extId } = await firstOf(vms)
  const path = `${vms}/${extId}`
  const [reader, stranger] = [await aRobot(app), await aRobot(app)]
  const policy = await grant(app, { id: await aRole(app, ['View_Existing_Virtual_Machine']) }, reader.extId)
  const asReader = { apiKey: reader.apiKey }
  assert.ok((await hitsOf(() => poll(path, asReader))) > 0)
  assert.equal((await app.call('GET', path, { apiKey: stranger.apiKey })).status, 403)
  const policies = `/iam/v4.1.b2/authz/authorization-policies/${policy}`
  assert.equal((await poll(path, asReader)).status, 200)
  const { etag } = await app.call('GET', policies)
  assert.equal((await app.call('DELETE', policies, { ifMatch: etag as string })).status, 204)
  assert.equal((await app.call('GET', path, asReader)).status, 403)
})

test('a fault rule for a read that is kept strikes', async () => {
  const { extId } = await firstOf(categories)
  const path = `${categories}/${extId}`
  await poll(path)
  await aFault(app, { operation: 'platform.getCategoryById' }, unavailable)
  assert.equal((await app.call('GET', path)).status, 503)
  await noFaults(app)
  assert.equal((await app.call('GET', path)).status, 200)
})

test('a fault rule for another entity lets a read be kept, and one for its entity strikes', async () => {
  const { extId, key, value } = await firstOf(categories)
  const path = `${categories}/${extId}`
  await aFault(app, { operation: 'platform.getCategoryById', namePattern: 'Another/One' }, unavailable)
  assert.ok((await hitsOf(() => poll(path))) > 0)
  await aFault(app, { operation: 'platform.getCategoryById', namePattern: `${key}/${value}` }, unavailable)
  assert.equal((await app.call('GET', path)).status, 503)
  await noFaults(app)
})

test('the journal records a kept read like one of its handler', async () => {
  await configure(app, { isRecording: true })
  const { url } = await app.listen()
  const { extId } = await firstOf(categories)
  const path = `/api${categories}/${extId}`
  const calls: any[] = []
  const hits = await hitsOf(async () => {
    for (let asked = 0; asked < 6; asked++) calls.push((await recorded(app, url, path)).call)
  })
  assert.ok(hits > 0)
  const { extId: _, sequence: __, startedTime: ___, durationMicroseconds: ____, requestId: _____, ...first } = calls[0]
  for (const call of calls) assert.deepEqual({ ...call, ...first }, call)
  assert.equal(first.target?.extId, extId)
})
