/** Tasks over the interface. Source: behaviour platform.md 14, statements 8 to 11 and 16; conventions 25.28. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Batch } from '@hyperplane/contract/platform/batch'
import { Task } from '@hyperplane/contract/platform/task'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { aUser } from '../../support/identities.ts'
import { adminPassword, beginning, startApp, type TestApp } from '../../support/start-app.ts'

const tasks = '/platform/v4.3/config/tasks'
const owner = { extId: seedId('user/admin'), name: 'admin' }

let app: TestApp
let url: string
before(async () => {
  app = await startApp({ unchecked: 'rows of tasks are written without a runner' })
  url = (await app.listen()).url
})
after(() => app.close())

const time = (seconds: number) => new Date(beginning + seconds * 1000).toISOString().replace('Z', '000Z')
const filtered = async (filter: string) =>
  (await app.call('GET', `${tasks}?$filter=${encodeURIComponent(filter)}&$limit=100`)).data as any[]

/** Stores a task as the runner would leave it. */
const store = (fields: object) =>
  app.store.transaction(async (transaction) => {
    const extId = crypto.randomUUID()
    await transaction.insert(Task, {
      extId,
      operation: 'kTest',
      operationDescription: 'a test',
      status: 'SUCCEEDED',
      progressPercentage: 100,
      createdTime: time(0),
      startedTime: time(0),
      completedTime: time(1),
      lastUpdatedTime: time(1),
      isCancelable: false,
      isBackgroundTask: false,
      ownedBy: owner,
      ...fields,
    } as never)
    return extId
  })

/** Through HTTP, as a public client writes it. */
const asPublic = async (method: string, path: string) => {
  const response = await fetch(`${url}/api/prism/v4.3/config/${path}`, {
    method,
    headers: {
      authorization: `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`,
      'NTNX-Request-Id': crypto.randomUUID(),
    },
  })
  return { status: response.status, body: (await response.json()) as any }
}

test('the demo holds at least 20 finished tasks in every terminal state, newest first', async () => {
  const { data, total } = await app.call(
    'GET',
    `${tasks}?$filter=${encodeURIComponent('isBackgroundTask eq false')}&$limit=100`,
  )
  assert.ok((total as number) >= 20)
  assert.deepEqual([...new Set(data.map((task: any) => task.status))].sort(), ['CANCELED', 'FAILED', 'SUCCEEDED'])
  const times = data.map((task: any) => task.createdTime)
  assert.deepEqual(times, [...times].sort().reverse())
  for (const task of data) {
    assert.ok(task.createdTime <= task.startedTime && task.startedTime <= task.completedTime)
    if (task.status !== 'SUCCEEDED') assert.ok(task.errorMessages.length > 0)
    else assert.equal(task.progressPercentage, 100)
  }
})

test('filters by status, operation, affected entity and time give exactly the matching rows', async () => {
  const entity = crypto.randomUUID()
  const extId = await store({
    operation: 'kFiltered',
    status: 'FAILED',
    createdTime: time(60),
    entitiesAffected: [{ extId: entity, rel: 'platform:config:category' }],
  })
  const ids = async (filter: string) => (await filtered(filter)).map((task) => task.extId)
  assert.deepEqual(await ids("operation eq 'kFiltered'"), [extId])
  assert.deepEqual(await ids("operation eq 'kFiltered' and status eq Platform.Config.TaskStatus'FAILED'"), [extId])
  assert.deepEqual(await ids("operation eq 'kFiltered' and status eq 'SUCCEEDED'"), [])
  assert.deepEqual(await ids(`entitiesAffected/any(e:e/extId eq '${entity}')`), [extId])
  assert.deepEqual(
    await ids(`entitiesAffected/any(e:e/extId eq '${entity}' and e/rel eq 'platform:config:category')`),
    [extId],
  )
  assert.deepEqual(await ids(`createdTime gt ${time(59)}`), [extId])
  assert.deepEqual(await ids("status eq 'PENDING'"), [])
})

test('subtasks are found by parent and by root, with the id in either form', async () => {
  const root = await store({ operation: 'kRoot' })
  const part = await store({
    operation: 'kPart',
    parentTask: { extId: root, rel: 'subtask' },
    rootTask: { extId: root, rel: 'subtask' },
  })
  for (const text of [root, `ZXJnb24=:${root}`]) {
    for (const field of ['parentTask', 'rootTask']) {
      assert.deepEqual(
        (await filtered(`${field} eq '${text}'`)).map((task) => task.extId),
        [part],
      )
    }
  }
  const { data } = await app.call('GET', `${tasks}/${part}`)
  assert.equal(data.parentTask.href, `https://localhost:9440/api${tasks}/${root}`)
})

