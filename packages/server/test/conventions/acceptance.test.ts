/**
 * The acceptance statements of the conventions, each a test whose title begins with its number. Proven elsewhere:
 *
 *  2        test/http/envelope.test.ts
 *  4        test/http/envelope.test.ts
 * 11        test/restart/answers.test.ts; under load test/restart/load.test.ts
 * 20        test/conventions/operations.test.ts
 * 23        test/api/iam/credentials.test.ts
 * 24        test/api/iam/key.test.ts
 * 25        test/api/iam/access.test.ts
 * 26        test/restart/<namespace>.test.ts: every step of every definition
 * 27        test/restart/undone.test.ts: every definition; test/api/vmm/vm-crash.test.ts
 * 31, 32    test/api/platform/batch.test.ts; with 500 elements test/api/platform/batch-of-500.test.ts
 * 33        test/api/platform/batch-restart.test.ts; killed test/restart/batches.test.ts
 * 34        test/api/clustermgmt/versions.test.ts
 * 35        test/http/envelope.test.ts
 * 36        test/api/storage/volumes.test.ts
 * 37        test/conventions/secrets.test.ts
 * 38        test/http/envelope.test.ts, test/conventions/hostile.test.ts
 *
 * Source: behaviour conventions 25.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { contract } from '@hyperplane/contract'
import { clustermgmt, ids, setFault } from '../support/clustermgmt.ts'
import { asyncCreations } from '../support/creations.ts'
import { factsById } from '../support/facts.ts'
import { http } from '../support/http.ts'
import { aUser } from '../support/identities.ts'
import { checkInvariants } from '../support/invariants.ts'
import {
  aNativeCluster,
  aVm,
  change,
  changed,
  emptyDisk,
  type NativeCluster,
  postVm,
} from '../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../support/start-app.ts'

const categories = '/platform/v4.3/config/categories'
const unknownId = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const list = (query: string): Promise<CallResult> =>
  app.call(
    'GET',
    `${categories}?${new URLSearchParams(query === '' ? {} : Object.fromEntries([query.split(/=(.*)/s).slice(0, 2)]))}`,
  )

/** A category that exists; every test has its own key. */
async function aCategory(
  body: object = {},
): Promise<{ path: string; etag: string; body: { key: string; value: string } }> {
  const made = { key: `k-${randomUUID().slice(0, 8)}`, value: 'v', ...body }
  const created = await app.call('POST', categories, { body: made })
  assert.equal(created.status, 201, JSON.stringify(created.errors))
  return { path: `${categories}/${created.data.extId}`, etag: created.etag as string, body: made }
}

