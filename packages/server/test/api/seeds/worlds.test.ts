/** Worlds made from a text, and taken along, over the control interface. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { Instance } from '../../../src/instance/instance.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { GiB } from '../../support/native-cluster.ts'
import { entitiesOf, factsOf } from '../../support/seeds.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

const worlds = '/control/v1/worlds'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app?.close())

const create = (name: string, body: object) =>
  app.call('POST', worlds, { body: { name, clock: { mode: 'frozen' }, ...body } })

async function exportOf(name: string): Promise<string> {
  const { status, data, errors } = await app.call('GET', `${worlds}/${name}/seed`)
  assert.equal(status, 200, JSON.stringify(errors))
  assert.equal(data.contentType, 'application/yaml')
  const chunks: Buffer[] = []
  for await (const chunk of data.content) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}

/** What the comparisons ask of a world. */
const inside = async (name: string): Promise<TestApp> => (await app.worlds.get(name)?.instance()) as Instance as never

test('a world that is exported and imported again is equal in every entity and fact', async () => {
  assert.equal((await create('origin', { preset: 'lab' })).status, 201)
  const text = await exportOf('origin')
  const made = await create('copy', { seed: text })
  assert.equal(made.status, 201, JSON.stringify(made.errors))
  const [origin, copy] = [await inside('origin'), await inside('copy')]
  assert.deepEqual([...(await entitiesOf(copy))], [...(await entitiesOf(origin))])
  assert.deepEqual([...(await factsOf(copy))], [...(await factsOf(origin))])
})

test('every fault of a seed is reported with line, column and path, and no world is created', async () => {
  const refused = await create('broken', { seed: 'extends: tiny\nclusters:\n  - { name: a, hosst: 2 }\nvms: many\n' })
  assert.equal(refused.status, 400)
  const told = refused.errors.map(({ message }) => message).join('\n')
  assert.match(told, /line 3, column 16: clusters\[0\]\.hosst: is not known here; did you mean "hosts"\?/)
  assert.match(told, /line 4, column 6: vms: expected/)
  const unresolved = await create('broken', { seed: 'extends: tiny\nvms: [{ name: a, nics: [nte] }]\n' })
  assert.equal(unresolved.status, 400)
  assert.match(
    unresolved.errors[0]?.message ?? '',
    /line 2, column 25: vms\[0\]\.nics\[0\]: "nte" is none of the subnets/,
  )
  assert.equal((await app.call('GET', `${worlds}/broken`)).status, 404)
  assert.equal((await create('broken', { seed: 'extends: tiny\n' })).status, 201, 'the name is free')
})

test('other worlds answer while a long seed is read and validated', async () => {
  const row = (index: number, key: unknown): string =>
    `    - ${JSON.stringify({ extId: `11111111-1111-4111-8111-${String(index).padStart(12, '0')}`, key, value: 'v' })}\n`
  const rows = Array.from({ length: 20_000 }, (_, index) => row(index, 'k')).join('')
  const seed = `entities:\n  Category:\n${rows}${row(20_000, 7)}`
  let refused: CallResult | undefined
  const asked = create('long', { seed }).then((answer) => {
    refused = answer
  })
  let answered = 0
  for (; refused === undefined; answered++) {
    // As over a socket: each request comes in a turn of its own.
    await new Promise(setImmediate)
    assert.equal((await app.call('GET', '/platform/v4.3/config/categories?$limit=1')).status, 200)
  }
  await asked
  // It came to nothing: all the time was that of reading.
  assert.match(
    refused.errors[0]?.message ?? '',
    /line 20003, column 61: entities\.Category: key: expected text, found 7/,
  )
  assert.ok(answered > 20, `${answered} answers`)
})

/** In a world where tasks take their time. */
async function startsSlowTask(world: string): Promise<void> {
  const { dispatch } = app.worlds.get(world)!
  const body = { name: 'slow', memorySizeBytes: GiB, cluster: { extId: seedId('cluster/tiny') } }
  const { reply } = await dispatch({
    method: 'POST',
    path: '/vmm/v4.2/ahv/config/vms',
    query: '',
    headers: {
      authorization: `Basic ${Buffer.from(`admin:${app.config.adminPassword}`).toString('base64')}`,
      contentType: 'application/json',
      requestId: randomUUID(),
    },
    address: '192.0.2.1',
    profile: 'spec',
    unknown: 'refuse',
    readBody: async () => new TextEncoder().encode(JSON.stringify(body)),
  })
  assert.equal(reply.status, 202)
}

test('a world with an unfinished task is not exported: 409 names the task, its progress, and a remedy', async () => {
  assert.equal((await create('busy', { preset: 'tiny', durations: 'natural' })).status, 201)
  await startsSlowTask('busy')
  const refused = await app.call('GET', `${worlds}/busy/seed`)
  assert.equal(refused.status, 409)
  assert.match(
    refused.errors[0]?.message ?? '',
    /1 task has not ended: .*Create.* \([-0-9a-f]{36}, (?:QUEUED|RUNNING), \d+ %\)\. The clock of this world is frozen: advance it .*cancel.*fork/i,
  )
})

test('an export waits for tasks as long as requested', async () => {
  assert.equal((await create('ending', { preset: 'tiny', durations: 'natural' })).status, 201)
  await startsSlowTask('ending')
  let answered = false
  const asked = app.call('GET', `${worlds}/ending/seed?within=PT1M`).then((answer) => {
    answered = true
    return answer
  })
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  assert.equal(answered, false)
  const moved = await app.call('POST', `${worlds}/ending/clock/$actions/advance`, { body: { duration: 'PT10M' } })
  assert.equal(moved.status, 200)
  const { status, data, errors } = await asked
  assert.equal(status, 200, JSON.stringify(errors))
  let text = ''
  for await (const chunk of data.content) text += Buffer.from(chunk).toString()
  assert.match(text, /"name":"slow"/)
})

test('an export that waits for tasks is refused when its world is reset', async () => {
  assert.equal((await create('leaving', { preset: 'tiny', durations: 'natural' })).status, 201)
  await startsSlowTask('leaving')
  const asked = app.call('GET', `${worlds}/leaving/seed?within=PT1M`)
  assert.equal((await app.call('POST', `${worlds}/leaving/$actions/reset`)).status, 200)
  assert.equal((await asked).status, 503)
})

test('a wait that is not a duration is refused', async () => {
  const refused = await app.call('GET', `${worlds}/default/seed?within=soon`)
  assert.equal(refused.status, 400)
  assert.match(refused.errors[0]?.message ?? '', /expected an ISO 8601 duration such as PT30S, found "soon"/)
})

test('the example of the how-to creates the world that it describes', async () => {
  const page = readFileSync(
    fileURLToPath(new URL('../../../../../docs/how-to/write-a-seed.md', import.meta.url)),
    'utf8',
  )
  const text = /```yaml\n(.*?)```/s.exec(page)?.[1] as string
  const described = await startApp({ config: { seed: { text } } })
  assert.equal((await described.call('GET', '/vmm/v4.2/ahv/config/vms?$limit=1')).total, 200)
  await checkInvariants(described)
  await described.close()
})
