/** The catalogue of names for rules and events, with examples that are accepted as sent. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { factKinds, happeningTypes } from '@hyperplane/contract/control/world-happening'
import { driverFaults } from '../../../src/control/faults/names.ts'
import { collectDomains } from '../../../src/domains/collected.ts'
import { driverCalls } from '../../../src/drivers/simulated/calls.ts'
import { issue, publish } from '../../support/authorities.ts'
import { http } from '../../support/http.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aWorld, worlds } from '../../support/worlds.ts'

const path = '/control/v1/catalogue'

let app: TestApp
let catalogue: any
before(async () => {
  app = await startApp({ config: { seed: 'lab' } })
  const read = await app.call('GET', path)
  assert.equal(read.status, 200, JSON.stringify(read.errors))
  catalogue = read.data
})
after(() => app?.close())

const ruleOf = (effect: object, { match }: any): object => ({ match, effect })

async function accepted(world: string, kind: 'events' | 'faults', body: object): Promise<void> {
  const made = await app.call('POST', `${worlds}/${world}/${kind}`, { body })
  assert.equal(made.status, 201, `${JSON.stringify(body)}: ${JSON.stringify(made.errors)}`)
}

test('the catalogue names every task with its steps, every driver call, every event and every kind of fact', () => {
  const { tasks } = collectDomains()
  assert.deepEqual(
    Object.fromEntries(catalogue.tasks.map(({ name, steps }: any) => [name, steps.map((step: any) => step.name)])),
    Object.fromEntries([...tasks].map(([name, { steps }]) => [name, steps.map((step) => step.name)])),
  )
  assert.deepEqual(
    catalogue.driverCalls.map(({ driver, method }: any) => `${driver}.${method}`),
    Object.entries(driverCalls).flatMap(([driver, calls]) => calls.map((method) => `${driver}.${method}`)),
  )
  for (const { driver, driverFaults: words } of catalogue.driverCalls)
    assert.deepEqual(words, (driverFaults as Record<string, readonly string[]>)[driver] ?? [])
  assert.deepEqual(
    catalogue.events.map(({ type }: any) => type),
    happeningTypes,
  )
  assert.deepEqual(catalogue.facts.map(({ kind }: any) => kind).sort(), [...factKinds].sort())
})

test('events have their parameters with defaults and ranges, and the event that ends them', () => {
  const slows = catalogue.events.find(({ type }: any) => type === 'HOST_SLOWS')
  assert.equal(slows.endedBy, 'HOST_SPEEDS_UP')
  assert.deepEqual(slows.parameters, [
    { name: 'host', type: 'text', isRequired: true },
    { name: 'factor', type: 'number', isRequired: false, default: 10, minimum: 1.1, maximum: 1000 },
  ])
})

describe('the example of', () => {
  test('every task and every driver call is accepted', async () => {
    await aWorld(app, 'rules')
    for (const { example } of [...catalogue.tasks, ...catalogue.driverCalls]) await accepted('rules', 'faults', example)
  })

  /** Presets that together hold an entity of every kind. */
  const presets = ['demo', 'lab']
  const read = async (preset: string): Promise<any> => {
    await aWorld(app, preset, { preset, clock: { mode: 'frozen' } })
    // No preset has one.
    const instance = (await app.worlds.get(preset)?.instance()) as never
    await publish(instance, 'pki.simulated', await issue({ isAuthority: true }))
    return (await app.call('GET', `${path}?world=${preset}`)).data
  }

  test('every event and every kind of fact is accepted, in the order of the answer', async () => {
    const shown = new Set<string>()
    for (const preset of presets) {
      const { events, facts } = await read(preset)
      for (const { type, kind, example, missing } of [...events, ...facts]) {
        if (missing !== undefined) {
          assert.match(missing, /^No .* of this world was found/)
          assert.match(JSON.stringify(example), /name of a /)
          continue
        }
        shown.add(type ?? kind)
        await accepted(preset, 'events', example)
      }
    }
    assert.deepEqual([...shown].sort(), [...happeningTypes, ...factKinds].sort())
  })

  test('every event is accepted in a world without earlier events', async () => {
    const { data } = await app.call('GET', path)
    for (const { example, missing } of data.events) {
      if (missing !== undefined) continue
      await app.call('POST', `${worlds}/lab/$actions/reset`)
      await accepted('lab', 'events', example)
    }
  })
})

test('a rule accepts each fault of a driver, and each error with the arguments that the catalogue lists', async () => {
  await aWorld(app, 'faults')
  for (const { driverFaults: words, example } of catalogue.driverCalls)
    for (const driverFault of words) await accepted('faults', 'faults', ruleOf({ driverFault }, example))
  const [task] = catalogue.tasks
  for (const { key, code, arguments: names } of catalogue.errors) {
    const given = Object.fromEntries(names.map((name: string) => [name, 'on purpose']))
    await accepted('faults', 'faults', ruleOf({ error: key, arguments: given }, task.example))
    assert.match(code, /^[A-Z]+-\d+$/)
  }
})

test('the examples name entities of the requested world', async () => {
  await aWorld(app, 'small', { preset: 'tiny' })
  const { data } = await app.call('GET', `${path}?world=small`)
  const of = (type: string): any => data.events.find((each: any) => each.type === type)
  assert.equal(of('CLUSTER_CUT_OFF').example.event.cluster, 'tiny')
  assert.match(of('BGP_PEER_FALLS_SILENT').missing, /No BGP session of this world was found/)
  for (const { example, missing } of [...data.events, ...data.facts])
    if (missing === undefined) await accepted('small', 'events', example)
})

test('reading the catalogue changes nothing', async () => {
  await aWorld(app, 'untouched', { preset: 'lab', clock: { mode: 'frozen' } })
  const exported = async () => {
    const { data } = await app.call('GET', `${worlds}/untouched/seed`)
    const chunks: Buffer[] = []
    for await (const chunk of data.content) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks).toString()
  }
  const before = await exported()
  const [first, second] = [
    await app.call('GET', `${path}?world=untouched`),
    await app.call('GET', `${path}?world=untouched`),
  ]
  assert.deepEqual(first.data, second.data)
  assert.equal(await exported(), before)
})

test('an unknown world is 404', async () => {
  const { status, errors } = await app.call('GET', `${path}?world=nowhere`)
  assert.deepEqual([status, errors[0]?.code], [404, 'CTRL-10002'])
})

test('over HTTP the examples have the form in which clients send them', async () => {
  const { url } = await app.listen()
  const { status, json } = await http(url, path)
  assert.equal(status, 200)
  assert.deepEqual(
    json.data.tasks.map(({ example }: any) => example),
    catalogue.tasks.map(({ example }: any) => example),
  )
})
