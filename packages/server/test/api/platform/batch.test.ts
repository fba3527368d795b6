/** Batches over the interface. Source: behaviour platform.md 14, statements 12 to 16; conventions 25.31 to 33. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Batch } from '@hyperplane/contract/platform/batch'
import { Category } from '@hyperplane/contract/platform/category'
import { Task } from '@hyperplane/contract/platform/task'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { aFault, readFault } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { type CallResult, startApp, type TestApp, type TestSettings } from '../../support/start-app.ts'
import { aRobot, grant } from '../iam/people.ts'

const submit = '/platform/v4.3/operations/$actions/batch'
const batches = '/platform/v4.3/operations/batches'
const tasks = '/platform/v4.3/config/tasks'
const categories = '/api/platform/v4.3/config/categories'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

interface Spec {
  action?: string
  uri?: string
  name?: string
  chunkSize?: number
  shouldStopOnError?: boolean
}

const send = (on: TestApp, spec: Spec, payload: readonly object[], options: object = {}) =>
  on.call('POST', submit, {
    requestId: crypto.randomUUID(),
    body: { metadata: { action: 'CREATE', name: 'test', uri: categories, ...spec }, payload },
    ...options,
  })
const jobsOf = async (on: TestApp, task: { extId: string }) => {
  const pages = [0, 1, 2, 3, 4].map((page) => on.call('GET', `${tasks}/${task.extId}/jobs?$limit=100&$page=${page}`))
  return (await Promise.all(pages)).flatMap((page) => page.data) as any[]
}
const partsOf = (on: TestApp, started: CallResult) =>
  on.store.findWhere(Task, { 'parentTask/extId': started.data.extId })
const pairs = (key: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ data: { key, value: `v${index}` } }))

test('20 creations: jobs in order, correct counts, BATCH-CREATE, and no subtasks for synchronous operations', async () => {
  const started = await send(app, { chunkSize: 7 }, pairs('Twenty', 20))
  assert.equal(started.status, 202)
  assert.equal(started.location, `${tasks}/${started.data.extId}`)
  assert.equal(
    (await app.call('GET', started.location as string)).status,
    200,
    'the task is there as soon as the batch is accepted',
  )
  const task = await app.task(started)
  assert.equal(task.operation, 'BATCH-CREATE')
  assert.equal(task.operationDescription, 'test')
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.progressPercentage, 100)
  assert.equal(task.numberOfSubtasks, 0)
  assert.deepEqual(task.batchSummary, { numberOfJobs: 20, numberOfJobsSuccessful: 20, numberOfJobsFailed: 0 })
  const jobs = await jobsOf(app, task)
  assert.deepEqual(
    jobs.map((job) => job.name),
    Array.from({ length: 20 }, (_, index) => String(index)),
  )
  assert.ok(jobs.every((job) => job.status === 'SUCCEEDED'))
  assert.deepEqual(
    jobs[3].completionDetails.map((detail: any) => detail.name),
    ['httpStatus', 'entityExtId'],
  )
  assert.equal(jobs[0].element, undefined, 'what ran is not kept')
  const created = await app.store.findWhere(Category, { key: 'Twenty' })
  assert.deepEqual(
    new Set(task.entitiesAffected.map((entity: any) => entity.extId)),
    new Set(created.map((each) => each.extId)),
  )
  const batch = (await app.call('GET', `${batches}/${task.extId}`)).data
  assert.equal(batch.executionStatus, 'COMPLETED')
  assert.equal(batch.completionStatus, 'SUCCEEDED')
  assert.deepEqual([batch.size, batch.successCount, batch.failedCount], [20, 20, 0])
})

test('elements that run as tasks are subtasks of the batch and end with them', async () => {
  const [cluster] = (await app.call('GET', '/clustermgmt/v4.2/config/clusters')).data
  const payload = Array.from({ length: 20 }, (_, index) => ({
    data: { name: `batch-${index}`, subnetType: 'VLAN', networkId: 1000 + index, clusterReference: cluster.extId },
  }))
  const task = await app.task(await send(app, { uri: '/api/networking/v4.3/config/subnets', chunkSize: 20 }, payload))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.numberOfSubtasks, 20)
  const jobs = await jobsOf(app, task)
  const parts = (await app.call('GET', `${tasks}?$filter=${encodeURIComponent(`parentTask eq '${task.extId}'`)}`))
    .data as any[]
  assert.deepEqual(
    jobs.map((job) => job.completionDetails.find((detail: any) => detail.name === 'taskExtId').value).sort(),
    parts.map((part) => part.extId).sort(),
  )
  assert.ok(jobs.every((job) => job.entitiesAffected.length > 0))
})

test('500 elements are accepted, 501 are not', async () => {
  const accepted = await send(app, { chunkSize: 500 }, pairs('FiveHundred', 500))
  assert.equal(accepted.status, 202)
  assert.equal((await app.task(accepted)).status, 'SUCCEEDED')
  assert.equal((await send(app, {}, pairs('TooMany', 501))).status, 400)
  assert.equal((await send(app, {}, [])).status, 400)
})

test('a body larger than other operations take is accepted', async () => {
  const description = 'd'.repeat(512)
  const payload = pairs('Large', 500).map(({ data }) => ({
    data: { ...data, description },
    metadata: { headers: [{ name: 'Accept', value: 'x'.repeat(4000) }] },
  }))
  assert.ok(JSON.stringify(payload).length > 2 * 1024 * 1024)
  assert.equal((await app.task(await send(app, { chunkSize: 500 }, payload))).status, 'SUCCEEDED')
})

test('six submissions a minute pass, the seventh is refused', async () => {
  const limited = await startApp({ config: { rateLimits: 'on' } })
  try {
    const answers = []
    for (let index = 0; index < 7; index++) answers.push((await send(limited, {}, pairs(`Rate${index}`, 1))).status)
    assert.deepEqual(answers, [202, 202, 202, 202, 202, 202, 429])
  } finally {
    await limited.close()
  }
})

test('a stale tag fails its own element only', async () => {
  const made = []
  for (const value of ['a', 'b', 'c'])
    made.push(await app.call('POST', categories.slice(4), { body: { key: 'Stale', value } }))
  const payload = made.map(({ data, etag }, index) => ({
    metadata: {
      path: [{ name: 'extId', value: data.extId }],
      headers: [{ name: 'If-Match', value: index === 1 ? '"stale"' : etag }],
    },
    data: { key: 'Stale', value: `${data.value}2` },
  }))
  const task = await app.task(await send(app, { action: 'MODIFY', uri: `${categories}/{extId}` }, payload))
  assert.equal(task.status, 'FAILED')
  assert.equal(task.errorMessages[0].message, '1 of 3 elements failed')
  assert.equal(task.legacyErrorMessage, '1 subtask has failed.')
  const jobs = await jobsOf(app, task)
  assert.deepEqual(
    jobs.map((job) => job.status),
    ['SUCCEEDED', 'FAILED', 'SUCCEEDED'],
  )
  assert.equal(jobs[1].errorMessages[0].code, 'PLAT-10005')
  assert.equal(jobs[1].completionDetails[0].value, 412)
  assert.equal((await app.call('GET', `${batches}/${task.extId}`)).data.completionStatus, 'PARTIALLY_SUCCEEDED')
})

test('a batch deletes, in the names of public clients', async () => {
  const { data } = await app.call('POST', categories.slice(4), { body: { key: 'Gone', value: 'a' } })
  const payload = [{ metadata: { path: [{ name: 'extId', value: data.extId }] } }]
  const task = await app.task(
    await send(app, { action: 'DELETE', uri: '/api/prism/v4.3/config/categories/{extId}' }, payload),
  )
  assert.deepEqual([task.operation, task.status], ['BATCH-DELETE', 'SUCCEEDED'])
  assert.equal((await jobsOf(app, task))[0].entitiesAffected[0].extId, data.extId)
})

test('faults of a body fail its element, with every fault named', async () => {
  const task = await app.task(
    await send(app, {}, [{ data: { key: 'Fault', value: 'a' } }, { data: { key: 'a/b' } }, {}]),
  )
  const jobs = await jobsOf(app, task)
  assert.deepEqual(
    jobs.map((job) => job.status),
    ['SUCCEEDED', 'FAILED', 'FAILED'],
  )
  assert.equal(jobs[1].errorMessages.length, 2)
  assert.equal(jobs[2].completionDetails[0].value, 400)
})

test('faults of the batch itself are refused at once, and no element runs', async () => {
  const before = await app.store.count(Category)
  const element = { data: { key: 'Refused', value: 'a' } }
  const withHeader = (name: string) => ({ ...element, metadata: { headers: [{ name, value: 'x' }] } })
  const refused: [Spec, object[], RegExp][] = [
    [{ action: 'MODIFY', uri: `${categories}/{extId}` }, [{ data: {} }], /^payload\[0\]\/metadata\/path/],
    [
      { action: 'MODIFY', uri: `${categories}/{extId}` },
      [{ metadata: { path: [{ name: 'other', value: 'x' }] } }],
      /^payload\[0\]/,
    ],
    [{ uri: '/api/platform/v4.3/nothing' }, [element], /^metadata\/uri/],
    [{ action: 'DELETE' }, [element], /^metadata\/uri/],
    [{ action: 'ACTION' }, [element], /^metadata\/uri/],
    [{ action: 'CREATE', uri: `${categories}/{extId}` }, [element], /^metadata\/uri/],
    [{ action: 'ACTION', uri: `/api${submit}` }, [element], /^metadata\/uri/],
    [{ uri: `${categories}?$page=1` }, [element], /^metadata\/uri/],
    [{}, [element, withHeader('Authorization')], /^payload\[1\]\/metadata\/headers/],
    [{}, [withHeader('Cookie')], /^payload\[0\]/],
    [{}, [withHeader('Host')], /^payload\[0\]/],
    [{}, [withHeader('X-ntnx-api-key')], /^payload\[0\]/],
    [{}, [withHeader('NTNX-Request-Id')], /^payload\[0\]/],
  ]
  for (const [spec, payload, path] of refused) {
    const answer = await send(app, spec, payload)
    assert.equal(answer.status, 400, JSON.stringify(spec))
    assert.match(answer.errors[0]?.argumentsMap?.['attributePath'] as string, path)
  }
  assert.equal(await app.store.count(Category), before)
})

test('a GET has no action in a batch, and shape faults of the batch are refused', async () => {
  assert.equal((await send(app, { action: 'READ' }, [{}])).status, 400)
  assert.equal((await send(app, { chunkSize: 0 }, [{}])).status, 400)
  assert.equal((await send(app, { uri: 'https://elsewhere/api' }, [{}])).status, 400)
  const withoutId = await app.call('POST', submit, {
    body: { metadata: { action: 'CREATE', name: 'n', uri: categories }, payload: [{}] },
  })
  assert.equal(withoutId.status, 400)
})

test('stop on error: the chunk of the failure ends, later ones never begin', async () => {
  const payload = pairs('Stop', 10) as any[]
  payload[3] = { data: { key: 'a/b', value: 'x' } }
  const task = await app.task(await send(app, { chunkSize: 3, shouldStopOnError: true }, payload))
  const jobs = await jobsOf(app, task)
  assert.deepEqual(
    jobs.map((job) => job.status),
    [
      ...['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'FAILED', 'SUCCEEDED', 'SUCCEEDED'],
      ...['FAILED', 'FAILED', 'FAILED', 'FAILED'],
    ],
  )
  assert.deepEqual([...new Set(jobs.slice(6).map((job) => job.errorMessages[0].code))], ['PLAT-50012'])
  const batch = (await app.call('GET', `${batches}/${task.extId}`)).data
  assert.equal(batch.size, batch.successCount + batch.failedCount)
  assert.deepEqual([batch.successCount, batch.completionStatus], [5, 'PARTIALLY_SUCCEEDED'])
})

test('all failed: the batch is FAILED', async () => {
  const task = await app.task(await send(app, {}, [{ data: {} }, { data: {} }]))
  assert.equal((await app.call('GET', `${batches}/${task.extId}`)).data.completionStatus, 'FAILED')
})

test('a retry of the submission gets the same batch', async () => {
  const requestId = crypto.randomUUID()
  const first = await send(app, {}, pairs('Retry', 2), { requestId })
  const second = await send(app, {}, pairs('Retry', 2), { requestId })
  assert.equal(second.replayed, true)
  assert.equal(second.data.extId, first.data.extId)
  await app.task(first)
})

test('batch elements with the same request id run once', async () => {
  const headers = [{ name: 'SVC-Request-Id', value: crypto.randomUUID() }]
  const element = { data: { key: 'Same', value: 'a' }, metadata: { headers } }
  const task = await app.task(await send(app, {}, [element, element]))
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal((await app.store.findWhere(Category, { key: 'Same' })).length, 1)
})

test('batches are listed newest first, filtered and ordered by name', async () => {
  await app.task(await send(app, { name: 'listed b' }, pairs('ListB', 1)))
  await app.task(await send(app, { name: 'listed a' }, pairs('ListA', 1)))
  const filter = encodeURIComponent("startswith(name,'listed')")
  const names = async (query: string) =>
    (await app.call('GET', `${batches}?$filter=${filter}${query}`)).data.map((batch: any) => batch.name)
  assert.deepEqual(await names(''), ['listed a', 'listed b'])
  assert.deepEqual(await names('&$orderby=name desc'), ['listed b', 'listed a'])
  assert.equal((await app.call('GET', `${batches}/${crypto.randomUUID()}`)).status, 404)
})

test('a submitter without the permission of the elements gets its batch, and every job is refused', async () => {
  const as = await aUser(app, ['Platform User'])
  const started = await send(app, {}, pairs('Denied', 3), { as })
  assert.equal(started.status, 202)
  const task = await app.task(started)
  assert.equal(task.status, 'FAILED')
  const groups = (await jobsOf(app, task)).map((job) => [job.status, job.errorMessages[0].errorGroup])
  assert.deepEqual(
    groups,
    Array.from({ length: 3 }, () => ['FAILED', 'ACCESS_DENIED']),
  )
  assert.equal((await app.store.findWhere(Category, { key: 'Denied' })).length, 0)
})

test('everyone sees the own batches, monitoring sees all', async () => {
  const as = await aUser(app, ['Platform User'])
  const own = await app.task(await send(app, { name: 'mine' }, pairs('Mine', 1), { as }))
  const foreign = await app.task(await send(app, { name: 'not mine' }, pairs('NotMine', 1)))
  const list = await app.call('GET', batches, { as })
  assert.deepEqual([list.total, list.data[0].extId], [1, own.extId])
  assert.equal((await app.call('GET', `${batches}/${foreign.extId}`, { as })).status, 404)
  assert.equal((await app.call('GET', batches, { as: await aUser(app, ['Platform Viewer']) })).total, 0)
  const monitoring = await aUser(app, ['Monitoring Admin'])
  assert.equal((await app.call('GET', `${batches}/${own.extId}`, { as: monitoring })).status, 200)
  assert.ok(((await app.call('GET', batches, { as: monitoring })).total as number) > 2)
  assert.equal((await app.call('GET', batches, { as: await aUser(app) })).status, 403)
})

/** An app whose batches stand still before they begin, until `go`. */
async function heldApp(settings: TestSettings = {}): Promise<{ app: TestApp; go: () => void; reached: Promise<void> }> {
  const held = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  const app = await startApp({
    ...settings,
    beforeStep: async (definition, _step, phase) => {
      if (definition !== 'platform.run-batch' || phase !== 'run') return
      reached.resolve()
      await held.promise
    },
  })
  return { app, go: held.resolve, reached: reached.promise }
}