test('1 any route without credentials: 401 in the envelope with WWW-Authenticate and AppMessages, the same bytes for unknown user and wrong password', async () => {
  const bytes = new Set<string>()
  for (const operation of contract.flatMap((namespace) => namespace.operations)) {
    const path = `/api/${operation.namespace}/${operation.versions[0]}${operation.path.replace(/\{\w+\}/g, unknownId)}`
    const answer = await http(url, path, { method: operation.method, as: null })
    assert.equal(answer.status, 401, operation.key)
    assert.match(String(answer.headers['www-authenticate']), /^Basic realm="/, operation.key)
    assert.deepEqual(Object.keys(answer.json).sort(), ['data', 'metadata'], operation.key)
    assert.equal(answer.json.data.error[0].$objectType, `${operation.namespace}.v4.error.AppMessage`, operation.key)
    assert.equal(answer.json.data.error[0].errorGroup, 'AUTHENTICATION_REQUIRED', operation.key)
  }
  for (const as of [`nobody-${randomUUID()}:Wrong.Passw0rd!`, 'admin:Wrong.Passw0rd!']) {
    const headers = { 'SVC-Request-Id': unknownId }
    bytes.add((await http(url, `/api${categories}`, { as, headers })).text)
  }
  assert.equal(bytes.size, 1)
})

test('3 public names: $reserved and $objectType, a task reference of prism with a prefixed id, NOT FOUND', async () => {
  const profile = await app.call('POST', '/clustermgmt/v4.2/config/cluster-profiles', {
    body: { name: `p-${randomUUID()}` },
    requestId: randomUUID(),
  })
  await app.task(profile)
  const headers = { 'NTNX-Request-Id': randomUUID() }
  const subnet = await http(url, '/api/networking/v4.3/config/subnets', {
    method: 'POST',
    headers,
    body: JSON.stringify({ name: 'public', subnetType: 'VLAN', networkId: 3001 }),
  })
  assert.equal(subnet.status, 202, subnet.text)
  assert.equal(subnet.reason, 'ACCEPTED')
  assert.ok(subnet.json.$reserved && subnet.json.$objectType)
  assert.equal(subnet.json.data.$objectType, 'prism.v4.config.TaskReference')
  assert.ok(subnet.json.data.$reserved)
  assert.match(subnet.json.data.extId, /^ZXJnb24=:[0-9a-f-]{36}$/)
  const task = await http(url, `/api/prism/v4.3/config/tasks/${subnet.json.data.extId}`, { headers })
  assert.equal(task.status, 200, task.text)
  assert.equal(task.json.data.extId, subnet.json.data.extId)
  await app.task(subnet.json.data.extId.slice('ZXJnb24=:'.length))
  const missing = await http(url, `/api/prism/v4.3/config/tasks/ZXJnb24=:${unknownId}`, { headers })
  assert.equal(missing.status, 404)
  assert.equal(missing.reason, 'NOT FOUND')
})

test('5 an object named prism:config:x has this name unchanged in both profiles', async () => {
  const name = 'prism:config:x'
  const cluster = await aNativeCluster(app)
  const vm = await aVm(app, cluster, { name })
  for (const agent of ['Nutanix-client/1', 'anything']) {
    const read = await http(url, `/api/vmm/v4.2/ahv/config/vms/${vm.extId}`, { headers: { 'User-Agent': agent } })
    assert.equal(read.headers['x-hyperplane-names'], agent === 'anything' ? 'spec' : 'public')
    assert.equal(read.json.data.name, name)
    const filtered = await http(
      url,
      `/api/vmm/v4.2/ahv/config/vms?$filter=${encodeURIComponent(`name eq '${name}'`)}`,
      {
        headers: { 'User-Agent': agent },
      },
    )
    assert.deepEqual(
      filtered.json.data.map((found: any) => found.extId),
      [vm.extId],
    )
  }
})

test('6 a PUT with the tag succeeds with a new tag; again with the old one 412, without 428, an unknown id without a tag 404', async () => {
  const { path, body } = await aCategory()
  const ifMatch = (await app.call('GET', path)).etag as string
  const put = (options: object, target = path): Promise<CallResult> =>
    app.call('PUT', target, { body: { ...body, description: 'd' }, ...options })
  const changedOnce = await put({ ifMatch })
  assert.equal(changedOnce.status, 200)
  assert.notEqual((await app.call('GET', path)).etag, ifMatch)
  assert.equal((await put({ ifMatch })).status, 412)
  assert.equal((await put({})).status, 428)
  assert.equal((await put({}, `${categories}/${unknownId}`)).status, 404)
})

test('7 of 20 concurrent PUTs with one tag exactly one succeeds, 19 get 412', async () => {
  const { path, etag, body } = await aCategory()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      app.call('PUT', path, { ifMatch: etag, body: { ...body, description: String(index) } }),
    ),
  )
  const statuses = answers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [200, ...Array(19).fill(412)])
})

test('8 If-Match: * and a weak tag are 412', async () => {
  const { path, etag, body } = await aCategory()
  for (const ifMatch of ['*', `W/${etag}`])
    assert.equal((await app.call('PUT', path, { ifMatch, body })).status, 412, ifMatch)
  assert.equal((await app.call('PUT', path, { ifMatch: etag, body })).status, 200)
})

