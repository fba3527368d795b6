/**
 * What holds for every operation of the control interface, generated from its contract: an operation without a case here fails.
 * Source: DESIGN D; behaviour conventions 1, 2.3, 4, 5, 6, 9, 14, 16.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Operation } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import { aUser as aPerson, aRobot, grant, type Person } from '../api/iam/people.ts'
import {
  type Asking,
  facts,
  refusesPagesOutOfRange,
  refusesStrangers,
  refusesUnknownFields,
  refusesUnknownOptions,
} from '../support/every-operation.ts'
import { type HttpResult, http } from '../support/http.ts'
import { aUser } from '../support/identities.ts'
import { adminPassword, type CallOptions, type CallResult, startApp, type TestApp } from '../support/start-app.ts'
import { aWorld, inside, worlds } from '../support/worlds.ts'

const { operations } = control
const subject = 'subject'
const someId = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'

/** What its request says beside the name of a world, so that it succeeds. */
interface Case {
  readonly body?: (world: string) => object
  /** The other variables of its path, made for it in this world. */
  readonly ids?: (world: string) => Promise<Readonly<Record<string, string>>>
}

const rule = { match: { operation: 'vmm.createVm' }, effect: { dropConnection: 'BEFORE_COMMIT' } }
const event = { type: 'CONTENT_SERVER_FAILS', server: 'images.example.com' }
const newWorld = (more: object = {}) => ({ name: aName(), ...more })

const aRule = async (world: string) => idOf(await post(`${worlds}/${world}/faults`, rule))
const anEvent = async (world: string) => idOf(await post(`${worlds}/${world}/events`, { event, after: 'PT1H' }))
async function aCall(world: string) {
  const called = await http(url, '/api/platform/v4.3/config/categories', { headers: { 'x-world': world } })
  assert.equal(called.status, 200, called.text)
  return { sequence: '1' }
}

/** By operation. */
const cases: Readonly<Record<string, Case>> = {
  advanceClock: { body: () => ({ duration: 'PT1M' }) },
  assertCalls: { body: () => ({ atLeast: 0 }) },
  clearJournal: {},
  createFaultRule: { body: () => rule },
  createWorld: { body: () => newWorld({ preset: 'empty' }) },
  createWorldEvent: { body: () => ({ event }) },
  deleteFaultRule: { ids: aRule },
  deleteFaultRules: {},
  deleteWorld: {},
  deleteWorldEvent: { ids: anEvent },
  exportJournal: {},
  exportWorld: {},
  forkWorld: { body: () => newWorld() },
  freezeClock: {},
  getCall: { ids: aCall },
  getClock: {},
  getFaultRule: { ids: aRule },
  getJournal: {},
  getWorld: {},
  getWorldEvent: { ids: anEvent },
  importWorld: { body: () => newWorld({ seed: 'extends: empty\n' }) },
  listCalls: {},
  listFaultRules: {},
  listWorldEvents: {},
  listWorlds: {},
  resetFaultRuleCounts: { ids: aRule },
  resetWorld: {},
  resumeClock: {},
  runClockToNextEvent: {},
  scaleClock: { body: () => ({ scale: 10 }) },
  streamJournal: {},
  updateFaultRule: { body: () => rule, ids: aRule },
  updateJournal: { body: () => ({ isRecording: true }) },
  updateWorld: { body: (name) => ({ name, description: 'changed' }) },
}

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
  await aWorld(app, subject)
})
after(() => app.close())

let named = 0
const aName = (): string => `world-${++named}`
const post = (path: string, body: object): Promise<CallResult> => app.call('POST', path, { body })
function idOf(made: CallResult): Readonly<Record<string, string>> {
  assert.equal(made.status, 201, facts(made))
  return { extId: made.data.extId }
}

const pathOf = (operation: Operation, world: string, ids: Readonly<Record<string, string>> = {}): string =>
  `/control/v1${operation.path.replace(/\{(\w+)\}/g, (_, name) => ({ worldName: world, sequence: '1', extId: someId, ...ids })[name as string] as string)}`

function contentOf({ id, form }: Operation, world: string): Pick<CallOptions, 'body' | 'form'> {
  const body = cases[id]?.body?.(world)
  if (body === undefined) return {}
  if (form === undefined) return { body }
  const parts = new FormData()
  for (const [name, value] of Object.entries(body)) parts.append(name, String(value))
  return { form: parts }
}