test('a cancel ends a batch that still waits for other tasks', async () => {
  const { app: own, go } = await heldApp()
  try {
    const batches = []
    // More than may run at the same time.
    for (let number = 0; number < 70; number++) batches.push(await send(own, {}, pairs(`Waiting${number}`, 1)))
    const last = batches.at(-1)!
    assert.equal((await own.call('POST', `${tasks}/${last.data.extId}/$actions/cancel`)).status, 200)
    go()
    const task = await own.task(last)
    assert.equal(task.status, 'CANCELED')
    assert.deepEqual(
      (await jobsOf(own, task)).map(({ status, errorMessages }) => [status, errorMessages[0].code]),
      [['FAILED', 'PLAT-50013']],
    )
  } finally {
    await own.close()
  }
})

test('a cancel ends the elements that have not begun', async () => {
  const { app: own, go, reached } = await heldApp()
  try {
    const started = await send(own, {}, pairs('Cancel', 5))
    await reached
    const cancel = () => own.call('POST', `${tasks}/${started.data.extId}/$actions/cancel`)
    assert.equal((await own.call('GET', `${tasks}/${started.data.extId}`)).data.isCancelable, true)
    const asked = await cancel()
    assert.deepEqual(
      [asked.status, asked.data.code, asked.data.errorGroup],
      [200, 'TSKS-20901', 'TASK_CANCELLATION_SUCCESS'],
    )
    assert.equal(asked.data.message, 'Task cancellation issued successfully as requested')
    assert.deepEqual((await cancel()).data, asked.data, 'asked again, the same answer')
    go()
    const task = await own.task(started)
    assert.equal(task.status, 'CANCELED')
    assert.ok(task.errorMessages.length > 0)
    assert.deepEqual([...new Set((await jobsOf(own, task)).map((job) => job.errorMessages[0].code))], ['PLAT-50013'])
    assert.equal((await own.store.get(Batch, task.extId))?.completionStatus, 'CANCELLED')
    assert.equal((await own.store.findWhere(Category, { key: 'Cancel' })).length, 0)
    assert.equal((await cancel()).errors[0]?.code, 'TSKS-20902')
  } finally {
    await own.close()
  }
})

