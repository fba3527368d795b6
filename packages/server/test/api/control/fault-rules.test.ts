/** Fault rules as entities of the control interface: storage, counts and refusals. Source: reference faults.md. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import {
  aFault,
  categories,
  faults,
  noFaults,
  postCategory,
  postFault,
  readFault,
  unavailable,
} from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(() => noFaults(app))
after(() => app.close())

/** The results of a number of calls. */
async function statuses(calls: number): Promise<number[]> {
  const found: number[] = []
  for (let call = 0; call < calls; call++) found.push((await postCategory(app)).status)
  return found
}
const match = { operation: 'createCategory' }

const triggers: readonly [string, object, readonly number[]][] = [
  ['the third call', { nth: 3 }, [201, 201, 503, 201, 201, 201]],
  ['the next two', { next: 2 }, [503, 503, 201, 201, 201, 201]],
  ['every second', { everyNth: 2 }, [201, 503, 201, 503, 201, 503]],
  ['always', { always: true }, [503, 503, 503, 503, 503, 503]],
  ['from the third on until it is removed', { untilRemoved: true, afterCalls: 2 }, [201, 201, 503, 503, 503, 503]],
  ['with certainty', { probability: 1 }, [503, 503, 503, 503, 503, 503]],
  ['never by chance', { probability: 0 }, [201, 201, 201, 201, 201, 201]],
]
for (const [title, trigger, expected] of triggers) {
  test(`a rule strikes ${title}, and its counts say how often`, async () => {
    const rule = await aFault(app, match, unavailable, trigger)
    assert.deepEqual(await statuses(6), expected)
    const { timesMatched, timesFired, lastFiredTime } = await readFault(app, rule)
    assert.deepEqual([timesMatched, timesFired], [6, expected.filter((status) => status === 503).length])
    assert.equal(lastFiredTime, timesFired === 0 ? undefined : app.clock.iso())
  })
}

test('a rule without a trigger strikes always, and no longer after it is removed', async () => {
  const rule = await aFault(app, match, unavailable)
  assert.deepEqual(await statuses(2), [503, 503])
  await app.call('DELETE', `${faults}/${rule.extId}`)
  assert.deepEqual(await statuses(1), [201])
  assert.equal((await app.call('GET', `${faults}/${rule.extId}`)).status, 404)
})

test('equal seeds give equal draws, other seeds other draws', async () => {
  const drawn = async (seed: string): Promise<number[]> => {
    await aFault(app, match, unavailable, { probability: 0.5, seed })
    const found = await statuses(40)
    await noFaults(app)
    return found
  }
  const first = await drawn('a')
  assert.deepEqual(await drawn('a'), first)
  assert.notDeepEqual(await drawn('b'), first)
  assert.deepEqual([...new Set(first)].sort(), [201, 503])
})

test('two worlds with equal settings have equal draws and equal ids of rules', async () => {
  const other = await startApp()
  try {
    const outcomes = [app, other].map(async (each) => {
      const rule = await aFault(each, match, unavailable, { probability: 0.5 })
      const found: number[] = []
      for (let call = 0; call < 20; call++) found.push((await postCategory(each)).status)
      return { found, rule }
    })
    const [mine, theirs] = await Promise.all(outcomes)
    assert.ok(mine !== undefined && theirs !== undefined)
    // The first world has created other rules before: ordinals are not reused.
    assert.notEqual(mine.rule.extId, theirs.rule.extId)
    const again = await startApp()
    try {
      const rule = await aFault(again, match, unavailable, { probability: 0.5 })
      const found: number[] = []
      for (let call = 0; call < 20; call++) found.push((await postCategory(again)).status)
      assert.deepEqual({ found, extId: rule.extId }, { found: theirs.found, extId: theirs.rule.extId })
    } finally {
      await again.close()
    }
  } finally {
    await other.close()
  }
})

test('rules strike in the order of their creation: delays add up, the first that ends a request wins', async () => {
  const later = { delay: { fixed: 'PT2S' } }
  const rules = [
    await aFault(app, match, later),
    await aFault(app, match, { delay: { fixed: 'PT3S' } }),
    await aFault(app, match, unavailable),
    await aFault(app, match, { error: 'CONFLICT', arguments: { fault: 'too late' } }),
  ]
  const began = app.clock.now()
  const answer = postCategory(app)
  await app.clock.advance(10_000)
  assert.equal((await answer).status, 503)
  const counts = await Promise.all(rules.map((rule) => readFault(app, rule)))
  assert.deepEqual(
    counts.map(({ timesMatched, timesFired }) => [timesMatched, timesFired]),
    [
      [1, 1],
      [1, 1],
      [1, 1],
      [1, 0],
    ],
  )
  assert.equal(app.clock.now() - began, 10_000)
})

