/** World events as entities of the control interface: schedule, history, refusals. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { EventRecord } from '../../../src/drivers/simulated/events/record.ts'
import { hostId } from '../../support/clustermgmt.ts'
import { events, faultsOf, happen, postEvent, readEvent, startQuietDemo } from '../../support/events.ts'
import { beginning, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const minute = 60_000
const at = (minutes: number): string => new Date(app.clock.now() + minutes * minute).toISOString()
const fault = (name: string, of = app) => of.world.collection<any>('hardware.faults').get(hostId(name))
const isDown = (name: string, of = app): boolean => fault(name, of)?.isDown === true
const stamp = (millis: number): string => new Date(millis).toISOString().replace('Z', '000Z')

test('an event happens at once, and its entity shows its target, time and effects', async () => {
  const event = await happen(app, { type: 'BMC_FALLS_SILENT', host: 'hp-n01-a' })
  assert.deepEqual(
    [event.type, event.status, event.target, event.startTime, event.endTime, event.effects],
    [
      'BMC_FALLS_SILENT',
      'LASTING',
      { kind: 'host', extId: hostId('hp-n01-a'), name: 'hp-n01-a' },
      app.clock.iso(),
      undefined,
      ['The BMC of hp-n01-a is silent.'],
    ],
  )
  assert.deepEqual(await readEvent(app, event), event)
})

test('an event is ended by its counterpart, which is OVER itself', async () => {
  const event = await happen(app, { type: 'BMC_FALLS_SILENT', host: 'hp-n01-b' })
  await app.clock.advance(minute)
  const end = await happen(app, { type: 'BMC_ANSWERS', host: hostId('hp-n01-b') })
  assert.deepEqual([end.status, end.effects], ['OVER', ['The BMC of hp-n01-b answers again.']])
  const ended = await readEvent(app, event)
  assert.deepEqual([ended.status, ended.endTime], ['OVER', app.clock.iso()])
})

test('an event without an effect changes nothing, and gives a warning', async () => {
  const result = await postEvent(app, { type: 'BMC_ANSWERS', host: 'hp-n01-d' })
  assert.deepEqual([result.status, result.data.status, result.data.effects], [201, 'OVER', []])
  assert.deepEqual(result.warnings, ['It was so already: nothing changed.'])
})

test('an event without an effect does not end an effect that existed before it', async () => {
  await happen(app, { type: 'HOST_FAILS', host: 'hp-e01-a' })
  await happen(app, { type: 'HOST_FAILS', host: 'hp-e01-a' }, { duration: 'PT1M' })
  await app.clock.advance(2 * minute)
  assert.equal(isDown('hp-e01-a'), true)
  await happen(app, { type: 'HOST_RETURNS', host: 'hp-e01-a' })
})

test('scheduled events begin and end with the clock, in the order of their times', async () => {
  const late = await happen(app, { type: 'HOST_FAILS', host: 'hp-n01-c' }, { after: 'PT10M', duration: 'PT20M' })
  const early = await happen(app, { type: 'HOST_FAILS', host: 'hp-n01-d' }, { at: at(5), until: at(12) })
  assert.deepEqual([late.status, early.status, isDown('hp-n01-d')], ['SCHEDULED', 'SCHEDULED', false])
  const start = app.clock.now()
  const seen: string[] = []
  for (const step of [4, 1, 4, 1, 1, 1, 18]) {
    await app.clock.advance(step * minute)
    seen.push(`${(app.clock.now() - start) / minute} ${isDown('hp-n01-c')} ${isDown('hp-n01-d')}`)
  }
  assert.deepEqual(seen, [
    '4 false false',
    '5 false true',
    '9 false true',
    '10 true true',
    '11 true true',
    '12 true false',
    '30 false false',
  ])
  const over = await readEvent(app, late)
  assert.deepEqual(
    [over.status, over.startTime, over.endTime, over.effects.length],
    ['OVER', stamp(start + 10 * minute), stamp(start + 30 * minute), 2],
  )
})

test('of two events at the same time, the one that was requested first happens first', async () => {
  const order = ['HOST_SPEEDS_UP', 'HOST_SLOWS', 'HOST_SPEEDS_UP', 'HOST_SLOWS'] as const
  const planned = []
  for (const type of order) planned.push(await happen(app, { type, host: 'hp-c01-a' }, { after: 'PT1M' }))
  await app.clock.advance(minute)
  const effects = await Promise.all(planned.map(async (event) => (await readEvent(app, event)).effects.length))
  assert.deepEqual(effects, [0, 1, 1, 1])
  await happen(app, { type: 'HOST_SPEEDS_UP', host: 'hp-c01-a' })
})

test('an event that replaces another of its type ends that one, and cancels its scheduled end', async () => {
  const first = await happen(app, { type: 'HOST_SLOWS', host: 'hp-c01-b', factor: 5 }, { duration: 'PT10M' })
  await happen(app, { type: 'HOST_SLOWS', host: 'hp-c01-b', factor: 50 })
  assert.equal((await readEvent(app, first)).status, 'OVER')
  await app.clock.advance(20 * minute)
  assert.equal(fault('hp-c01-b')?.slowdown, 50)
})

test('the clock runs to the next event, and names it', async () => {
  const own = await startApp()
  await happen(own, { type: 'HOST_FAILS', host: 'hp-n01-a' }, { after: 'PT1S', duration: 'PT1S' })
  const run = () => own.call('POST', '/control/v1/worlds/default/clock/$actions/run-to-next-event')
  const told: string[] = []
  for (let step = 0; step < 20 && told.length < 2; step++) {
    const what = (await run()).data.last?.what
    if (what?.startsWith('event ')) told.push(`${what} ${(own.clock.now() - beginning) / 1000}`)
  }
  assert.deepEqual(told, ['event HOST_FAILS 1', 'event HOST_RETURNS 2'])
  await own.close()
})

test('an event can be cancelled until it begins', async () => {
  const event = await happen(app, { type: 'HOST_FAILS', host: 'hp-e01-b' }, { after: 'PT1M' })
  assert.equal((await app.call('DELETE', `${events}/${event.extId}`)).status, 204)
  assert.equal((await app.call('GET', `${events}/${event.extId}`)).status, 404)
  await app.clock.advance(2 * minute)
  assert.equal(isDown('hp-e01-b'), false)
  const begun = await happen(app, { type: 'HOST_FAILS', host: 'hp-e01-b' })
  const refused = await app.call('DELETE', `${events}/${begun.extId}`)
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'WORLD_EVENT_HAPPENED'])
  assert.match(refused.errors[0]?.message ?? '', /HOST_FAILS is LASTING.*HOST_RETURNS ends what it began/)
  await happen(app, { type: 'HOST_RETURNS', host: 'hp-e01-b' })
})

test('the history is filtered, ordered and paged, newest first', async () => {
  await happen(app, { type: 'BMC_FALLS_SILENT', host: 'hp-e01-c' })
  const { data, total } = await app.call(
    'GET',
    `${events}?$filter=target/name eq 'hp-e01-c' and type eq 'BMC_FALLS_SILENT'`,
  )
  assert.deepEqual([total, data[0].status], [1, 'LASTING'])
  const all = await app.call('GET', `${events}?$limit=2`)
  assert.equal(all.data[0].target.name, 'hp-e01-c')
  assert.ok((all.total as number) > 10)
  const oldest = await app.call('GET', `${events}?$orderby=startTime&$limit=1&$select=type`)
  assert.deepEqual(oldest.data[0].type, 'BMC_FALLS_SILENT')
  assert.equal((await app.call('GET', `${events}?$filter=effects eq 'x'`)).status, 400)
})

test('an unknown target is 404 with the nearest names, an unknown type 400 with the nearest types', async () => {
  const host = await postEvent(app, { type: 'HOST_FAILS', host: 'hp-n01-f' })
  assert.deepEqual([host.status, host.errors[0]?.errorGroup], [404, 'WORLD_EVENT_TARGET_UNKNOWN'])
  assert.match(host.errors[0]?.message ?? '', /no host "hp-n01-f".*hp-n01-a/)
  const unlike = await postEvent(app, { type: 'HOST_FAILS', host: randomUUID() })
  assert.equal(unlike.status, 404)
  assert.match(unlike.errors[0]?.message ?? '', /none is like it; there are hp-\w+-\w, .*, …\.$/)
  const type = await postEvent(app, { type: 'HOST_FALLS', host: 'hp-n01-a' })
  assert.equal(type.status, 400)
  assert.match(faultsOf(type).join(), /event\/type: expected one of.*did you mean "HOST_FAILS"/)
})

test('an ambiguous name is refused with the ids', async () => {
  const named = async () =>
    app.task(
      await app.call('POST', '/vmm/v4.2/ahv/config/vms', {
        requestId: randomUUID(),
        body: { name: 'twin', memorySizeBytes: 1024 ** 3 },
      }),
    )
  const twins = [await named(), await named()].map(({ entitiesAffected }) => entitiesAffected[0].extId)
  const refused = await postEvent(app, { type: 'GUEST_HALTS', vm: 'twin' })
  assert.equal(refused.status, 400)
  for (const extId of twins) assert.ok(faultsOf(refused)[0]?.includes(extId))
})

test('all faults of a plan are reported together', async () => {
  const both = await postEvent(
    app,
    { type: 'GUEST_CRASHES', vm: 'web-01' },
    { after: 'P1Y', at: at(1), duration: 'PT0S', until: at(2) },
  )
  assert.equal(both.status, 400)
  assert.deepEqual(
    faultsOf(both).map((text) => text.split(':')[0]),
    ['at', 'until', 'after', 'duration', 'duration'],
  )
  assert.match(faultsOf(both).at(-1) ?? '', /GUEST_CRASHES happens at one moment, and does not last/)
})

test('a time in the past, an end before the beginning and an unknown field are 400', async () => {
  const event = { type: 'HOST_FAILS', host: 'hp-n01-a' } as const
  assert.match(faultsOf(await postEvent(app, event, { at: at(-1) })).join(), /^at: .*a time that is not over/)
  assert.match(faultsOf(await postEvent(app, event, { after: 'PT5M', until: at(4) })).join(), /^until: /)
  assert.match(faultsOf(await postEvent(app, { ...event, hots: 1 })).join(), /event\/hots: is not a field/)
  assert.match(faultsOf(await postEvent(app, { type: 'HOST_FAILS' })).join(), /event\/host: is required/)
  assert.equal(isDown('hp-n01-a'), false)
})

test('an event whose target no longer exists at its time is FAILED with the reason', async () => {
  const vm = (
    await app.task(
      await app.call('POST', '/vmm/v4.2/ahv/config/vms', {
        requestId: randomUUID(),
        body: { name: 'short-lived', memorySizeBytes: 1024 ** 3 },
      }),
    )
  ).entitiesAffected[0].extId
  const crash = await happen(app, { type: 'GUEST_CRASHES', vm }, { after: 'PT1M' })
  const later = await happen(app, { type: 'BMC_ANSWERS', host: 'hp-e01-c' }, { after: 'PT2M' })
  const { etag } = await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vm}`)
  await app.task(
    await app.call('DELETE', `/vmm/v4.2/ahv/config/vms/${vm}`, { ifMatch: etag as string, requestId: randomUUID() }),
  )
  await app.clock.advance(3 * minute)
  const failed = await readEvent(app, crash)
  assert.equal(failed.status, 'FAILED')
  assert.match(failed.fault, /no VM/)
  assert.equal((await readEvent(app, later)).status, 'OVER')
})

test('an event with a request id happens once', async () => {
  const requestId = randomUUID()
  const send = () =>
    app.call('POST', events, { requestId, body: { event: { type: 'HOST_SLOWS', host: 'hp-c01-c' }, after: 'PT1H' } })
  const [first, again] = [await send(), await send()]
  assert.deepEqual([again.status, again.replayed, again.data.extId], [201, true, first.data.extId])
})

test('a world has at most 1,000 scheduled or lasting events', async () => {
  const own = await startApp()
  await own.store.transaction(async (transaction) => {
    for (let count = 0; count < 999; count++) {
      await transaction.insert(EventRecord, {
        extId: randomUUID(),
        event: { type: 'HOST_FAILS', host: 'x' },
        type: 'HOST_FAILS',
        status: 'SCHEDULED',
        startTime: '2027-01-01T00:00:00.000000Z',
      } as never)
    }
  })
  const ask = () => postEvent(own, { type: 'HOST_FAILS', host: 'hp-n01-a' }, { after: 'PT1M' })
  assert.equal((await ask()).status, 201)
  const refused = await ask()
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [422, 'LIMIT_EXCEEDED'])
  await own.close()
})

test('only administrators of the world default create or read events', async () => {
  const body = { event: { type: 'HOST_FAILS', host: 'hp-n01-a' } }
  assert.equal((await app.call('POST', events, { as: null, body })).status, 401)
  assert.equal((await app.call('POST', events, { as: `viewer:${'Admin.Passw0rd!'}`, body })).status, 403)
  assert.equal((await app.call('GET', events, { as: 'viewer:Admin.Passw0rd!' })).status, 403)
})

test('scheduled events survive a restart; overdue events happen in order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-events-'))
  const first = await startApp({ folder })
  const host = 'hp-n01-b'
  const slow = await happen(first, { type: 'HOST_FAILS', host }, { after: 'PT5M', duration: 'PT10M' })
  const lasting = await happen(first, { type: 'HOST_FAILS', host: 'hp-n01-c' }, { duration: 'PT2M' })
  await first.close()
  const second = await startApp({ folder })
  assert.equal(isDown('hp-n01-c', second), true)
  await second.clock.advance(3 * minute)
  assert.deepEqual([isDown('hp-n01-c', second), isDown(host, second)], [false, false])
  await second.clock.advance(3 * minute)
  assert.equal(isDown(host, second), true)
  await second.clock.advance(10 * minute)
  assert.deepEqual(
    [(await readEvent(second, slow)).status, (await readEvent(second, lasting)).status, isDown(host, second)],
    ['OVER', 'OVER', false],
  )
  await second.close()
  rmSync(folder, { recursive: true })
})

test('a fork copies scheduled events; a reset removes scheduled and past ones', async () => {
  const own = await startApp()
  await happen(own, { type: 'HOST_FAILS', host: 'hp-n01-a' })
  await happen(own, { type: 'HOST_RETURNS', host: 'hp-n01-a' }, { after: 'PT5M' })
  assert.equal(
    (await own.call('POST', '/control/v1/worlds/default/$actions/fork', { body: { name: 'copy' } })).status,
    201,
  )
  const ofCopy = '/control/v1/worlds/copy'
  assert.equal((await own.call('GET', `${ofCopy}/events`)).total, 2)
  await own.call('POST', `${ofCopy}/clock/$actions/advance`, { body: { duration: 'PT10M' } })
  const { data } = await own.call('GET', `${ofCopy}/events?$filter=status ne 'OVER'`)
  assert.deepEqual(data, [])
  assert.equal((await own.call('GET', `${events}?$filter=status eq 'SCHEDULED'`)).total, 1)
  assert.equal((await own.call('POST', '/control/v1/worlds/default/$actions/reset')).status, 200)
  assert.equal((await own.call('GET', events)).total, 0)
  assert.equal(isDown('hp-n01-a', own), false)
  await own.close()
})