test('9 a POST with one request id twice makes one entity, the second marked replayed; another body is 422, another identity makes its own', async () => {
  const requestId = randomUUID()
  const body = { key: 'once', value: randomUUID().slice(0, 8) }
  const send = (as?: string): Promise<any> =>
    http(url, `/api${categories}`, {
      method: 'POST',
      headers: { 'SVC-Request-Id': requestId },
      body: JSON.stringify(body),
      ...(as === undefined ? {} : { as }),
    })
  const first = await send()
  const second = await send()
  assert.equal(first.status, 201)
  assert.equal(second.status, 201)
  assert.equal(second.text, first.text)
  assert.equal(second.headers.location, first.headers.location)
  assert.equal(second.headers.etag, first.headers.etag)
  assert.equal(first.headers['idempotent-replayed'], undefined)
  assert.equal(second.headers['idempotent-replayed'], 'true')
  const other = await app.call('POST', categories, { requestId, body: { ...body, value: 'other' } })
  assert.equal(other.status, 422)
  assert.equal(other.errors[0]?.code, 'PLAT-10020')
  const someone = await aUser(app, ['Super Admin'])
  const theirs = await app.call('POST', categories, {
    requestId,
    body: { ...body, value: `${body.value}-2` },
    as: someone,
  })
  assert.equal(theirs.status, 201)
  assert.notEqual(theirs.data.extId, first.json.data.extId)
})

test('10 ten concurrent POSTs with one id: one entity, ten equal answers', async () => {
  const requestId = randomUUID()
  const body = JSON.stringify({ key: 'ten', value: randomUUID().slice(0, 8) })
  const answers = await Promise.all(
    Array.from({ length: 10 }, () =>
      http(url, `/api${categories}`, { method: 'POST', headers: { 'SVC-Request-Id': requestId }, body }),
    ),
  )
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
  assert.equal(new Set(answers.map(({ text }) => text)).size, 1)
  assert.equal((await list("$filter=key eq 'ten'")).total, 1)
})

test('12 a PUT refused with 409 succeeds with the same id and body once the cause is gone', async () => {
  const taken = await aCategory()
  const mine = await aCategory({ key: taken.body.key, value: 'mine' })
  const sent = { requestId: randomUUID(), ifMatch: mine.etag, body: { ...mine.body, value: taken.body.value } }
  assert.equal((await app.call('PUT', mine.path, sent)).status, 409)
  assert.equal((await app.call('DELETE', taken.path)).status, 204)
  const retried = await app.call('PUT', mine.path, sent)
  assert.equal(retried.status, 200, JSON.stringify(retried.errors))
  assert.equal(retried.replayed, undefined)
})

test('13 a GET with one request id twice: the second shows the change in between', async () => {
  const { path, etag, body } = await aCategory()
  const headers = { 'SVC-Request-Id': randomUUID() }
  assert.equal((await http(url, `/api${path}`, { headers })).json.data.description, undefined)
  assert.equal((await app.call('PUT', path, { ifMatch: etag, body: { ...body, description: 'new' } })).status, 200)
  assert.equal((await http(url, `/api${path}`, { headers })).json.data.description, 'new')
})

test('14 every async create: a GET of Location directly after the 202 is 200', async () => {
  const readAtOnce = async (on: TestApp, seed: 'demo' | 'empty'): Promise<void> => {
    for (const [operation, creation] of asyncCreations(on, seed)) {
      const started = await creation()
      assert.equal(started.status, 202, `${operation}: ${JSON.stringify(started.errors)}`)
      const read = await on.call('GET', started.location as string)
      assert.equal(read.status, 200, operation)
      assert.equal(read.data.extId, started.data.extId, operation)
      const task = await on.task(started)
      assert.equal(task.status, 'SUCCEEDED', `${operation}: ${JSON.stringify(task.errorMessages)}`)
    }
  }
  await readAtOnce(app, 'demo')
  const empty = await startApp({ config: { seed: 'empty' } })
  try {
    await readAtOnce(empty, 'empty')
  } finally {
    await empty.close()
  }
})