test('a cancel that comes while the request of an element is under way cancels the task that this request starts', async () => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const own = await startApp({ beforeStep: (definition) => (definition === 'vmm.create-vm' ? held : undefined) })
  try {
    const delayed = await aFault(own, { operation: 'createVm' }, { delay: { fixed: 'PT1M' } })
    const cluster = (await own.call('GET', '/clustermgmt/v4.2/config/clusters?$limit=1')).data[0]
    const data = { name: 'on-its-way', cluster: { extId: cluster.extId }, memorySizeBytes: 256 * 1024 ** 2 }
    const started = await send(own, { uri: '/api/vmm/v4.2/ahv/config/vms' }, [{ data }])
    while ((await readFault(own, delayed)).timesFired === 0) await new Promise(setImmediate)
    assert.equal((await own.call('POST', `${tasks}/${started.data.extId}/$actions/cancel`)).status, 200)
    assert.equal((await partsOf(own, started)).length, 0)
    await own.clock.advance(60_000)
    for (let turn = 0; turn < 200 && (await partsOf(own, started))[0]?.status !== 'CANCELING'; turn++)
      await new Promise(setImmediate)
    letGo()
    assert.equal((await own.task(started)).status, 'CANCELED')
    assert.deepEqual(
      (await partsOf(own, started)).map(({ status }) => status),
      ['CANCELED'],
    )
    assert.equal(await own.store.findOne(Vm, { name: 'on-its-way' }), undefined)
  } finally {
    letGo()
    await own.close()
  }
})

