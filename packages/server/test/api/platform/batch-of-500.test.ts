/**
 * Batches as large as they may be, of every action, with elements that are done at once and with elements that run as tasks.
 * Source: behaviour conventions 20; platform.md 3; 14, statement 12.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { User } from '@hyperplane/contract/iam/user'
import { Category } from '@hyperplane/contract/platform/category'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { checkInvariants } from '../../support/invariants.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { clusterId, groups } from '../../support/volumes.ts'

const size = 500
const tasks = '/platform/v4.3/config/tasks'
const categories = '/platform/v4.3/config/categories'
const users = '/iam/v4.1.b2/authn/users'
const indexes = Array.from({ length: size }, (_, index) => index)

let app: TestApp
before(async () => {
  app = await startApp()
})
after(async () => {
  await checkInvariants(app)
  await app.close()
})

type Action = 'CREATE' | 'MODIFY' | 'ACTION' | 'DELETE'

/** To its end: the task and all its jobs. What every batch promises of its results is looked at here. */
async function run(
  action: Action,
  uri: string,
  payload: readonly object[],
  chunkSize = size,
): Promise<{ task: any; jobs: any[] }> {
  const metadata = { action, name: `500 of ${action}`, uri: `/api${uri}`, chunkSize }
  const body = { metadata, payload }
  const task = await app.task(
    await app.call('POST', '/platform/v4.3/operations/$actions/batch', { requestId: randomUUID(), body }),
  )
  const pages = await Promise.all(
    [0, 1, 2, 3, 4].map((page) => app.call('GET', `${tasks}/${task.extId}/jobs?$limit=100&$page=${page}`)),
  )
  const jobs: any[] = pages.flatMap((page) => page.data)
  assert.equal(task.operation, `BATCH-${action}`)
  assert.deepEqual(
    jobs.map(({ name }) => name),
    indexes.map(String),
    'one job an element, in their order',
  )
  assert.ok(pages.every(({ total }) => total === size))
  const succeeded = jobs.filter(({ status }) => status === 'SUCCEEDED').length
  const failed = jobs.filter(({ status }) => status === 'FAILED').length
  const { data: batch } = await app.call('GET', `/platform/v4.3/operations/batches/${task.extId}`)
  assert.deepEqual([batch.size, batch.successCount, batch.failedCount], [size, succeeded, failed])
  assert.equal(batch.executionStatus, 'COMPLETED')
  assert.deepEqual(task.batchSummary, {
    numberOfJobs: size,
    numberOfJobsSuccessful: succeeded,
    numberOfJobsFailed: failed,
  })
  assert.equal(succeeded + failed, size)
  return { task, jobs }
}

/** All succeeded, and each job names the entity of its element. */
function assertAllDone({ task, jobs }: { task: any; jobs: any[] }, expected: readonly string[]): void {
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.deepEqual(
    jobs.map((job) => job.entitiesAffected[0].extId),
    expected,
  )
}

/** Parts are all there; the task itself lists the first hundred of them, and entities up to 300. */
async function assertParts({ task, jobs }: { task: any; jobs: any[] }, entities = size): Promise<void> {
  assert.deepEqual([task.numberOfSubtasks, task.subTasks.length], [size, 100])
  const filter = encodeURIComponent(`parentTask eq '${task.extId}'`)
  assert.equal((await app.call('GET', `${tasks}?$filter=${filter}&$limit=1`)).total, size)
  const ids = jobs.map((job) => job.completionDetails.find(({ name }: any) => name === 'taskExtId').value)
  assert.equal(new Set(ids).size, size)
  const ended = await Promise.all(ids.map((extId) => app.call('GET', `${tasks}/${extId}`)))
  assert.ok(ended.every(({ data }) => data.status === 'SUCCEEDED' && data.parentTask.extId === task.extId))
  assert.equal(task.entitiesAffected.length, Math.min(entities, 300))
  assert.equal((await app.call('GET', `${tasks}/${task.extId}/affected-entities?$limit=1`)).total, entities)
}

const at = (extId: string, ifMatch?: string) => ({
  path: [{ name: 'extId', value: extId }],
  ...(ifMatch === undefined ? {} : { headers: [{ name: 'If-Match', value: ifMatch }] }),
})
const tagOf = async (path: string): Promise<string> => (await app.call('GET', path)).etag as string

