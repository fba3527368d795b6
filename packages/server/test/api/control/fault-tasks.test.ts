/** Faults of tasks and driver calls, and the resulting state of the world. Source: reference faults.md. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { blockDiskFacts, targetFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { aFault, noFaults, readFault, removeFault } from '../../support/faults.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { aGroup, GiB, nameOf, onContainer, postGroup, send } from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(() => noFaults(app))
after(() => app.close())

const task = 'volumes.create-volume-group'
/** A group with one disk: its task calls the driver in two steps. */
const withDisk = { disks: [{ diskSizeBytes: GiB, ...onContainer() }] }
const post = (within = app, name = nameOf()): Promise<CallResult> => postGroup(within, { name, ...withDisk })
const readTask = async (started: CallResult, within = app): Promise<any> =>
  (await within.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)).data
const turns = async (until: () => Promise<boolean>): Promise<void> => {
  while (!(await until())) await new Promise(setImmediate)
}
const cancel = (started: CallResult): Promise<CallResult> =>
  send(app, 'POST', `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`)

/** Everything that a failed creation could leave behind. */
const traces = async (): Promise<readonly number[]> => [
  await app.store.count(VolumeGroup),
  targetFacts(app.world).all().size,
  blockDiskFacts(app.world).all().size,
]

for (const [moment, effect] of [
  ['before', {}],
  ['after', { moment: 'AFTER' }],
] as const) {
  test(`a task fails with the given error ${moment} a step, and nothing of it is left`, async () => {
    const before = await traces()
    const error = { error: 'LIMIT_EXCEEDED', arguments: { limit: 'disks', maximum: '5', found: '6' }, ...effect }
    await aFault(app, { taskStep: { task, step: 'create disks' } }, error)
    const ended = await app.task(await post())
    assert.equal(ended.status, 'FAILED')
    assert.deepEqual(ended.errorMessages, [
      {
        message: 'disks: at most 5, found 6.',
        severity: 'ERROR',
        code: 'PLAT-10014',
        locale: 'en_US',
        errorGroup: 'LIMIT_EXCEEDED',
        argumentsMap: { limit: 'disks', maximum: '5', found: '6' },
      },
    ])
    assert.deepEqual(await traces(), before)
  })
}

test('a step with a retryable fault is retried, and succeeds at the third attempt', async () => {
  const effect = { error: 'BACKEND_TIMEOUT', arguments: { fault: 'slow' }, isRetryable: true }
  const rule = await aFault(app, { taskStep: { task, step: 'create disks' } }, effect, { next: 2 })
  assert.equal((await app.task(await post())).status, 'SUCCEEDED')
  const { timesMatched, timesFired } = await readFault(app, rule)
  assert.deepEqual([timesMatched, timesFired], [3, 2])
})

test('a permanent retryable fault fails the task after four attempts', async () => {
  const before = await traces()
  const effect = { error: 'BACKEND_TIMEOUT', arguments: { fault: 'slow' }, isRetryable: true }
  const rule = await aFault(app, { taskStep: { task, step: 'create disks' } }, effect)
  const ended = await app.task(await post())
  assert.deepEqual([ended.status, ended.errorMessages[0].code], ['FAILED', 'PLAT-10504'])
  assert.equal((await readFault(app, rule)).timesFired, 4)
  assert.deepEqual(await traces(), before)
})

test('an undo that fails is retried until it succeeds', async () => {
  const before = await traces()
  const fails = { error: 'CONFLICT', arguments: { fault: 'no' } }
  await aFault(app, { taskStep: { task, step: 'publish' } }, fails)
  const undo = await aFault(app, { taskStep: { task, step: 'create disks', phase: 'UNDO' } }, fails, { next: 3 })
  const ended = await app.task(await post())
  assert.deepEqual([ended.status, ended.errorMessages[0].message], ['FAILED', 'no'])
  assert.deepEqual([(await readFault(app, undo)).timesMatched, await traces()], [4, before])
})

test('a task hangs at a percentage until the rule is removed, and advancing the clock does not wait for it', async () => {
  const rule = await aFault(app, { operation: 'createVolumeGroup' }, { hangAtPercentage: 40 })
  const started = await post()
  await turns(async () => (await readFault(app, rule)).heldTaskExtIds.length > 0)
  await turns(async () => (await readTask(started)).progressPercentage === 40)
  await app.clock.advance(600_000)
  const hanging = await readTask(started)
  assert.deepEqual([hanging.status, hanging.progressPercentage], ['RUNNING', 40])
  assert.deepEqual((await readFault(app, rule)).heldTaskExtIds, [started.data.extId])
  await removeFault(app, rule)
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
})

test('other tasks continue while tasks hang, also when more hang than may run at once', async () => {
  const rule = await aFault(app, { operation: 'createVolumeGroup', namePattern: 'hung-*' }, { hangAtPercentage: 0 })
  const hung: CallResult[] = []
  for (let made = 0; made < 70; made++) hung.push(await postGroup(app, { name: nameOf('hung') }))
  await aGroup(app)
  await removeFault(app, rule)
  for (const started of hung) assert.equal((await app.task(started)).status, 'SUCCEEDED')
})

