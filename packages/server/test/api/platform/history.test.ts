/**
 * How long is told what was done, on the clock of a service that runs: tasks, batches with their jobs, the audit trail.
 * Source: behaviour platform.md 3; 14, statement 16; conventions 6, 18, 20, 21.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Batch } from '@hyperplane/contract/platform/batch'
import { Task } from '@hyperplane/contract/platform/task'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { AuditRecord, RememberedAnswer } from '../../../src/core/records.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { clusterId, postGroup, succeeded } from '../../support/volumes.ts'

const tasks = '/platform/v4.3/config/tasks'
const batches = '/platform/v4.3/operations/batches'
const hour = 3600_000
const day = 24 * hour

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

async function batchOfTwo(name: string): Promise<string> {
  const uri = '/api/volumes/v4.2/config/volume-groups'
  const payload = [0, 1].map((index) => ({ data: { name: `${name}-${index}`, clusterReference: clusterId } }))
  const body = { metadata: { action: 'CREATE', name, uri }, payload }
  const submitted = await app.call('POST', '/platform/v4.3/operations/$actions/batch', {
    requestId: randomUUID(),
    body,
  })
  return (await succeeded(app, submitted)).extId
}

/** Everything that a batch leaves: itself, its task, the parts of that, its jobs. */
async function left(extId: string): Promise<readonly number[]> {
  const [batch, task, jobs] = [`${batches}/${extId}`, `${tasks}/${extId}`, `${tasks}/${extId}/jobs`]
  const statuses = await Promise.all([batch, task, jobs].map(async (path) => (await app.call('GET', path)).status))
  const parts = await app.call('GET', `${tasks}?$filter=${encodeURIComponent(`parentTask eq '${extId}'`)}`)
  const rows = await Promise.all([
    app.store.findWhere(TaskJob, { taskExtId: extId }),
    app.store.findWhere(Task, { 'rootTask/extId': extId }),
    app.store.getMany(Batch, [extId]),
  ])
  return [...statuses, parts.total as number, ...rows.map(({ length }) => length)]
}
const whole = [200, 200, 200, 2, 2, 2, 1]
const nothing = [404, 404, 404, 0, 0, 0, 0]

/** An hour more than asked for: what is old is looked for once an hour. */
const pass = (days: number): Promise<unknown> => app.clock.advance(days * day + hour)

test('batches with their jobs are deleted after 90 days and tasks after 30, and newer ones are kept', async () => {
  const old = await batchOfTwo('old')
  const plain = (await succeeded(app, postGroup(app))).extId
  const first = (await app.store.find(AuditRecord, { limit: 1 }))[0]?.extId
  await pass(29)
  assert.equal((await app.call('GET', `${tasks}/${plain}`)).status, 200)
  const newer = await batchOfTwo('newer')
  await pass(1)
  assert.equal((await app.call('GET', `${tasks}/${plain}`)).status, 404)
  assert.deepEqual(await left(old), whole, 'a batch is kept longer, with its parts')
  await pass(59)
  assert.deepEqual(await left(old), whole)
  await pass(2)
  assert.deepEqual(await left(old), nothing)
  assert.deepEqual(await left(newer), whole)
  const { data } = await app.call('GET', batches)
  assert.deepEqual(
    data.map(({ extId }: { extId: string }) => extId),
    [newer],
  )
  assert.ok(await app.store.get(AuditRecord, first as string), 'the trail is kept longer than what it tells of')
})

test('audit records are kept for 400 days, replayable responses for one', async () => {
  const began = app.clock.iso()
  const requestId = randomUUID()
  const body = { key: 'Audited', value: 'once' }
  const create = () => app.call('POST', '/platform/v4.3/config/categories', { body, requestId })
  assert.equal((await create()).status, 201)
  assert.equal((await create()).replayed, true)
  const told = async (): Promise<number> =>
    (await app.store.find(AuditRecord)).filter((record: any) => record.requestId === requestId && record.time >= began)
      .length
  assert.ok((await told()) >= 1)
  await pass(1)
  assert.equal((await app.store.find(RememberedAnswer)).length, 0)
  assert.equal((await create()).status, 409, 'asked again, it is a new request')
  const since = await told()
  await pass(398)
  assert.equal(await told(), since)
  await pass(2)
  assert.equal(await told(), 0)
})

test('an answer that expired and is not pruned yet is not replayed; the next request with its id replaces it', async () => {
  const requestId = randomUUID()
  const body = { key: 'Expired', value: 'once' }
  const create = () => app.call('POST', '/platform/v4.3/config/categories', { body, requestId })
  const remove = async (extId: string): Promise<void> => {
    assert.equal((await app.call('DELETE', `/platform/v4.3/config/categories/${extId}`)).status, 204)
  }
  const first = await create()
  await remove(first.data.extId)
  const expires = '2000-01-01T00:00:00Z'
  for (const { extId } of await app.store.find(RememberedAnswer))
    await app.store.transaction((transaction) => transaction.observe(RememberedAnswer, extId, { expires }))
  const second = await create()
  assert.deepEqual([second.status, second.replayed ?? false], [201, false])
  assert.notEqual(second.data.extId, first.data.extId)
  const again = await create()
  assert.deepEqual([again.status, again.replayed, again.data.extId], [201, true, second.data.extId])
})
