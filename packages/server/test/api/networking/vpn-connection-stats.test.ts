/** Statistics of VPN connections. Source: behaviour networking.md 1.11, 3.3, 5 (35). */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { formatTime } from '../../../src/core/time/clock.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import type { CallResult, TestApp } from '../../support/start-app.ts'
import { changed, demoRoutes, made, removed } from '../../support/vpcs.ts'
import { connectionTo, demoConnection, demoRoute, vpnConnections } from '../../support/vpn.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const hour = 3_600_000
const stats = (from: number, to: number, more = '', connection = demoConnection): Promise<CallResult> =>
  app.call(
    'GET',
    `/networking/v4.3/stats/vpn-connections/${connection.slice(-36)}?$startTime=${formatTime(from)}&$endTime=${formatTime(to)}${more}`,
  )
const numbers = (values: readonly string[]): number[] => values.map(Number)
const align = (): Promise<unknown> => app.clock.advance(30_000 - (app.clock.now() % 30_000))
/** Transmitted in the minutes since a time, one value for each half. */
const sentSince = async (from: number): Promise<number[]> =>
  numbers((await stats(from + 30_000, app.clock.now(), '&$limit=100')).data.throughputTxKbps)

test('samples are text, as many received as transmitted, more than zero, and the same at each request', async () => {
  const now = app.clock.now()
  const first = await stats(now - hour, now, '&$limit=100')
  const { throughputRxKbps: received, throughputTxKbps: transmitted, statType, extId } = first.data
  assert.deepEqual([statType, extId], ['LAST', demoConnection.slice(-36)])
  assert.equal(received.length, 100)
  assert.equal(transmitted.length, 100)
  for (const value of [...received, ...transmitted]) assert.match(value, /^[1-9][0-9]*$/)
  assert.deepEqual((await stats(now - hour, now, '&$limit=100')).data, first.data)
})

test('pages slice the samples, and a selection keeps id and type', async () => {
  const now = app.clock.now()
  const [whole, second] = [await stats(now - hour, now), await stats(now - hour, now, '&$page=1&$limit=10')]
  assert.equal(whole.data.throughputTxKbps.length, 50)
  assert.deepEqual(second.data.throughputTxKbps, whole.data.throughputTxKbps.slice(10, 20))
  const selected = (await stats(now - hour, now, '&$select=throughputRxKbps')).data
  assert.deepEqual(
    Object.keys(selected)
      .filter((name) => !name.startsWith('$'))
      .sort(),
    ['extId', 'statType', 'throughputRxKbps'],
  )
  for (const end of [now - hour, now]) {
    const { status, errors } = await stats(now, end)
    assert.deepEqual([status, errors[0]?.code, errors[0]?.errorGroup], [400, 'NETWORKING-10001', 'INVALID_ARGUMENT'])
    assert.match(errors[0]!.message, /^\$startTime: expected a time before \$endTime/)
  }
})

test('no sample exceeds the limits of the connection while they hold', async () => {
  await align()
  const from = app.clock.now()
  await changed(app, demoConnection, { qosConfig: { egressLimitMbps: 1, ingressLimitMbps: 2 } })
  await app.clock.advance(10 * 60_000)
  const { data } = await stats(from + 30_000, app.clock.now())
  const [received, transmitted] = [numbers(data.throughputRxKbps), numbers(data.throughputTxKbps)]
  assert.ok(Math.max(...received) <= 2000 && Math.max(...transmitted) <= 1000)
  assert.ok(transmitted.includes(1000), 'the limit cuts')
  await changed(app, demoConnection, { qosConfig: undefined })
})

test('nothing is carried while the tunnel is down, or while no route leads through it', async () => {
  await align()
  const from = app.clock.now()
  await happen(app, { type: 'VPN_PEER_CHANGES_KEY', connection: 'branch-1' })
  await app.clock.advance(120_000)
  assert.deepEqual(await sentSince(from), [0, 0, 0, 0])
  await happen(app, { type: 'VPN_PEER_RESTORES_KEY', connection: 'branch-1' })
  await app.clock.advance(60_000)
  const until = app.clock.now()
  assert.ok((await sentSince(until - 60_000)).at(-1)! > 0)
  const { data: route } = await app.call('GET', demoRoute)
  await removed(app, demoRoute)
  await app.clock.advance(60_000)
  assert.deepEqual(await sentSince(until), [0, 0])
  await made(app, demoRoutes('prod'), { ...route, extId: undefined, name: 'again' })
  await app.clock.advance(60_000)
  assert.ok((await sentSince(until + 30_000)).at(-1)! > 0)
  const past = numbers((await stats(from + 30_000, from + 120_000)).data.throughputTxKbps)
  assert.deepEqual(past, [0, 0, 0, 0], 'the past stays')
})

test('a silent peer gets traffic until the tunnel is lost', async () => {
  await align()
  const from = app.clock.now()
  await changed(app, demoConnection, { dpdConfig: { intervalSecs: 10, timeoutSecs: 60 } })
  await happen(app, { type: 'VPN_PEER_FALLS_SILENT', connection: 'branch-1' })
  await app.clock.advance(150_000)
  const sent = await sentSince(from)
  assert.deepEqual(
    sent.map((value) => value > 0),
    [true, true, false, false, false],
  )
  await happen(app, { type: 'VPN_PEER_ANSWERS', connection: 'branch-1' })
})

test('samples begin with the connection, and end with its deletion', async () => {
  for (const { extId, nexthop } of (await app.call('GET', demoRoutes('prod'))).data)
    if (nexthop.nexthopType === 'VPN_CONNECTION') await removed(app, `${demoRoutes('prod')}/${extId}`)
  await removed(app, demoConnection)
  const from = app.clock.now()
  const path = await made(app, vpnConnections, connectionTo(seedId('gateway/branch'), 'new'))
  await app.clock.advance(300_000)
  const { data } = await stats(from - hour, app.clock.now(), '&$statType=MAX', path)
  assert.equal(data.throughputRxKbps.length, 11)
  assert.equal((await stats(from - hour, app.clock.now())).status, 404)
})