/** A request that succeeds, of a world of its own where it changes something. */
interface Request {
  readonly operation: Operation
  readonly world: string
  readonly path: string
  readonly content: Pick<CallOptions, 'body' | 'form'>
  /** Of what it changes, where its operation demands one. */
  readonly ifMatch?: string
}

async function aRequest(operation: Operation): Promise<Request> {
  const isBelowWorld = operation.path.includes('{worldName}')
  const world = operation.mutates && isBelowWorld ? aName() : subject
  if (world !== subject) await aWorld(app, world)
  const ids = await cases[operation.id]?.ids?.(world)
  const path = pathOf(operation, world, ids)
  const content = contentOf(operation, world)
  if (operation.ifMatch !== 'required') return { operation, world, path, content }
  const { etag } = await app.call('GET', path)
  assert.ok(etag, `${operation.key}: the tag of ${path}`)
  return { operation, world, path, content, ifMatch: etag }
}

const send = ({ operation, path, content, ifMatch }: Request, options: CallOptions = {}): Promise<CallResult> =>
  app.call(operation.method, path, { ...content, ...(ifMatch === undefined ? {} : { ifMatch }), ...options })

const asking: Asking = {
  operations,
  send: (operation, query = '', options = {}) =>
    app.call(operation.method, `${pathOf(operation, subject)}${query === '' ? '' : `?${query}`}`, options),
}

test('every operation of the control interface has a case here', () => {
  assert.deepEqual(Object.keys(cases).sort(), operations.map(({ id }) => id).sort())
})

test('every operation refuses a request without credentials with 401', () => refusesStrangers(asking))

test('every operation refuses whoever is no Super Admin with 403', async () => {
  for (const as of [
    await aUser(app),
    await aUser(app, ['Platform Admin', 'Virtual Machine Admin', 'Network Infra Admin']),
  ])
    for (const operation of operations) {
      const result = await asking.send(operation, '', { as })
      assert.equal(result.status, 403, `${operation.key}: ${facts(result)}`)
      assert.equal(result.errors[0]?.code, 'PLAT-10403')
    }
})

test('a Super Admin of another world is nobody to any operation: 401, and 403 where the name is known in default too', async () => {
  const known: Person = await aPerson(app, 'known-in-both')
  const forked = await app.call('POST', `${worlds}/default/$actions/fork`, { body: { name: 'elsewhere' } })
  assert.equal(forked.status, 201, facts(forked))
  const elsewhere = inside(app, 'elsewhere')
  await grant(elsewhere, 'Super Admin', known.extId)
  const { extId, apiKey } = await aRobot(elsewhere)
  await grant(elsewhere, 'Super Admin', extId)
  const cases: readonly [CallOptions, number][] = [
    [{ as: known.as }, 403],
    [{ apiKey }, 401],
  ]
  for (const [credentials, status] of cases) {
    const there = await elsewhere.call('GET', '/iam/v4.1.b2/authn/users', credentials)
    assert.equal(there.status, 200, facts(there))
    for (const operation of operations) {
      const result = await app.call(operation.method, pathOf(operation, 'elsewhere'), credentials)
      assert.equal(result.status, status, `${operation.key}: ${facts(result)}`)
    }
  }
})

test('every operation refuses an option that it does not know', () => refusesUnknownOptions(asking))

test('every body refuses fields that it does not have', () => refusesUnknownFields(asking))

test('every list refuses pages and limits out of range with 400', () => refusesPagesOutOfRange(asking))

test('a page beyond the end of any list is 200, empty, with the right total', async () => {
  for (const operation of operations.filter(({ paged }) => paged)) {
    const path = pathOf(operation, subject)
    const all = await app.call('GET', `${path}?$limit=1`)
    const beyond = await app.call('GET', `${path}?$page=1000000&$limit=100`)
    assert.deepEqual([beyond.status, beyond.data, beyond.total], [200, [], all.total], operation.key)
    assert.equal(typeof all.total, 'number')
  }
})

test('every operation below a world is 404 where there is none of that name, and 400 where there cannot be one', async () => {
  for (const operation of operations.filter(({ path }) => path.includes('{worldName}'))) {
    const content = contentOf(operation, 'nowhere')
    const unknown = await app.call(operation.method, pathOf(operation, 'nowhere'), content)
    assert.deepEqual(
      [unknown.status, unknown.errors[0]?.code],
      [404, 'CTRL-10002'],
      `${operation.key}: ${facts(unknown)}`,
    )
    assert.match(unknown.errors[0]?.message ?? '', /nowhere/)
    const impossible = await app.call(operation.method, pathOf(operation, 'no_where'), content)
    assert.equal(impossible.status, 400, `${operation.key}: ${facts(impossible)}`)
    assert.deepEqual(
      impossible.errors.map(({ attributePath }) => attributePath),
      ['worldName'],
      operation.key,
    )
  }
})