test('500 elements of synchronous operations: CREATE, MODIFY and DELETE', async () => {
  const payload = indexes.map((index) => ({ data: { key: 'Sync', value: `v${index}` } }))
  const created = await run('CREATE', categories, payload)
  const stored = new Map((await app.store.findWhere(Category, { key: 'Sync' })).map((each) => [each.value, each.extId]))
  const ids = indexes.map((index) => stored.get(`v${index}`) as string)
  assertAllDone(created, ids)
  assert.equal(created.task.numberOfSubtasks, 0)

  const tags = await Promise.all(ids.map((extId) => tagOf(`${categories}/${extId}`)))
  const changes = ids.map((extId, index) => ({
    metadata: at(extId, tags[index]),
    data: { key: 'Sync', value: `w${index}` },
  }))
  assertAllDone(await run('MODIFY', `${categories}/{extId}`, changes), ids)
  const changed = await app.store.getMany(Category, ids)
  assert.deepEqual(
    changed.map(({ value }) => value),
    indexes.map((index) => `w${index}`),
  )

  const again = await run('MODIFY', `${categories}/{extId}`, changes)
  assert.equal(again.task.errorMessages[0].message, '500 of 500 elements failed', 'every tag is stale by now')
  assert.ok(again.jobs.every((job) => job.errorMessages[0].code === 'PLAT-10005'))

  assertAllDone(
    await run(
      'DELETE',
      `${categories}/{extId}`,
      ids.map((extId) => ({ metadata: at(extId) })),
    ),
    ids,
  )
  assert.equal((await app.store.findWhere(Category, { key: 'Sync' })).length, 0)
})

test('500 elements in chunks of one, every tenth of which fails: 450 and 50, in their order', async () => {
  const payload = indexes.map((index) => ({ data: { key: 'Tenth', value: index % 10 === 9 ? 'a/b' : `v${index}` } }))
  const { task, jobs } = await run('CREATE', categories, payload, 1)
  assert.equal(task.errorMessages[0].message, '50 of 500 elements failed')
  assert.deepEqual(
    jobs.map(({ status }) => status),
    indexes.map((index) => (index % 10 === 9 ? 'FAILED' : 'SUCCEEDED')),
  )
  assert.equal((await app.store.findWhere(Category, { key: 'Tenth' })).length, 450)
})

test('500 elements of synchronous actions: ACTION', async () => {
  const accounts = indexes.map((index) => ({
    extId: randomUUID(),
    username: `robot-${index}`,
    userType: 'SERVICE_ACCOUNT',
    status: 'ACTIVE',
  }))
  await app.store.transaction(async (store) => {
    for (const account of accounts) await store.insert(User, account as never)
  })
  const ids = accounts.map(({ extId }) => extId)
  const payload = ids.map((extId) => ({ metadata: at(extId), data: { status: 'INACTIVE' } }))
  assertAllDone(await run('ACTION', `${users}/{extId}/$actions/change-state`, payload), ids)
  assert.ok((await app.store.getMany(User, ids)).every(({ status }) => status === 'INACTIVE'))
})

test('500 elements that run as tasks: CREATE, ACTION, MODIFY and DELETE; a category counts them exactly', async () => {
  const category = (await app.call('POST', categories, { body: { key: 'Carried', value: 'by 500' } })).data.extId
  const count = async () =>
    (await app.call('GET', `${categories}/${category}?$expand=associations`)).data.associations ?? []
  const names = indexes.map((index) => `batch-${index}`)
  const created = await run(
    'CREATE',
    groups,
    names.map((name) => ({ data: { name, clusterReference: clusterId } })),
  )
  const stored = new Map((await app.store.find(VolumeGroup)).map((each) => [each.name, each.extId]))
  const ids = names.map((name) => stored.get(name) as string)
  assertAllDone(created, ids)
  await assertParts(created)

  const carry = ids.map((extId) => ({ metadata: at(extId), data: { categories: [{ extId: category }] } }))
  const carried = await run('ACTION', `${groups}/{extId}/$actions/associate-category`, carry)
  assertAllDone(carried, ids)
  await assertParts(carried)
  assert.deepEqual(
    (await count()).map(({ resourceType, count: found }: any) => [resourceType, found]),
    [['VOLUMEGROUP', size]],
  )

  const tags = await Promise.all(ids.map((extId) => tagOf(`${groups}/${extId}`)))
  const changes = ids.map((extId, index) => ({
    metadata: at(extId, tags[index]),
    data: { description: `the ${index}th` },
  }))
  const changed = await run('MODIFY', `${groups}/{extId}`, changes)
  assertAllDone(changed, ids)
  await assertParts(changed)
  assert.equal((await app.store.get(VolumeGroup, ids[499] as string))?.description, 'the 499th')

  const removed = await run(
    'DELETE',
    `${groups}/{extId}`,
    ids.map((extId) => ({ metadata: at(extId) })),
  )
  assertAllDone(removed, ids)
  await assertParts(removed)
  assert.deepEqual(await count(), [])
})