test('a call that an earlier rule ended counts as a call, and not as a strike', async () => {
  await aFault(app, match, unavailable, { everyNth: 2 })
  const second = await aFault(app, match, { error: 'CONFLICT', arguments: { fault: 'mine' } }, { next: 2 })
  assert.deepEqual(await statuses(5), [409, 503, 409, 503, 201])
  assert.equal((await readFault(app, second)).timesFired, 2)
})

test('a disabled rule counts nothing; enabling it continues its counts, reset-counts starts them again', async () => {
  const rule = await aFault(app, match, unavailable, { nth: 2 })
  assert.deepEqual(await statuses(1), [201])
  const change = async (isEnabled: boolean): Promise<CallResult> => {
    const { etag } = await app.call('GET', `${faults}/${rule.extId}`)
    const body = { match, effect: unavailable, trigger: { nth: 2 }, isEnabled }
    return app.call('PUT', `${faults}/${rule.extId}`, { body, ifMatch: etag as string })
  }
  assert.equal((await change(false)).status, 200)
  assert.deepEqual(await statuses(3), [201, 201, 201])
  const enabled = await change(true)
  assert.deepEqual([enabled.data.timesMatched, enabled.data.timesFired], [1, 0])
  assert.deepEqual(await statuses(2), [503, 201])
  const reset = await app.call('POST', `${faults}/${rule.extId}/$actions/reset-counts`)
  assert.deepEqual([reset.data.timesMatched, reset.data.timesFired, reset.data.lastFiredTime], [0, 0, undefined])
  assert.deepEqual(await statuses(3), [201, 503, 201])
})

test('a rule is changed with its entity tag alone', async () => {
  const rule = await aFault(app, match, unavailable)
  const path = `${faults}/${rule.extId}`
  const body = { match, effect: unavailable }
  assert.equal((await app.call('PUT', path, { body })).status, 428)
  const { etag } = await app.call('GET', path)
  await postCategory(app)
  assert.equal((await app.call('PUT', path, { body, ifMatch: etag as string })).status, 200, 'counts change no tag')
  assert.equal((await app.call('PUT', path, { body, ifMatch: etag as string })).status, 412)
})

test('rules are listed with filter, order and page', async () => {
  await aFault(app, match, unavailable, { nth: 2 })
  await aFault(app, { operation: 'vmm.listVms' }, unavailable)
  await statuses(2)
  const fired = await app.call('GET', `${faults}?$filter=timesFired gt 0`)
  assert.deepEqual(
    fired.data.map((rule: any) => rule.match.operation),
    ['createCategory'],
  )
  const page = await app.call('GET', `${faults}?$orderby=timesMatched&$limit=1&$filter=match/operation ne null`)
  assert.deepEqual([page.total, page.data[0].match.operation], [2, 'vmm.listVms'])
})

test('requests with the same request id create one rule', async () => {
  const requestId = randomUUID()
  const body = { match, effect: unavailable }
  const first = await app.call('POST', faults, { body, requestId })
  const second = await app.call('POST', faults, { body, requestId })
  assert.deepEqual([second.replayed, second.data.extId], [true, first.data.extId])
  assert.equal((await app.call('GET', faults)).total, 1)
  assert.equal(first.location, `${faults}/${first.data.extId}`)
})

test('caller, kind and name pattern narrow a rule; all given criteria must match', async () => {
  await aFault(app, { kind: 'Category', namePattern: 'fa*/x-?', caller: 'ADMIN' }, unavailable)
  const post = (key: string, value: string): Promise<CallResult> =>
    app.call('POST', categories, { body: { key, value } })
  assert.equal((await post('faults', 'x-1')).status, 503)
  assert.equal((await post('faults', 'x-12')).status, 201)
  assert.equal((await post('other', 'x-1')).status, 201)
  await noFaults(app)
  await aFault(app, { kind: 'Category', caller: 'somebody-else' }, unavailable)
  assert.equal((await post('faults', 'x-2')).status, 201)
})

