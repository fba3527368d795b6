/** The clock of a world over the control interface, and its effects. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import type { Clock } from '../../../src/core/time/clock.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aWorld, worlds } from '../../support/worlds.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'tiny', durations: 'natural', rateLimits: 'on' } })
})
after(() => app.close())

const clock = '/control/v1/worlds/default/clock'
const act = (action: string, body?: object) =>
  app.call('POST', `${clock}/$actions/${action}`, body === undefined ? {} : { body })
const timeOf = async (): Promise<number> => Date.parse((await app.call('GET', clock)).data.time)

test('a frozen clock is advanced by a duration, and all timers that become due run in order', async () => {
  const before = await timeOf()
  const moved = await act('advance', { duration: 'PT2H30M' })
  assert.equal(moved.status, 200, JSON.stringify(moved.errors))
  assert.equal(Date.parse(moved.data.clock.time) - before, 2.5 * 3600_000)
  assert.equal(Date.parse(moved.data.from), before)
  assert.ok(moved.data.moments > 0)
})

test('run to the next event names the event, and the task that waited for it continues', async () => {
  const vm = await app.call('POST', '/vmm/v4.2/ahv/config/vms', {
    requestId: randomUUID(),
    body: { name: 'timed', memorySizeBytes: 2 ** 30, cluster: { extId: await aCluster() } },
  })
  assert.equal(vm.status, 202, JSON.stringify(vm.errors))
  const task = async () => (await app.call('GET', `/platform/v4.3/config/tasks/${vm.data.extId}`)).data
  const seen: string[] = []
  for (let turn = 0; turn < 200 && !['SUCCEEDED', 'FAILED'].includes((await task()).status); turn++) {
    const moved = await act('run-to-next-event')
    assert.equal(moved.status, 200)
    seen.push(moved.data.last.what)
    assert.equal(moved.data.last.time, moved.data.clock.time)
  }
  assert.equal((await task()).status, 'SUCCEEDED')
  assert.ok(
    seen.some((what) => /vmm\.create-vm/.test(what)),
    JSON.stringify(seen),
  )
})

test('an invalid, empty or negative duration, or one above ten years, is 400 and does not move the clock', async () => {
  const before = await timeOf()
  for (const duration of ['PT0S', 'P0D', '-PT1H', 'PT-1H', 'P3654D', 'P11Y', '1h', 'PT'])
    assert.equal((await act('advance', { duration })).status, 400, duration)
  assert.equal((await act('advance', {})).status, 400)
  // A reader of the error message may try the bound in years.
  const years = (await act('advance', { duration: 'P10Y' })).errors[0]?.message ?? ''
  assert.match(
    years,
    /weeks, days, hours.*up to 10 years \(P3653D: years and months have no fixed length\); found "P10Y"/,
  )
  assert.equal((await act('scale', { scale: 0 })).status, 400)
  assert.equal((await act('scale', { scale: -1 })).status, 400)
  assert.equal(await timeOf(), before)
})

test('a clock is scaled, follows real time again, and is frozen again', async () => {
  const scaled = await act('scale', { scale: 3600 })
  assert.equal(scaled.data.mode, 'scaled')
  assert.equal(scaled.data.scale, 3600)
  const real = await act('resume')
  assert.equal(real.data.mode, 'real')
  const frozen = await act('freeze')
  assert.equal(frozen.data.mode, 'frozen')
  assert.equal(frozen.data.scale, 0)
  assert.equal(await timeOf(), Date.parse(frozen.data.time))
})

test('rate limit windows follow real time, unless the world was created to use its own clock', async () => {
  let realTime = Date.parse('2026-03-02T09:00:00Z')
  const realClock: Clock = {
    now: () => realTime,
    iso: () => new Date(realTime).toISOString(),
    sleep: async () => undefined,
    setTimer: () => () => undefined,
  }
  const service = await startApp({ realClock, config: { seed: 'empty' } })
  try {
    for (const limits of ['real-time', 'world-clock'] as const) {
      const world = `by-${limits}`
      await aWorld(service, world, { clock: { mode: 'frozen' }, rateLimits: 'on', limits })
      const list = async () => (await service.call('GET', '/platform/v4.3/config/categories', { world })).status
      const untilRefused = async (): Promise<void> => {
        for (let accepted = 0; (await list()) === 200; accepted++) assert.ok(accepted < 200, 'nobody counts')
        assert.equal(await list(), 429)
      }
      await untilRefused()
      await service.call('POST', `${worlds}/${world}/clock/$actions/advance`, { body: { duration: 'PT2S' } })
      assert.equal(await list(), limits === 'world-clock' ? 200 : 429, `${limits}: the world moved`)
      await untilRefused()
      realTime += 2000
      assert.equal(await list(), limits === 'world-clock' ? 429 : 200, `${limits}: real time passed`)
    }
  } finally {
    await service.close()
  }
})

test('time ends with the year 9999: moving the clock further is refused', async () => {
  const clock = { mode: 'frozen', startTime: '9995-06-01T00:00:00Z' }
  assert.equal(
    (await app.call('POST', '/control/v1/worlds', { body: { name: 'late', preset: 'empty', clock } })).status,
    201,
  )
  const advance = (duration: string) =>
    app.call('POST', '/control/v1/worlds/late/clock/$actions/advance', { body: { duration } })
  const refused = await advance('P3650D')
  assert.equal(refused.status, 400)
  assert.match(refused.errors[0]?.message ?? '', /duration.*before the year 10000.*"P3650D" from 9995-06-01T00:00:00/)
  const { data } = await app.call('GET', '/control/v1/worlds/late/clock')
  assert.equal(data.time, '9995-06-01T00:00:00.000000Z')
  assert.equal((await app.call('GET', '/control/v1/worlds/late')).status, 200)
  assert.equal((await advance('PT1H')).status, 200)
})

test('the retention of tasks follows the world clock: they are deleted after thirty days', async () => {
  const [old] = (await app.call('GET', '/platform/v4.3/config/tasks?$limit=1')).data
  await act('advance', { duration: 'P31D' })
  assert.equal((await app.call('GET', `/platform/v4.3/config/tasks/${old.extId}`)).status, 404)
})

async function aCluster(): Promise<string> {
  const found = await app.call('GET', "/clustermgmt/v4.2/config/clusters?$filter=startswith(name,'tiny')")
  return found.data[0].extId
}