test('15 $limit=0, 101, abc and $page=-1 are 400; a page past the end is empty with the right total', async () => {
  for (const option of ['$limit=0', '$limit=101', '$limit=abc', '$page=-1'])
    assert.equal((await list(option)).status, 400, option)
  const total = (await app.call('GET', categories)).total
  const past = await list('$page=100000')
  assert.equal(past.status, 200)
  assert.deepEqual(past.data, [])
  assert.equal(past.total, total)
})

test('16 pages of 7 over 100 entities while 50 are created: each of the 100 once', async () => {
  const key = `walk-${randomUUID().slice(0, 8)}`
  const create = (value: string): Promise<CallResult> => app.call('POST', categories, { body: { key, value } })
  const ids = new Set<string>()
  for (let index = 0; index < 100; index++) ids.add((await create(`a${index}`)).data.extId)
  const seen: string[] = []
  let created = 0
  for (let page = 0; ; page++) {
    const [answer] = await Promise.all([
      app.call('GET', `${categories}?$page=${page}&$limit=7&$filter=${encodeURIComponent(`key eq '${key}'`)}`),
      ...(created < 50
        ? [create(`b${created++}`), create(`b${created++}`), create(`b${created++}`), create(`b${created++}`)].slice(
            0,
            4,
          )
        : []),
    ])
    seen.push(...(answer as CallResult).data.map((entry: any) => entry.extId))
    if ((answer as CallResult).data.length < 7) break
  }
  assert.deepEqual(seen.filter((extId) => ids.has(extId)).sort(), [...ids].sort())
  assert.equal(new Set(seen).size, seen.length)
})

test('17 filters: quotes, colons, blanks, infix, bare UUIDs and foreign enum namespaces are accepted; unknown fields, values and open quotes are 400 with a position', async () => {
  const accepted = [
    "key eq 'a''b'",
    "key eq 'x:x'",
    "  key   eq  'x'  and( value eq 'y' )",
    "key contains 'x'",
    `extId eq ${unknownId}`,
    "type eq Any.Other.Place'USER'",
  ]
  for (const filter of accepted) {
    const answer = await list(`$filter=${filter}`)
    assert.equal(answer.status, 200, `${filter}: ${JSON.stringify(answer.errors)}`)
  }
  for (const filter of ["nonsense eq 'x'", "type eq Platform.Config.CategoryType'NONSENSE'", "key eq 'open"]) {
    const answer = await list(`$filter=${filter}`)
    assert.equal(answer.status, 400, filter)
    assert.ok(answer.errors.length > 0, filter)
    assert.equal(answer.errors[0]?.code, 'PLAT-10010', filter)
    assert.ok(Number(answer.errors[0]?.argumentsMap?.['position']) >= 1, filter)
  }
})

test('18 a function of an absent value leaves the row out, ne keeps it', async () => {
  const key = `null-${randomUUID().slice(0, 8)}`
  // Categories cannot be filtered by their descriptions; VMs can.
  const cluster = await aNativeCluster(app)
  const names = async (filter: string): Promise<string[]> =>
    (
      await app.call(
        'GET',
        `/vmm/v4.2/ahv/config/vms?$filter=${encodeURIComponent(`startswith(name,'${key}') and ${filter}`)}`,
      )
    ).data
      .map((vm: any) => vm.name)
      .sort()
  await aVm(app, cluster, { name: `${key}-without` })
  await aVm(app, cluster, { name: `${key}-with`, description: 'other' })
  assert.deepEqual(await names("not contains(description,'x')"), [`${key}-with`])
  assert.deepEqual(await names("description ne 'x'"), [`${key}-with`, `${key}-without`])
})

test('19 a filter of depth 21 or of 301 nodes is 400, and so are 10,000 parentheses; the server goes on', async () => {
  const nested = (depth: number): string => `${'not ('.repeat(depth)}key eq 'x'${')'.repeat(depth)}`
  assert.equal((await list(`$filter=${nested(21)}`)).status, 400)
  const many = Array.from({ length: 151 }, () => "key eq 'x'").join(' or ')
  assert.equal((await list(`$filter=${many}`)).status, 400)
  assert.equal((await list(`$filter=${'('.repeat(10_000)}`)).status, 400)
  assert.equal((await list("$filter=key eq 'x'")).status, 200)
})