test('a name pattern is compared with the entity that the path names', async () => {
  const { data } = await app.call('POST', categories, { body: { key: 'named', value: 'one' } })
  const other = await app.call('POST', categories, { body: { key: 'named', value: 'two' } })
  await aFault(app, { operation: 'getCategoryById', namePattern: 'named/one' }, unavailable)
  assert.equal((await app.call('GET', `${categories}/${data.extId}`)).status, 503)
  assert.equal((await app.call('GET', `${categories}/${other.data.extId}`)).status, 200)
})

test('an empty match matches every request of the API, and none of the control interface', async () => {
  const rule = await aFault(app, {}, unavailable)
  assert.equal((await app.call('GET', categories)).status, 503)
  assert.equal((await app.call('GET', '/vmm/v4.2/ahv/config/vms')).status, 503)
  assert.equal((await app.call('GET', '/control/v1/worlds')).status, 200)
  assert.deepEqual((await readFault(app, rule)).timesFired, 2)
})

test('rules are evaluated after authentication, permission and validation; requests refused there are not counted', async () => {
  const rule = await aFault(app, match, unavailable)
  assert.equal((await postCategory(app, { as: null })).status, 401)
  assert.equal((await postCategory(app, { body: { key: 5 } })).status, 400)
  assert.equal((await readFault(app, rule)).timesMatched, 0)
})

test('only a Super Admin of the world default creates, reads and deletes rules', async () => {
  const admin = await aUser(app, ['Platform Admin'])
  for (const [as, status] of [
    [null, 401],
    [admin, 403],
  ] as const) {
    const made = await app.call('POST', faults, { as, body: { effect: unavailable } })
    assert.deepEqual([made.status, (await app.call('GET', faults, { as })).status], [status, status])
    assert.equal((await app.call('DELETE', faults, { as })).status, status)
  }
})

test('a world has at most 1,000 rules: one more is 422', async () => {
  for (let made = 0; made < 1000; made++)
    assert.equal((await postFault(app, { match: { operation: 'vmm.listVms' }, effect: unavailable })).status, 201)
  const refused = await postFault(app, { match, effect: unavailable })
  assert.equal(refused.status, 422)
  assert.match(refused.errors[0]?.message ?? '', /fault rules of a world: at most 1000, found 1001/)
  assert.deepEqual(await statuses(1), [201])
})