test('a single read takes $select', async () => {
  const extId = await store({})
  const { data } = await app.call('GET', `${tasks}/${extId}?$select=status,operation`)
  assert.deepEqual(data, { extId, operation: 'kTest', status: 'SUCCEEDED' })
})

test('public clients write the id with its prefix, raw or percent-encoded', async () => {
  const extId = await store({})
  for (const path of [`tasks/${extId}`, `tasks/${extId}/jobs`, `tasks/${extId}/affected-entities`]) {
    assert.equal((await asPublic('GET', path)).status, 400, path)
  }
  assert.equal((await asPublic('POST', `tasks/${extId}/$actions/cancel`)).status, 400)
  for (const prefix of ['ZXJnb24=:', 'ZXJnb24%3D%3A', 'ZXJnb24%3D:']) {
    const { status, body } = await asPublic('GET', `tasks/${prefix}${extId}`)
    assert.equal(status, 200, prefix)
    assert.equal(body.data.extId, `ZXJnb24=:${extId}`)
    const self = body.metadata.links.find((link: any) => link.rel === 'self').href as string
    assert.equal(self.split('ZXJnb24').length, 2, 'one prefix, not two')
  }
  assert.equal((await asPublic('GET', `tasks/ZXJnb24=:${crypto.randomUUID()}`)).status, 404)
  assert.equal((await asPublic('POST', `tasks/ZXJnb24=:${crypto.randomUUID()}/$actions/cancel`)).status, 404)
  assert.equal((await asPublic('GET', 'tasks/ZXJnb24=:nonsense')).status, 400)
})

test('the specification profile takes both forms', async () => {
  const extId = await store({})
  for (const text of [extId, `ZXJnb24=:${extId}`])
    assert.equal((await app.call('GET', `${tasks}/${text}`)).data.extId, extId)
  const malformed = await app.call('GET', `${tasks}/invalid-ext-id`)
  assert.equal(malformed.status, 400)
  assert.match(malformed.errors[0]?.message as string, /invalid-ext-id.*regular expression/s)
  const unknown = await app.call('GET', `${tasks}/${crypto.randomUUID()}`)
  assert.equal(unknown.errors[0]?.code, 'TSKS-20904')
})

test('public clients filter by rel in their own names', async () => {
  const extId = await store({
    operation: 'kRel',
    entitiesAffected: [{ extId: crypto.randomUUID(), rel: 'platform:config:category' }],
  })
  const filter = encodeURIComponent("operation eq 'kRel' and entitiesAffected/any(e:e/rel eq 'prism:config:category')")
  const { body } = await asPublic('GET', `tasks?$filter=${filter}`)
  assert.deepEqual(
    body.data.map((task: any) => task.extId),
    [`ZXJnb24=:${extId}`],
  )
  assert.equal(body.data[0].entitiesAffected[0].rel, 'prism:config:category')
})

test('every affected entity is listed, also beyond the 300 that the task shows', async () => {
  const all = Array.from({ length: 350 }, (_, index) => ({
    extId: crypto.randomUUID(),
    name: `e${index}`,
    rel: 'vmm:ahv:config:vm',
  }))
  const extId = await store({ entitiesAffected: all.slice(0, 300), numberOfEntitiesAffected: 350, allAffected: all })
  const list = (query: string) => app.call('GET', `${tasks}/${extId}/affected-entities?${query}`)
  const last = await list('$page=3&$limit=100')
  assert.equal(last.total, 350)
  assert.deepEqual(
    last.data.map((entity: any) => entity.name),
    all.slice(300).map((entity) => entity.name),
  )
  assert.equal((await list(`$filter=${encodeURIComponent("name eq 'e340'")}`)).data[0].extId, all[340]?.extId)
  assert.deepEqual((await list('$limit=1&$select=name')).data, [{ extId: all[0]?.extId, name: 'e0' }])
})

test('a task that is no batch has no jobs', async () => {
  const extId = await store({})
  const { status, data, total } = await app.call('GET', `${tasks}/${extId}/jobs`)
  assert.deepEqual([status, data, total], [200, [], 0])
  assert.equal((await app.call('GET', `${tasks}/${extId}/jobs/${crypto.randomUUID()}`)).status, 404)
  assert.equal((await app.call('GET', `${tasks}/${crypto.randomUUID()}/jobs`)).status, 404)
})

test('a job is found under its own task only', async () => {
  const [first] = (await app.call('GET', `${tasks}/${seedId('task/batch')}/jobs`)).data
  assert.equal((await app.call('GET', `${tasks}/${seedId('task/batch')}/jobs/${first.extId}`)).status, 200)
  const other = await store({})
  assert.equal((await app.call('GET', `${tasks}/${other}/jobs/${first.extId}`)).status, 404)
})