test('21 a body with three faults: one 400 that names three attribute paths', async () => {
  const answer = await app.call('POST', categories, { body: { key: 5, type: 'NONSENSE', description: 'd' } })
  assert.equal(answer.status, 400)
  assert.deepEqual(answer.errors.map((error) => error.attributePath).sort(), ['key', 'type', 'value'])
  const wire = await http(url, `/api${categories}`, {
    method: 'POST',
    body: JSON.stringify({ key: 5, type: 'NONSENSE' }),
  })
  assert.equal(wire.json.data.error.$objectType, 'platform.v4.error.SchemaValidationError')
  assert.equal(wire.json.data.error.validationErrorMessages.length, 3)
})

test('22 eleven createCategory calls within a second at limit 10: one 429 with Retry-After; the next window succeeds, another identity is unaffected', async () => {
  let now = 1_000_000
  const limited = await startApp({
    config: { rateLimits: 'on' },
    realClock: { now: () => now, iso: () => '', sleep: async () => undefined, setTimer: () => () => undefined },
  })
  try {
    const someone = await aUser(limited, ['Super Admin'])
    const create = (as?: string): Promise<CallResult> =>
      limited.call('POST', categories, {
        body: { key: 'rate', value: randomUUID() },
        ...(as === undefined ? {} : { as }),
      })
    now += 60_000
    const answers: CallResult[] = []
    for (let count = 0; count < 11; count++) answers.push(await create())
    assert.deepEqual(
      answers.map(({ status }) => status),
      [...Array(10).fill(201), 429],
    )
    const refused = answers[10] as CallResult
    assert.ok(Number(refused.headers['Retry-After']) >= 1)
    for (const name of [
      'X-Api-Ratelimit-Limit',
      'X-Api-Ratelimit-Remaining',
      'X-Api-Ratelimit-Reset',
      'X-Ratelimit-Limit',
    ]) {
      assert.ok(refused.headers[name] !== undefined, name)
    }
    assert.equal((await create(someone)).status, 201)
    now += 1000
    assert.equal((await create()).status, 201)
  } finally {
    await limited.close()
  }
})

test('28 cancel of a running cancelable task: 200, then CANCELED, nothing left, a message; again 409', async () => {
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const gated = await startApp({
    beforeStep: async (definition, step, phase) => {
      if (definition !== 'vmm.create-vm' || step !== 'create disks' || phase !== 'record') return
      reached.resolve()
      await goOn.promise
    },
  })
  try {
    const vms = async (): Promise<unknown> => (await gated.call('GET', '/vmm/v4.2/ahv/config/vms?$limit=100')).data
    const before = [await vms(), await factsById(gated)]
    const cluster = { extId: ids.native }
    const started = await postVm(gated, cluster as NativeCluster, { name: 'cancelled', disks: [emptyDisk()] })
    await reached.promise
    assert.equal((await gated.call('GET', started.location as string)).data.isCancelable, true)
    const cancel = (): Promise<CallResult> =>
      gated.call('POST', `${started.location}/$actions/cancel`, { requestId: randomUUID() })
    const first = await cancel()
    assert.equal(first.status, 200, JSON.stringify(first.errors))
    assert.equal(JSON.stringify(first.data).includes('TASK_CANCELLATION_SUCCESS'), true)
    assert.equal((await cancel()).status, 200)
    assert.equal((await gated.call('GET', started.location as string)).data.status, 'CANCELING')
    goOn.resolve()
    const task = await gated.task(started)
    assert.equal(task.status, 'CANCELED')
    assert.ok(task.errorMessages.length > 0)
    assert.equal((await cancel()).status, 409)
    assert.deepEqual([await vms(), await factsById(gated)], before)
    await checkInvariants(gated)
  } finally {
    goOn.resolve()
    await gated.close()
  }
})