const refusals: readonly [string, object, Record<string, RegExp>][] = [
  [
    'an operation, a kind and an error that do not exist, with the nearest names of each',
    { match: { operation: 'createVn', kind: 'Vn' }, effect: { error: 'ENTITY_NOT_FOUN' } },
    {
      'match/operation': /found "createVn"\. The nearest are .*vmm\.createVm/,
      'match/kind': /The nearest are Vm,/,
      'effect/error': /The nearest are ENTITY_NOT_FOUND,/,
    },
  ],
  ['an unknown code', { effect: { error: 'PLAT-10077' } }, { 'effect/error': /PLAT-1000/ }],
  [
    'a name that several operations have',
    { match: { operation: 'listVms' }, effect: unavailable },
    { 'match/operation': /vmm\.listVms or vmm\.extern\.listVms/ },
  ],
  [
    'a code that several errors have',
    { effect: { error: 'PLAT-10016' } },
    { 'effect/error': /UNSUPPORTED_MEDIA_TYPE or/ },
  ],
  [
    'operations of the control interface',
    { match: { operation: 'control.createWorld' }, effect: unavailable },
    { 'match/operation': /no rule touches the control interface/ },
  ],
  [
    'a kind that the operation is not about',
    { match: { operation: 'createCategory', kind: 'Vm' }, effect: unavailable },
    { 'match/kind': /is about Category/ },
  ],
  [
    'an unknown task',
    { match: { taskStep: { task: 'vmm.creat-vm' } }, effect: unavailable },
    { 'match/taskStep/task': /nearest are vmm\.create-vm/ },
  ],
  [
    'an unknown step',
    { match: { taskStep: { task: 'vmm.create-vm', step: 'make disks' } }, effect: unavailable },
    { 'match/taskStep/step': /nearest are create disks/ },
  ],
  [
    'an unknown driver',
    { match: { driverCall: { driver: 'hypervizor' } }, effect: unavailable },
    { 'match/driverCall/driver': /nearest are hypervisor/ },
  ],
  [
    'an unknown call of a driver',
    { match: { driverCall: { driver: 'hypervisor', method: 'startVms' } }, effect: unavailable },
    { 'match/driverCall/method': /nearest are startVm/ },
  ],
  [
    'a fault in words that the driver does not have',
    { match: { driverCall: { driver: 'objectStore' } }, effect: { driverFault: 'unreachabel' } },
    { 'effect/driverFault': /nearest are unreachable/ },
  ],
  [
    'an error for a driver with words of its own',
    { match: { driverCall: { driver: 'web' } }, effect: unavailable },
    { 'effect/error': /use driverFault/ },
  ],
  [
    'words of a driver without a driver',
    { effect: { driverFault: 'unreachable' } },
    { 'effect/driverFault': /name one in match\/driverCall/ },
  ],
  [
    'an error without what its message needs',
    { effect: { error: 'LIMIT_EXCEEDED', arguments: { maximum: '5' } } },
    { 'effect/arguments/found': /is required/ },
  ],
  [
    'Retry-After of an error that has none',
    { effect: { error: 'CONFLICT', arguments: { fault: 'no' }, retryAfterSeconds: 5 } },
    { 'effect/retryAfterSeconds': /not with 409/ },
  ],
  ['retries of requests', { effect: { ...unavailable, isRetryable: true } }, { 'effect/isRetryable': /by its client/ }],
  ['a trigger that says nothing', { trigger: { always: false }, effect: unavailable }, { 'trigger/always': /disable/ }],
  [
    'delays that are no durations, are too long, or in the wrong order',
    { effect: { delay: { fixed: '2s!' } } },
    { 'effect/delay/fixed': /ISO 8601/ },
  ],
  ['a delay of more than a day', { effect: { delay: { fixed: 'P2D' } } }, { 'effect/delay/fixed': /at most a day/ }],
  [
    'a maximum below the minimum',
    { effect: { delay: { minimum: 'PT2S', maximum: 'PT1S' } } },
    { 'effect/delay/maximum': /no less than minimum/ },
  ],
  ['a median of 0', { effect: { delay: { median: 'PT0S', p95: 'PT1S' } } }, { 'effect/delay/median': /more than 0/ }],
  [
    'a dropped connection of a task',
    { match: { taskStep: { task: 'vmm.create-vm' } }, effect: { dropConnection: 'BEFORE_COMMIT' } },
    { effect: /befalls requests/ },
  ],
  [
    'a dropped connection of an element of a batch',
    { match: { batchElement: 1 }, effect: { dropConnection: 'AFTER_COMMIT' } },
    { 'match/batchElement': /no connection of its own/ },
  ],
  [
    'a hanging operation that starts no task',
    { match: { operation: 'createCategory' }, effect: { hangAtPercentage: 10 } },
    { 'match/operation': /starts no task/ },
  ],
  [
    'a step for what befalls the whole task',
    { match: { taskStep: { task: 'vmm.create-vm', step: 'define' } }, effect: { ignoreCancel: true } },
    { 'match/taskStep/step': /leave the step out/ },
  ],
  [
    'requests that are answered twice',
    { match: { operation: 'createCategory' }, effect: { answerTwice: true } },
    { 'match/driverCall': /is required/ },
  ],
  [
    'a competing writer of nothing',
    { match: { operation: 'listCategories' }, effect: { competingWrite: true } },
    { 'match/operation': /names no stored entity/ },
  ],
]
for (const [what, rule, expected] of refusals) {
  test(`refused (400): ${what}`, async () => {
    const refused = await postFault(app, rule)
    assert.equal(refused.status, 400)
    const found = new Map(refused.errors.map(({ argumentsMap, message }) => [argumentsMap?.['attributePath'], message]))
    for (const [path, message] of Object.entries(expected)) assert.match(found.get(path) ?? '', message, path)
    assert.equal(found.size, Object.keys(expected).length, JSON.stringify([...found]))
    assert.equal((await app.call('GET', faults)).total, 0)
  })
}

test('refused (400): an unknown field, and two effects in one rule', async () => {
  const shape = async (rule: object): Promise<readonly string[]> => {
    const refused = await postFault(app, rule)
    assert.equal(refused.status, 400)
    return refused.errors.map(({ attributePath, message }) => `${attributePath}: ${message}`)
  }
  assert.deepEqual(await shape({ match: { operationId: 'createVm' }, effect: unavailable }), [
    'match/operationId: is not a field of this object',
  ])
  assert.deepEqual(await shape({ effect: { ...unavailable, hangAtPercentage: 5 } }), [
    'effect: expected either error with arguments or hangAtPercentage, found both',
  ])
  assert.deepEqual(await shape({ match: {} }), ['effect: is required'])
})