test('every operation on a rule, an event or a call is 404 where the world has none of that id', async () => {
  const below = operations.filter(({ path }) => /\{(extId|sequence)\}/.test(path))
  assert.ok(below.length >= 6)
  for (const operation of below) {
    const path = pathOf(operation, subject, { sequence: '1000000000' })
    const result = await app.call(operation.method, path, contentOf(operation, subject))
    assert.equal(result.status, 404, `${operation.key}: ${facts(result)}`)
    assert.match(result.errors[0]?.message ?? '', new RegExp(`${someId}|1000000000`), operation.key)
  }
})

test('every change answers a repeated request id as it answered first, and refuses it for another request', async () => {
  for (const operation of operations.filter(({ mutates }) => mutates)) {
    const request = await aRequest(operation)
    const requestId = randomUUID()
    const first = await send(request, { requestId })
    assert.equal(first.status, operation.status, `${operation.key}: ${facts(first)}`)
    assert.equal(first.replayed, undefined, operation.key)
    const again = await send(request, { requestId })
    assert.deepEqual(again, { ...first, replayed: true, warnings: again.warnings }, operation.key)
    // What is asked of worlds, and what is asked of this one, are remembered apart.
    const [path, body] =
      operation.stem === 'world'
        ? [worlds, newWorld()]
        : [`${worlds}/${request.world}/clock/$actions/advance`, { duration: 'PT7M' }]
    const other = await app.call('POST', path, { body, requestId })
    assert.deepEqual([other.status, other.errors[0]?.code], [422, 'PLAT-10020'], `${operation.key}: ${facts(other)}`)
  }
})

test('every change that demands a tag is 428 without one, 412 with another, and done with the right one', async () => {
  const demanding = operations.filter(({ ifMatch }) => ifMatch === 'required')
  assert.deepEqual(
    demanding.map(({ id }) => id).sort(),
    operations
      .filter(({ verb }) => verb === 'update')
      .map(({ id }) => id)
      .sort(),
  )
  for (const operation of demanding) {
    const request = await aRequest(operation)
    const verdict = async (ifMatch: string): Promise<string> => {
      const { status, errors } = await send(request, { ifMatch })
      return `${status} ${errors[0]?.code ?? ''}`.trim()
    }
    const tag = request.ifMatch as string
    assert.deepEqual(
      [await verdict(''), await verdict('"of-another"'), await verdict('*'), await verdict(`W/${tag}`)],
      ['428 PLAT-10004', '412 PLAT-10005', '412 PLAT-10005', '412 PLAT-10005'],
      operation.key,
    )
    assert.deepEqual([await verdict(tag), await verdict(tag)], ['200', '412 PLAT-10005'], operation.key)
  }
})

test('every other change of something with a tag compares one that is given', async () => {
  const tagged = operations.filter(
    ({ mutates, ifMatch, target, pathKinds, resource }) =>
      mutates &&
      ifMatch === 'optional' &&
      target !== undefined &&
      pathKinds[target] === resource?.kind &&
      resource?.derived !== true,
  )
  assert.ok(tagged.length >= 5)
  for (const operation of tagged) {
    const result = await send(await aRequest(operation), { ifMatch: '"of-another"' })
    assert.deepEqual([result.status, result.errors[0]?.code], [412, 'PLAT-10005'], `${operation.key}: ${facts(result)}`)
  }
})

test('every answer is an envelope: metadata and data of the declared types, in the names of the specification for all clients', async () => {
  for (const operation of operations) {
    if (operation.produces !== undefined) continue
    const answer = await overHttp(await aRequest(operation), { 'NTNX-Request-Id': randomUUID() })
    const about = `${operation.key}: ${answer.text.slice(0, 500)}`
    const { answer: shape, status, verb, resource } = operation
    assert.equal(answer.status, status, about)
    assert.deepEqual(
      [answer.headers['x-hyperplane-names'], answer.headers['cache-control']],
      ['spec', 'no-store'],
      about,
    )
    if (status === 204) {
      assert.equal(answer.text, '', about)
      continue
    }
    checkMetadata(answer, operation, about)
    assert.deepEqual(Object.keys(answer.json), ['metadata', 'data'], about)
    const item = shape?.type === 'list' ? shape.items : shape
    assert.ok(item?.type === 'object' && item.objectType !== undefined, about)
    for (const { $objectType } of [answer.json.data].flat()) assert.equal($objectType, item.objectType, about)
    if (verb === 'get' && resource?.derived !== true) assert.ok(answer.headers['etag'], about)
  }
})