test('29 two tasks on one VM run in order; on two VMs they overlap', async () => {
  const entered: string[] = []
  let both = Promise.withResolvers<void>()
  let expected = 1
  const gated = await startApp({
    beforeStep: async (definition, step, phase) => {
      if (definition !== 'vmm.power-on-vm' || step !== 'start' || phase !== 'run') return
      entered.push(step)
      if (entered.length >= expected) both.resolve()
      await both.promise
    },
  })
  try {
    const cluster = await aNativeCluster(gated)
    const [one, two] = [await aVm(gated, cluster, { name: 'one' }), await aVm(gated, cluster, { name: 'two' })]
    // Neither gets past the gate before the other has come to it.
    expected = 2
    const ends = await Promise.all([changed(gated, one.extId, 'power-on'), changed(gated, two.extId, 'power-on')])
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['SUCCEEDED', 'SUCCEEDED'],
    )
    await changed(gated, one.extId, 'power-off')
    both = Promise.withResolvers()
    const on = await change(gated, one.extId, 'power-on')
    const off = await change(gated, one.extId, 'power-off')
    assert.equal(off.status, 202, JSON.stringify(off.errors))
    while (entered.length < 3) await new Promise((resolve) => setImmediate(resolve))
    const waiting = await gated.call('GET', off.location as string)
    assert.equal(waiting.data.status, 'QUEUED')
    both.resolve()
    const first = await gated.task(on)
    const second = await gated.task(off)
    assert.deepEqual([first.status, second.status], ['SUCCEEDED', 'SUCCEEDED'])
    assert.ok(second.startedTime >= first.completedTime)
  } finally {
    both.resolve()
    await gated.close()
  }
})

test('30 a dry run changes no tag, list or capacity; the same request without it succeeds; a blocked one is FAILED with the cause', async () => {
  const profiles = `${clustermgmt}/cluster-profiles`
  const nameServer = (value: string): object => ({ ipv4: { value, prefixLength: 32 } })
  const made = await app.task(
    await app.call('POST', profiles, {
      body: { name: `dry-${randomUUID()}`, nameServerIpList: [nameServer('10.9.9.9')] },
      requestId: randomUUID(),
    }),
  )
  const profile = `${profiles}/${made.entitiesAffected[0].extId}`
  const world = async (): Promise<unknown> => {
    const lists: unknown[] = []
    for (const path of [
      profiles,
      `${clustermgmt}/clusters`,
      `${clustermgmt}/storage-containers`,
      '/networking/v4.3/config/subnets',
    ]) {
      lists.push((await app.call('GET', `${path}?$limit=100`)).data)
    }
    return [
      lists,
      (await app.call('GET', profile)).etag,
      (await app.call('GET', `${clustermgmt}/clusters/${ids.native}`)).etag,
    ]
  }
  const apply = async (query: string): Promise<any> => {
    const body = { clusters: [{ uuid: ids.native }] }
    return app.task(await app.call('POST', `${profile}/$actions/apply${query}`, { body, requestId: randomUUID() }))
  }
  const before = await world()
  const rehearsed = await apply('?$dryrun=true')
  assert.equal(rehearsed.status, 'SUCCEEDED')
  assert.match(rehearsed.operation, /-dryrun$/)
  assert.deepEqual(await world(), before)
  assert.equal((await apply('')).status, 'SUCCEEDED')
  assert.notDeepEqual(await world(), before)
  await setFault(app, ids.native, { isDown: true })
  try {
    const sent = {
      body: { nameServerIpList: [nameServer('10.9.9.8')] },
      ifMatch: (await app.call('GET', profile)).etag as string,
      requestId: randomUUID(),
    }
    const blocked = await app.task(await app.call('PUT', `${profile}?$dryrun=true`, sent))
    assert.equal(blocked.status, 'FAILED')
    assert.equal(blocked.errorMessages[0].errorGroup, 'CLUSTER_UNREACHABLE')
  } finally {
    await setFault(app, ids.native)
  }
})
