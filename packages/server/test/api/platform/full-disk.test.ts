/** A disk that is full: what cannot be written is refused with the cause, all else goes on, and with room again so does everything. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { fullDisk } from '../../support/full-disk.ts'
import { http } from '../../support/http.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aWorld, worlds } from '../../support/worlds.ts'

const categories = '/platform/v4.3/config/categories'
/** More than the free pages of a file hold. */
const long = 'x'.repeat(250)

let app: TestApp
let url: string
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, logLevel: 'silent' })
  url = (await app.listen()).url
})
after(() => app.close())

let count = 0
const post = (value = `v${++count}`, of = {}) =>
  app.call('POST', categories, { body: { key: 'room', value, description: long }, ...of })
const ready = async (): Promise<[number, string]> => {
  const { status, text } = await http(url, '/health/ready', { as: null })
  return [status, text.trim()]
}
const valuesOf = async (): Promise<string[]> => {
  const { data } = await app.call('GET', `${categories}?$filter=key eq 'room'&$limit=100`)
  return data.map(({ value }: { value: string }) => value).sort()
}

/** Posts until the free pages of the file are used up. */
async function untilRefused(): Promise<{ written: string[]; refused: Awaited<ReturnType<typeof post>> }> {
  const written: string[] = []
  for (let tries = 0; tries < 500; tries++) {
    const value = `v${++count}`
    const answer = await post(value)
    if (answer.status !== 201) return { written, refused: answer }
    written.push(value)
  }
  assert.fail('the disk is never full')
}

test('a mutation is refused with 503 and the cause, reads succeed, readiness names the cause, and the service recovers by itself', async (t) => {
  const disk = fullDisk(t, (file) => file.endsWith('world.sqlite'))
  assert.deepEqual(await ready(), [200, 'ready'])
  const before = await valuesOf()
  disk.fill()
  const { written, refused } = await untilRefused()
  assert.equal(refused.status, 503)
  assert.match(
    refused.errors[0]?.message ?? '',
    /^The disk that holds the data folder is full\. Nothing was changed: free room/,
  )
  assert.equal(refused.headers['Retry-After'], '5')
  assert.deepEqual(await valuesOf(), [...before, ...written].sort())
  assert.deepEqual(await ready(), [503, 'not ready: The disk that holds the data folder is full.'])
  const overHttp = await http(url, `/api${categories}`, {
    method: 'POST',
    // The record of the request id needs room as well, as it did in the call that was refused.
    headers: { 'SVC-Request-Id': randomUUID() },
    body: JSON.stringify({ key: 'room', value: 'over-http', description: long }),
  })
  assert.equal(overHttp.status, 503, overHttp.text)
  assert.equal(overHttp.json.data.error[0].code, 'PLAT-10503')

  disk.free()
  assert.deepEqual(await ready(), [200, 'ready'])
  assert.equal((await post('again')).status, 201)
  assert.deepEqual(await valuesOf(), [...before, ...written, 'again'].sort())
})

test('concurrent requests on a full disk are done completely or not at all, and each acknowledged one is kept', async (t) => {
  const disk = fullDisk(t, (file) => file.endsWith('world.sqlite'))
  const before = await valuesOf()
  disk.fill()
  const values = Array.from({ length: 120 }, () => `v${++count}`)
  const answers = await Promise.all(values.map((value) => post(value)))
  assert.deepEqual(
    answers.filter(({ status }) => status !== 201 && status !== 503),
    [],
  )
  assert.ok(answers.some(({ status }) => status === 503))
  const written = values.filter((_, index) => answers[index]?.status === 201)
  disk.free()
  assert.deepEqual(await valuesOf(), [...before, ...written].sort().slice(0, 100))
  assert.equal((await post()).status, 201)
})

test('other worlds work while the store of one is full', async (t) => {
  await aWorld(app, 'roomy')
  const disk = fullDisk(t, (file) => file.endsWith('world.sqlite') && !file.includes('roomy'))
  disk.fill()
  await untilRefused()
  assert.equal((await post(undefined, { world: 'roomy' })).status, 201)
  disk.free()
})

test('the creation of a world that cannot be listed is 503, and succeeds once there is room', async (t) => {
  const disk = fullDisk(t, (file) => file.endsWith('worlds.sqlite'))
  disk.fill()
  let refused: Awaited<ReturnType<typeof post>> | undefined
  const names: string[] = []
  for (let index = 0; refused === undefined && index < 60; index++) {
    const answer = await app.call('POST', worlds, { body: { name: `full-${index}`, preset: 'empty' } })
    if (answer.status === 201) names.push(`full-${index}`)
    else refused = answer
  }
  assert.equal(refused?.status, 503)
  assert.match(refused?.errors[0]?.message ?? '', /is full/)
  disk.free()
  assert.equal(
    (await app.call('POST', worlds, { body: { name: `full-${names.length}`, preset: 'empty' } })).status,
    201,
  )
})

for (const phase of ['run', 'record'] as const)
  test(`tasks whose commits fail before the ${phase} of a step go on when there is room: none is failed, stuck or done twice`, async (t) => {
    const disk = fullDisk(t, (file) => file.endsWith('world.sqlite'))
    let isBegun = false
    const demo = await startApp({
      logLevel: 'silent',
      beforeStep(_, __, at) {
        if (at !== phase || isBegun) return
        isBegun = true
        disk.refuse(12)
      },
    })
    t.after(() => demo.close())
    const vpcs = '/networking/v4.3/config/vpcs'
    const { total = 0 } = await demo.call('GET', vpcs)
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => demo.call('POST', vpcs, { body: { name: `vpc-${index}` } })),
    )
    for (const answer of answers) assert.equal((await demo.task(answer)).status, 'SUCCEEDED')
    assert.ok(isBegun)
    assert.equal((await demo.call('GET', vpcs)).total, total + answers.length)
    const bodies = answers.map((_, index) => demo.call('GET', `${vpcs}?$filter=name eq 'vpc-${index}'`))
    for (const { total: found } of await Promise.all(bodies)) assert.equal(found, 1)
    assert.equal(demo.runner.size(), 0)
    await checkInvariants(demo)
  })