test('the second task hangs, not the second step of the first', async () => {
  const rule = await aFault(app, { taskStep: { task } }, { hangAtPercentage: 10 }, { nth: 2 })
  assert.equal((await app.task(await post())).status, 'SUCCEEDED')
  const second = await post()
  await turns(async () => (await readFault(app, rule)).heldTaskExtIds.length > 0)
  await removeFault(app, rule)
  assert.equal((await app.task(second)).status, 'SUCCEEDED')
})

test('a task that ignores a cancel is CANCELING, and succeeds', async () => {
  const hang = await aFault(app, { taskStep: { task } }, { hangAtPercentage: 10 })
  const ignores = await aFault(app, { taskStep: { task } }, { ignoreCancel: true })
  const started = await post()
  await turns(async () => (await readTask(started)).progressPercentage === 10)
  assert.equal((await cancel(started)).status, 200)
  assert.equal((await readTask(started)).status, 'CANCELING')
  assert.equal((await cancel(started)).status, 200, 'asked again, it is accepted again')
  await removeFault(app, hang)
  assert.equal((await app.task(started)).status, 'SUCCEEDED')
  assert.equal((await readFault(app, ignores)).timesFired > 0, true)
})

test('the same cancel without the rule ends the task', async () => {
  const before = await traces()
  const hang = await aFault(app, { taskStep: { task } }, { hangAtPercentage: 10 })
  const started = await post()
  await turns(async () => (await readTask(started)).progressPercentage === 10)
  await cancel(started)
  await removeFault(app, hang)
  assert.equal((await app.task(started)).status, 'CANCELED')
  assert.deepEqual(await traces(), before)
})

for (const moment of ['BEFORE', 'AFTER']) {
  test(`a task whose worker crashes ${moment.toLowerCase()} a step is resumed, and every effect happens once`, async () => {
    const [groupsBefore = 0, targetsBefore = 0, disksBefore = 0] = await traces()
    const quiet = await aFault(
      app,
      { taskStep: { task, step: 'create disks' } },
      { crashWorker: true, moment },
      { nth: 1 },
    )
    assert.equal((await app.task(await post())).status, 'SUCCEEDED')
    assert.equal((await readFault(app, quiet)).timesMatched, 2)
    assert.deepEqual(await traces(), [groupsBefore + 1, targetsBefore + 1, disksBefore + 1])
  })
}

test('a step is delayed on the world clock', async () => {
  const rule = await aFault(app, { taskStep: { task, step: 'create disks' } }, { delay: { fixed: 'PT10M' } })
  const began = app.clock.now()
  const started = await post()
  await turns(async () => (await readFault(app, rule)).timesFired > 0)
  await app.clock.advance(600_000)
  const ended = await app.task(started)
  assert.deepEqual([ended.status, Date.parse(ended.completedTime) >= Math.floor(began + 600_000)], ['SUCCEEDED', true])
})

const createDisk = { driverCall: { driver: 'blockStorage', method: 'createDisk' } }

test('a driver call fails permanently: the task shows the error, and leaves nothing behind', async () => {
  const before = await traces()
  await aFault(app, createDisk, { error: 'CONFLICT', arguments: { fault: 'The array says no.' } })
  const ended = await app.task(await post())
  assert.deepEqual([ended.status, ended.errorMessages[0].message], ['FAILED', 'The array says no.'])
  assert.deepEqual(await traces(), before)
})

test('a driver call whose answer is lost is repeated, and takes effect once', async () => {
  const [groupsBefore = 0, targetsBefore = 0, disksBefore = 0] = await traces()
  const lost = { error: 'BACKEND_TIMEOUT', arguments: { fault: 'lost' }, isRetryable: true, moment: 'AFTER' }
  const rule = await aFault(app, createDisk, lost, { next: 2 })
  assert.equal((await app.task(await post())).status, 'SUCCEEDED')
  assert.equal((await readFault(app, rule)).timesMatched, 3)
  assert.deepEqual(await traces(), [groupsBefore + 1, targetsBefore + 1, disksBefore + 1])
})

test('a driver call that is repeated takes effect once', async () => {
  const [groupsBefore = 0, targetsBefore = 0, disksBefore = 0] = await traces()
  const rule = await aFault(app, { driverCall: { driver: 'blockStorage' } }, { answerTwice: true })
  assert.equal((await app.task(await post())).status, 'SUCCEEDED')
  assert.ok((await readFault(app, rule)).timesFired >= 2)
  assert.deepEqual(await traces(), [groupsBefore + 1, targetsBefore + 1, disksBefore + 1])
})