test('an operation that takes Basic only takes no API key by way of a batch', async () => {
  const robot = await aRobot(app)
  await grant(app, 'Super Admin', robot.extId)
  const metadata = { path: [{ name: 'extId', value: crypto.randomUUID() }] }
  const spec = { action: 'MODIFY', uri: '/api/storage/v4.0.a3/config/iscsi-clients/{extId}' }
  const started = await send(app, spec, [{ metadata, data: {} }], { apiKey: robot.apiKey })
  assert.equal(started.status, 202, JSON.stringify(started.errors))
  await app.task(started)
  const [job] = (await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}/jobs`)).data
  assert.equal(job.status, 'FAILED')
  assert.equal(job.errorMessages[0].code, 'PLAT-10401')
})

test('chunks of one element share commits, and a failing element still ends the batch', async () => {
  let commits = 0
  const unwatch = app.store.watch([Category], () => commits++)
  const task = await app.task(await send(app, { chunkSize: 1 }, pairs('OneByOne', 100)))
  unwatch()
  assert.equal(task.status, 'SUCCEEDED')
  assert.ok(commits < 20, `${commits} commits for 100 elements`)

  const payload = [...pairs('Stops', 3), ...pairs('Stops', 1), ...pairs('StopsLater', 3)]
  const stopped = await app.task(await send(app, { chunkSize: 1, shouldStopOnError: true }, payload))
  const jobs = await jobsOf(app, stopped)
  assert.deepEqual(
    jobs.map((job) => job.errorMessages?.[0]?.errorGroup ?? job.status),
    ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED', 'ENTITY_ALREADY_EXISTS', ...Array(3).fill('BATCH_STOPPED')],
  )
})

test('tasks in chunks of one share commits with the acceptance of the next: three for each VM', async () => {
  let commits = 0
  const unwatch = app.store.watch([Task, TaskJob], () => commits++)
  const cluster = (await app.call('GET', '/clustermgmt/v4.2/config/clusters?$limit=1')).data[0]
  const payload = Array.from({ length: 20 }, (_, index) => ({
    data: { name: `one-by-one-${index}`, cluster: { extId: cluster.extId }, memorySizeBytes: 256 * 1024 ** 2 },
  }))
  const task = await app.task(await send(app, { uri: '/api/vmm/v4.2/ahv/config/vms', chunkSize: 1 }, payload))
  unwatch()
  assert.equal(task.status, 'SUCCEEDED')
  assert.ok(commits <= 3 * payload.length + 5, `${commits} commits for ${payload.length} VMs`)
})
