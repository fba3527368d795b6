/** What faults do to requests, as their clients see it, and how clients recover. Source: reference faults.md. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { Category } from '@hyperplane/contract/platform/category'
import { AuditRecord } from '../../../src/core/records.ts'
import {
  aFault,
  categories,
  noFaults,
  postCategory,
  readFault,
  removeFault,
  unavailable,
} from '../../support/faults.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(() => noFaults(app))
after(() => app.close())

const match = { operation: 'createCategory' }
const aCategory = async (value = randomUUID()): Promise<CallResult> => {
  const made = await app.call('POST', categories, { body: { key: 'requests', value } })
  assert.equal(made.status, 201)
  return made
}
const pathOf = (made: CallResult): string => `${categories}/${made.data.extId}`
const count = (): Promise<number> => app.store.count(Category)

test('an injected error has the code, group, status and message of the real one; arguments that the request provides are optional', async () => {
  const made = await aCategory()
  await aFault(app, { operation: 'getCategoryById' }, { error: 'ENTITY_IN_USE', arguments: { users: '2 VMs' } })
  const { status, errors } = await app.call('GET', pathOf(made))
  assert.equal(status, 409)
  assert.deepEqual(errors, [
    {
      message: `The category "requests/${made.data.value}" is in use by 2 VMs. Remove those first.`,
      severity: 'ERROR',
      code: 'PLAT-10013',
      locale: 'en_US',
      errorGroup: 'ENTITY_IN_USE',
      argumentsMap: { kind: 'category', name: `requests/${made.data.value}`, users: '2 VMs' },
    },
  ])
})

test('an error has the wording of the requested namespace, and a rule may name it by its code', async () => {
  await aFault(app, { operation: 'vmm.listVms' }, { error: 'PLAT-10007', arguments: { attribute: 'extId' } })
  const { status, errors } = await app.call('GET', '/vmm/v4.2/ahv/config/vms')
  assert.equal(status, 404)
  assert.notEqual(errors[0]?.code, 'PLAT-10007')
  assert.match(errors[0]?.code ?? '', /^VMM-/)
  assert.equal(errors[0]?.errorGroup, 'ENTITY_NOT_FOUND')
})

test('429 has the bucket of the operation, Retry-After and the headers of a bucket that is empty', async () => {
  await aFault(app, match, { error: 'RATE_LIMIT_EXCEEDED', retryAfterSeconds: 3 })
  const { status, errors, headers } = await postCategory(app)
  assert.equal(status, 429)
  assert.match(errors[0]?.message ?? '', /^createCategory allows \d+ requests a second\. Retry in 3 s\.$/)
  assert.deepEqual(
    [headers['Retry-After'], headers['X-Api-Ratelimit-Remaining'], headers['X-Api-Ratelimit-Reset']],
    ['3', '0', '3'],
  )
})

test('503 has the Retry-After of the rule; the retried request succeeds', async () => {
  await aFault(app, match, { ...unavailable, retryAfterSeconds: 30 }, { next: 1 })
  const requestId = randomUUID()
  const body = { key: 'requests', value: randomUUID() }
  const before = await count()
  const refused = await app.call('POST', categories, { body, requestId })
  assert.deepEqual([refused.status, refused.headers['Retry-After']], [503, '30'])
  assert.equal(await count(), before)
  const retried = await app.call('POST', categories, { body, requestId })
  assert.deepEqual([retried.status, retried.replayed], [201, undefined])
})

test('an error after the commit leaves the effect; a retry with the same id gets the first answer, and nothing is done twice', async () => {
  await aFault(app, match, { error: 'BACKEND_TIMEOUT', arguments: { fault: 'lost' }, moment: 'AFTER' }, { next: 1 })
  const requestId = randomUUID()
  const body = { key: 'requests', value: randomUUID() }
  const before = await count()
  assert.equal((await app.call('POST', categories, { body, requestId })).status, 504)
  assert.equal(await count(), before + 1)
  const retried = await app.call('POST', categories, { body, requestId })
  assert.deepEqual([retried.status, retried.replayed, retried.data.value], [201, true, body.value])
  assert.equal(await count(), before + 1)
})

test('an attempt is audited once: as refused if nothing was done, as done if only the answer was lost', async () => {
  const audited = async (effect: object): Promise<(number | undefined)[]> => {
    const requestId = randomUUID()
    await aFault(app, match, effect)
    await postCategory(app, { requestId })
    await noFaults(app)
    const records = await app.store.find(AuditRecord)
    return records.filter((record) => record.requestId === requestId).map(({ status }) => status)
  }
  assert.deepEqual(await audited(unavailable), [503])
  assert.deepEqual(await audited({ ...unavailable, moment: 'AFTER' }), [201])
})

const delays: readonly [string, object, number, number][] = [
  ['fixed', { fixed: 'PT1.5S' }, 1500, 1500],
  ['uniform', { minimum: 'PT1S', maximum: 'PT3S' }, 1000, 3000],
  ['exponential, and at most so long', { mean: 'PT10S', atMost: 'PT20S' }, 0, 20_000],
  ['log-normal', { median: 'PT2S', p95: 'PT4S', atMost: 'PT30S' }, 0, 30_000],
]
for (const [title, delay, least, most] of delays) {
  test(`a delay is ${title}, by the clock of the world`, async () => {
    await aFault(app, match, { delay })
    let isAnswered = false
    const began = app.clock.now()
    const answer = postCategory(app).finally(() => {
      isAnswered = true
    })
    await app.clock.advance(0)
    assert.equal(isAnswered, false)
    while ((await app.clock.runToNextEvent())?.last?.about !== 'fault') assert.ok(app.clock.now() - began <= most)
    const took = app.clock.now() - began
    assert.equal((await answer).status, 201)
    assert.ok(took >= least && took <= most, `${took} ms`)
  })
}

test('the effect of a delayed request has the time at which the delay ended', async () => {
  await aFault(app, { operation: 'createVolumeGroup' }, { delay: { fixed: 'PT1H' } })
  const began = app.clock.now()
  const cluster = (await app.call('GET', '/clustermgmt/v4.2/config/clusters?$limit=1')).data[0].extId
  const body = { name: `late-${randomUUID().slice(0, 8)}`, clusterReference: cluster }
  const answer = app.call('POST', '/volumes/v4.2/config/volume-groups', { body, requestId: randomUUID() })
  await app.clock.advance(5 * 3_600_000)
  const task = await app.task(await answer)
  assert.equal(Date.parse(task.createdTime), Math.floor(began + 3_600_000))
})

test('a delay after the commit delays only the answer', async () => {
  await aFault(app, match, { delay: { fixed: 'PT5S' }, moment: 'AFTER' })
  const before = await count()
  const answer = postCategory(app)
  while ((await count()) === before) await new Promise(setImmediate)
  await app.clock.advance(5000)
  assert.equal((await answer).status, 201)
})

test('a request that a rule delays continues when the rule is removed', async () => {
  const rule = await aFault(app, match, { delay: { fixed: 'P1D' } })
  const answer = postCategory(app)
  while ((await readFault(app, rule)).timesFired === 0) await new Promise(setImmediate)
  await removeFault(app, rule)
  assert.equal((await answer).status, 201)
})

test('closing a world ends delays: the request is 503 with Retry-After', async () => {
  const other = await startApp()
  const rule = await aFault(other, match, { delay: { fixed: 'P1D' } })
  const answer = postCategory(other)
  while ((await readFault(other, rule)).timesFired === 0) await new Promise(setImmediate)
  const resetting = other.call('POST', '/control/v1/worlds/default/$actions/reset')
  const refused = await answer
  assert.deepEqual([refused.status, refused.headers['Retry-After']], [503, '1'])
  const reset = await resetting
  assert.equal(reset.status, 200, JSON.stringify(reset.errors))
  await other.close()
})

test('a competing writer makes the tag of a mutation stale; the mutation succeeds with the new tag', async () => {
  const made = await aCategory()
  await aFault(app, { operation: 'updateCategoryById' }, { competingWrite: true }, { next: 1 })
  const { key, value } = made.data
  const change = (tag: string | undefined): Promise<CallResult> =>
    app.call('PUT', pathOf(made), { body: { key, value, description: 'mine' }, ifMatch: tag as string })
  const lost = await change(made.etag)
  assert.deepEqual([lost.status, lost.errors[0]?.errorGroup], [412, 'INVALID_ETAG_HEADER'])
  const read = await app.call('GET', pathOf(made))
  assert.notEqual(read.etag, made.etag)
  assert.equal((await change(read.etag)).status, 200)
})

test('a competing writer after a read makes the tag of the answer stale', async () => {
  const made = await aCategory()
  await aFault(app, { operation: 'getCategoryById' }, { competingWrite: true }, { next: 1 })
  const read = await app.call('GET', pathOf(made))
  assert.equal(read.etag, made.etag)
  const { key, value } = made.data
  assert.equal(
    (await app.call('PUT', pathOf(made), { body: { key, value }, ifMatch: read.etag as string })).status,
    412,
  )
})

test('a competing writer does not act on the retry of a mutation that succeeded', async () => {
  const made = await aCategory()
  const { key, value } = made.data
  const requestId = randomUUID()
  const change = () => app.call('PUT', pathOf(made), { body: { key, value }, ifMatch: made.etag as string, requestId })
  assert.equal((await change()).status, 200)
  await aFault(app, { operation: 'updateCategoryById' }, { competingWrite: true })
  const retried = await change()
  assert.deepEqual([retried.status, retried.replayed], [200, true])
})

test('an unknown entity has no competing writer: 404', async () => {
  await aFault(app, { operation: 'updateCategoryById' }, { competingWrite: true })
  const path = `${categories}/${randomUUID()}`
  assert.equal((await app.call('PUT', path, { body: { key: 'a', value: 'b' }, ifMatch: '"x"' })).status, 404)
})

test('a rule fails one element of a batch by its index; the others are created, and the batch shows which', async () => {
  await aFault(
    app,
    { operation: 'createCategory', batchElement: 2 },
    { error: 'CONFLICT', arguments: { fault: 'third' } },
  )
  const payload = ['a', 'b', 'c', 'd'].map((value) => ({ data: { key: 'batch-faults', value } }))
  const uri = '/api/platform/v4.3/config/categories'
  const body = { metadata: { action: 'CREATE', name: 'faulty', uri, chunkSize: 4 }, payload }
  const task = await app.task(
    await app.call('POST', '/platform/v4.3/operations/$actions/batch', { body, requestId: randomUUID() }),
  )
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /1 of 4 elements failed/)
  const jobs = (await app.call('GET', `/platform/v4.3/config/tasks/${task.extId}/jobs`)).data
  assert.deepEqual(
    jobs.map(({ status }: any) => status),
    ['SUCCEEDED', 'SUCCEEDED', 'FAILED', 'SUCCEEDED'],
  )
  assert.equal(jobs[2].errorMessages[0].message, 'third')
  const made = await app.store.findWhere(Category, { key: 'batch-faults' })
  assert.deepEqual(made.map(({ value }) => value).sort(), ['a', 'b', 'd'])
  assert.equal((await postCategory(app)).status, 201, 'a single request is no element')
})

test('rules for an operation match batch elements as well; elements have no connection that could be dropped', async () => {
  const dropped = await aFault(app, match, { dropConnection: 'BEFORE_COMMIT' })
  const counted = await aFault(app, match, { delay: { fixed: 'PT0S' } })
  const payload = ['x', 'y'].map((value) => ({ data: { key: 'batch-counted', value } }))
  const uri = '/api/platform/v4.3/config/categories'
  const body = { metadata: { action: 'CREATE', name: 'counted', uri }, payload }
  const started = await app.call('POST', '/platform/v4.3/operations/$actions/batch', { body, requestId: randomUUID() })
  await app.clock.advance(1)
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
  assert.equal((await readFault(app, dropped)).timesMatched, 0)
  assert.equal((await readFault(app, counted)).timesMatched, 2)
})

test('without the control interface no faults are injected', async () => {
  const without = await startApp({ config: { control: 'off' } })
  try {
    await assert.rejects(aFault(without, {}, unavailable), /control interface is off/)
    assert.equal((await postCategory(without)).status, 201)
  } finally {
    await without.close()
  }
})