for (const moment of ['BEFORE', 'AFTER']) {
  test(`a driver answers late: its effect is there ${moment === 'AFTER' ? 'before' : 'with'} the answer`, async () => {
    const disksBefore = blockDiskFacts(app.world).all().size
    const rule = await aFault(app, createDisk, { delay: { fixed: 'PT1M' }, moment })
    const started = await post()
    await turns(async () => (await readFault(app, rule)).timesFired > 0)
    await app.clock.advance(59_000)
    assert.equal(blockDiskFacts(app.world).all().size, disksBefore + (moment === 'AFTER' ? 1 : 0))
    assert.equal((await readTask(started)).status, 'RUNNING')
    await app.clock.advance(1000)
    assert.equal((await app.task(started)).status, 'SUCCEEDED')
  })
}

test('a driver call fails only in the task, step and operation and for the names that the rule gives', async () => {
  const fails = { error: 'CONFLICT', arguments: { fault: 'within' } }
  const name = nameOf('chosen')
  const within = { ...createDisk, operation: 'createVolumeGroup', taskStep: { task, step: 'create disks' } }
  await aFault(app, { ...within, namePattern: 'chosen-*' }, fails)
  assert.equal((await app.task(await post())).status, 'SUCCEEDED')
  assert.equal((await app.task(await post(app, name))).status, 'FAILED')
  await noFaults(app)
  await aFault(app, { ...createDisk, operation: 'createVolumeDisk' }, fails)
  assert.equal((await app.task(await post())).status, 'SUCCEEDED')
})

test('a driver failure in a request has the same error as one in a task', async () => {
  const [vm] = (await app.call('GET', '/vmm/v4.2/ahv/config/vms?$limit=1')).data
  const iso = (secondsAgo: number): string => new Date(app.clock.now() - 1000 * secondsAgo).toISOString()
  const path = `/vmm/v4.2/ahv/stats/vms/${vm.extId}?$startTime=${iso(600)}&$endTime=${iso(60)}`
  assert.equal((await app.call('GET', path)).status, 200)
  const effect = { error: 'BACKEND_TIMEOUT', arguments: { fault: 'No meter answers.' }, isRetryable: true }
  await aFault(app, { driverCall: { driver: 'telemetry' } }, effect)
  const { status, errors } = await app.call('GET', path)
  assert.deepEqual([status, errors[0]?.message], [504, 'No meter answers.'])
})

test('a driver fails with an error of its own: an unreachable directory is reported as such', async () => {
  const providers = '/iam/v4.1.b2/authn/directory-services'
  const [directory] = (await app.call('GET', providers)).data
  const account = { username: 'svc-hyperplane', password: 'wrong' }
  const ask = (): Promise<CallResult> =>
    send(app, 'POST', `${providers}/${directory.extId}/$actions/verify-connection-status`, { body: account })
  const usual = await ask()
  await aFault(app, { driverCall: { driver: 'directory' } }, { driverFault: 'timeout' })
  const failing = await ask()
  assert.notDeepEqual([failing.status, failing.errors, failing.data], [usual.status, usual.errors, usual.data])
  assert.notEqual(failing.status, 500)
})

test('rules, counts and hanging tasks survive a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-faults-'))
  try {
    const first = await startApp({ folder })
    const rule = await aFault(first, { taskStep: { task } }, { hangAtPercentage: 10 }, { nth: 1 })
    const started = await post(first)
    await turns(async () => (await readFault(first, rule)).heldTaskExtIds.length > 0)
    await first.close()

    const second = await startApp({ folder })
    await turns(async () => (await readTask(started, second)).status === 'RUNNING')
    const kept = await readFault(second, rule)
    assert.deepEqual([kept.timesMatched, kept.timesFired, kept.heldTaskExtIds], [1, 1, [started.data.extId]])
    assert.equal((await second.task(await post(second))).status, 'SUCCEEDED', 'it was the turn of the first')
    assert.equal((await readTask(started, second)).status, 'RUNNING')
    await removeFault(second, rule)
    assert.equal((await second.task(started)).status, 'SUCCEEDED')
    await second.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a delayed driver call is repeated when the service restarts, and its task does not fail', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-faults-'))
  try {
    const first = await startApp({ folder })
    const rule = await aFault(first, createDisk, { delay: { fixed: 'PT1H' } }, { nth: 1 })
    const started = await post(first)
    await turns(async () => (await readFault(first, rule)).timesFired > 0)
    await first.close()

    const second = await startApp({ folder })
    assert.equal((await second.task(started)).status, 'SUCCEEDED')
    await second.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a reset of the world removes its rules, and a fork does not copy them', async () => {
  const other = await startApp()
  try {
    await aFault(other, {}, { error: 'CONFLICT', arguments: { fault: 'never' } }, { nth: 1000 })
    const forked = await other.call('POST', '/control/v1/worlds/default/$actions/fork', { body: { name: 'copy' } })
    assert.equal(forked.status, 201, JSON.stringify(forked.errors))
    assert.equal((await other.call('GET', '/control/v1/worlds/copy/faults')).total, 0)
    await other.call('POST', '/control/v1/worlds/default/$actions/reset')
    assert.equal((await other.call('GET', '/control/v1/worlds/default/faults')).total, 0)
  } finally {
    await other.close()
  }
})
