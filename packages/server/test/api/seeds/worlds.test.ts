/** Worlds made from a text, and taken along, over the control interface. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { seedId } from '../../../src/domains/seed.ts'
import type { Instance } from '../../../src/instance.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { GiB } from '../../support/native-cluster.ts'
import { entitiesOf, factsOf } from '../../support/seeds.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

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

test('every fault of a seed is told with its line, column and path, and no world is made', async () => {
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

test('a world with an unfinished task is not exported: 409, which names it', async () => {
  assert.equal((await create('busy', { preset: 'tiny', durations: 'natural' })).status, 201)
  const { dispatch } = app.worlds.get('busy')!
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
  const refused = await app.call('GET', `${worlds}/busy/seed`)
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]?.message ?? '', /1 task has not ended: .*Create/i)
})

test('the example of the how-to makes the world that it describes', async () => {
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