test('every answer that is no envelope has the declared media type', async () => {
  const others = operations.filter(({ produces }) => produces !== undefined)
  assert.deepEqual(others.map(({ id }) => id).sort(), ['exportJournal', 'exportWorld', 'streamJournal'])
  for (const operation of others) {
    // One of them never ends: its head is all that is read.
    const stop = new AbortController()
    const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
    const answer = await fetch(url + pathOf(operation, subject), { signal: stop.signal, headers: { authorization } })
    stop.abort()
    const about = [
      answer.status,
      answer.headers.get('content-type')?.split(';')[0],
      answer.headers.get('cache-control'),
    ]
    assert.deepEqual(about, [200, operation.produces, 'no-store'], operation.key)
  }
})

test('every refusal is an envelope too: messages with a code, or the fields at fault', async () => {
  for (const operation of operations) {
    const request: Request = { operation, world: subject, path: pathOf(operation, subject), content: {} }
    const stranger = await overHttp(request, {}, null)
    assert.equal(stranger.status, 401, operation.key)
    assert.match(String(stranger.headers['www-authenticate']), /^Basic realm=/, operation.key)
    checkMetadata(stranger, undefined, operation.key)
    assert.equal(stranger.json.data.$objectType, 'control.v1.error.ErrorResponse', operation.key)
    const [message] = stranger.json.data.error
    assert.deepEqual([message.$objectType, message.code], ['control.v1.error.AppMessage', 'PLAT-10401'], operation.key)

    const malformed = await overHttp({ ...request, path: `${request.path}?nonsense=1` })
    assert.equal(malformed.status, 400, operation.key)
    checkMetadata(malformed, undefined, operation.key)
    const { error } = malformed.json.data
    assert.equal(error.$objectType, 'control.v1.error.SchemaValidationError', operation.key)
    assert.equal(error.path, request.path, operation.key)
    assert.ok(
      error.validationErrorMessages.some(({ attributePath }: any) => attributePath === 'nonsense'),
      operation.key,
    )
  }
})

test('where the control interface is off, every operation of it is 404, whoever asks', async () => {
  const plain = await startApp({ config: { control: 'off' } })
  try {
    const at = (await plain.listen()).url
    for (const operation of operations)
      for (const as of [null, undefined]) {
        const answer = await http(at, pathOf(operation, 'default'), {
          method: operation.method,
          ...(as === undefined ? {} : { as }),
        })
        assert.deepEqual([answer.status, answer.json.data.error[0].code], [404, 'PLAT-10001'], operation.key)
      }
  } finally {
    await plain.close()
  }
})

async function overHttp(
  { operation, path, content, ifMatch }: Request,
  headers: Readonly<Record<string, string>> = {},
  as?: null,
): Promise<HttpResult> {
  const form = content.form === undefined ? undefined : new Response(content.form)
  const body = form === undefined ? content.body && JSON.stringify(content.body) : await form.bytes()
  return http(url, path, {
    method: operation.method,
    ...(as === undefined ? {} : { as }),
    headers: {
      ...(form === undefined ? {} : { 'content-type': form.headers.get('content-type') as string }),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: body as string | Uint8Array }),
  })
}

function checkMetadata({ json }: HttpResult, operation: Operation | undefined, about: string): void {
  const { metadata } = json
  assert.equal(metadata.$objectType, 'common.v1.response.ApiResponseMetadata', about)
  const flags = Object.fromEntries(metadata.flags.map(({ name, value }: any) => [name, value]))
  const isPaginated = operation?.paged ?? false
  assert.deepEqual(flags, { hasError: operation === undefined, isPaginated, isTruncated: false }, about)
  assert.equal(typeof metadata.totalAvailableResults, isPaginated ? 'number' : 'undefined', about)
  const [self] = metadata.links
  assert.deepEqual([self.$objectType, self.rel], ['common.v1.response.ApiLink', 'self'], about)
  assert.ok(self.href.startsWith(`${url}/control/v1/worlds`), about)
}