test('cancelling a finished task, or one whose isCancelable is false, is refused', async () => {
  const cancel = (extId: string) => app.call('POST', `${tasks}/${extId}/$actions/cancel`)
  const finished = await cancel(await store({}))
  assert.deepEqual([finished.status, finished.errors[0]?.code], [409, 'TSKS-20902'])
  const running = await store({ status: 'RUNNING', progressPercentage: 10, completedTime: undefined })
  assert.equal((await app.call('GET', `${tasks}/${running}`)).data.isCancelable, false)
  const refused = await cancel(running)
  assert.deepEqual([refused.status, refused.errors[0]?.code], [409, 'TSKS-20903'])
  assert.equal((await cancel(crypto.randomUUID())).status, 404)
  await app.store.transaction((transaction) => transaction.remove(Task, running))
})

test('an identity without View_Task sees its own tasks and their jobs only, total included', async () => {
  const as = await aUser(app, ['Platform User'])
  const other = await store({})
  const submitted = await app.call('POST', '/platform/v4.3/operations/$actions/batch', {
    as,
    requestId: crypto.randomUUID(),
    body: {
      metadata: { action: 'CREATE', name: 'own', uri: '/api/platform/v4.3/config/categories' },
      payload: [{ data: { key: 'Own', value: 'a' } }],
    },
  })
  await app.runner.untilEnded(submitted.data.extId)
  const list = await app.call('GET', tasks, { as })
  assert.deepEqual(
    [list.status, list.total, list.data.map((each: any) => each.extId)],
    [200, 1, [submitted.data.extId]],
  )
  const status = async (path: string) => (await app.call('GET', `${tasks}/${path}`, { as })).status
  assert.equal(await status(submitted.data.extId), 200)
  assert.equal(await status(`${submitted.data.extId}/jobs`), 200)
  for (const part of ['', '/jobs', '/affected-entities']) assert.equal(await status(`${other}${part}`), 404, part)
  assert.equal((await app.call('POST', `${tasks}/${other}/$actions/cancel`, { as })).status, 404)
})

test('names of entities that the identity may not view are left out, their ids stay', async () => {
  const as = await aUser(app, ['Monitoring Admin'])
  const path = `${tasks}/${seedId('task/14')}`
  const seen = (await app.call('GET', path)).data.entitiesAffected[0]
  assert.ok(seen.name)
  assert.deepEqual((await app.call('GET', path, { as })).data.entitiesAffected, [{ extId: seen.extId, rel: seen.rel }])
  assert.deepEqual((await app.call('GET', `${path}/affected-entities`, { as })).data, [
    { extId: seen.extId, rel: seen.rel },
  ])
})

test('finished tasks are deleted after 30 days with their subtasks, batches after 90 days with their jobs; newer ones stay', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-retention-'))
  /** The same world so many days later, one hour before the next look at what is old. */
  const onDay = async (day: number, work: (own: TestApp) => Promise<void>) => {
    const own = await startApp({ folder, startAt: beginning + day * 24 * 3600 * 1000 })
    try {
      await own.clock.advance(3600 * 1000)
      await work(own)
    } finally {
      await own.close()
    }
  }
  const submit = async (own: TestApp, value: string) =>
    own.task(
      await own.call('POST', '/platform/v4.3/operations/$actions/batch', {
        requestId: crypto.randomUUID(),
        body: {
          metadata: { action: 'CREATE', name: value, uri: '/api/platform/v4.3/config/categories' },
          payload: [{ data: { key: 'Kept', value } }],
        },
      }),
    )
  /** The schedule runs beside the clock: some turns of the event loop, no waiting. */
  const isGone = async (own: TestApp, extId: string) => {
    for (let turn = 0; turn < 500; turn++) {
      if ((await own.store.get(Task, extId)) === undefined) return true
      await new Promise(setImmediate)
    }
    return false
  }
  try {
    const ids: string[] = []
    await onDay(0, async (own) => void ids.push((await submit(own, 'old')).extId))
    const [old] = ids as [string]
    await onDay(31, async (own) => {
      assert.ok(await isGone(own, seedId('task/0')))
      assert.ok(await own.store.get(Task, old), 'a batch is kept longer')
      ids.push((await submit(own, 'young')).extId)
    })
    const young = ids[1] as string
    await onDay(91, async (own) => {
      assert.ok(await isGone(own, old))
      assert.equal((await own.call('GET', `/platform/v4.3/operations/batches/${old}`)).status, 404)
      assert.equal((await own.call('GET', `${tasks}/${old}/jobs`)).status, 404)
      assert.equal((await own.store.findWhere(TaskJob, { taskExtId: old })).length, 0)
      assert.ok(await own.store.get(Batch, young))
      assert.equal((await own.call('GET', `${tasks}/${young}/jobs`)).total, 1)
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
