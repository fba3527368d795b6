/** Traffic mirrors of NICs of hosts. Source: behaviour networking.md 1.16, 3.3. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { formatTime } from '../../../src/core/time/clock.ts'
import { Flows } from '../../../src/drivers/simulated/flows/flows.ts'
import { hostNicId } from '../../../src/drivers/simulated/host-nics.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import type { CallResult, TestApp } from '../../support/start-app.ts'
import { aWatchedVm, from, mirrorBody, mirrorStats, mirrors, to } from '../../support/traffic-mirrors.ts'
import { changed, made, removed } from '../../support/vpcs.ts'

let app: TestApp
let host: string
let nic: string
let spans: readonly string[]
before(async () => {
  app = await startQuietDemo()
  const vm = await aWatchedVm(app, 'watched', 4)
  host = vm.host.extId
  ;[nic, ...spans] = vm.nics.map(({ extId }: any) => extId)
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const hostNic = (name: string, more: object = {}): object => ({
  nicType: 'HOST_NIC',
  nicUuid: hostNicId(host, name),
  ...more,
})
const ofHostNic = (name: string, ethernet: string, span: number, direction = 'BIDIRECTIONAL'): object =>
  mirrorBody(name, nic, spans[span]!, {
    sourceList: [hostNic(ethernet, { direction })],
    hostReferenceList: [host],
  })
const create = (body: object): Promise<CallResult> => app.call('POST', mirrors, { body })
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const toFullMinute = (): Promise<unknown> => app.clock.advance(30_000 - (app.clock.now() % 30_000))

async function countsOf(path: string, start: number, end: number): Promise<readonly number[]> {
  const span = `$startTime=${formatTime(start)}&$endTime=${formatTime(end)}`
  return (await app.call('GET', `${mirrorStats(path)}?${span}`)).data.transmitByteCount
}

/** Bytes that cross the border of the host, by what its VMs send and receive. */
function crossing(start: number, end: number): { readonly sent: number; readonly received: number } {
  const flows = new Flows(app.world)
  let [sent, received] = [0, 0]
  for (let time = start + 30_000; time <= end; time += 30_000)
    for (const segmentExtId of flows.segmentsOn(new Set([host]), time))
      flows.tableAt(segmentExtId, time)!.visit(time / 1000, ({ source, destination, decision }, rate) => {
        if (source.hostExtId === destination.hostExtId) return
        if (source.hostExtId === host) sent += 30 * rate
        if (destination.hostExtId === host && decision.arrives) received += 30 * rate
      })
  return { sent, received }
}

test('a mirror of the active uplink copies what the VMs of the host exchange with others, a mirror of the passive one nothing', async () => {
  await toFullMinute()
  const both = await made(app, mirrors, ofHostNic('both', 'eth0', 0))
  const received = await made(app, mirrors, ofHostNic('received', 'eth0', 1, 'INGRESS'))
  const passive = await made(app, mirrors, ofHostNic('passive', 'eth1', 2))
  const start = app.clock.now()
  const { state, sourceList } = await read(both)
  assert.deepEqual([state, sourceList[0].isUp], ['ACTIVE', true])
  await app.clock.advance(300_000)
  const end = app.clock.now()
  const expected = crossing(start, end)
  assert.ok(expected.sent > 0 && expected.received > 0)
  assert.equal((await countsOf(both, start, end)).at(-1), expected.sent + expected.received)
  assert.equal((await countsOf(received, start, end)).at(-1), expected.received)
  assert.equal((await countsOf(passive, start, end)).at(-1), 0)

  await happen(app, { type: 'UPLINK_LOST', host, uplink: 'eth0' })
  const broken = await read(both)
  assert.deepEqual([broken.state, broken.sourceList[0].isUp], ['ERROR', false])
  assert.match(broken.stateMessage, new RegExp(`the host NIC ${hostNicId(host, 'eth0')} has no link`))
  const failedOver = app.clock.now()
  await app.clock.advance(300_000)
  const later = app.clock.now()
  assert.equal((await countsOf(both, start, later)).at(-1), expected.sent + expected.received)
  const moved = crossing(failedOver, later)
  assert.equal((await countsOf(passive, start, later)).at(-1), moved.sent + moved.received)
  await happen(app, { type: 'UPLINK_RETURNS', host, uplink: 'eth0' })
  assert.equal((await read(both)).state, 'ACTIVE')
  for (const path of [both, received, passive]) await removed(app, path)
})

test('copies leave through a host NIC that is in no bridge; an uplink is refused', async () => {
  const toNic = (name: string): object =>
    mirrorBody('outwards', nic, nic, { destinationList: [hostNic(name)], hostReferenceList: [host] })
  const refused = await create(toNic('eth2'))
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'CONFLICT'])
  assert.match(refused.errors[0]!.message, /is an uplink of br1/)
  const path = await made(app, mirrors, toNic('eth4'))
  assert.equal((await read(path)).state, 'ACTIVE')
  const taken = await create({ ...toNic('eth4'), name: 'second' })
  assert.deepEqual([taken.status, taken.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  const back = await changed(app, path, { description: 'sent back as it was' })
  assert.deepEqual([back.state, back.destinationList[0].nicType], ['ACTIVE', 'HOST_NIC'])
  await removed(app, path)
})

test('a host NIC needs its host, and a NIC of another host is not found', async () => {
  const without = mirrorBody('wrong', nic, spans[0]!, { sourceList: [hostNic('eth0', { direction: 'INGRESS' })] })
  const elsewhere = ['a', 'b', 'c', 'd'].map((letter) => seedId(`host/hp-n01-${letter}`)).find((id) => id !== host)!
  const cases: readonly [object, number, string][] = [
    [without, 400, 'hostReferenceList'],
    [
      {
        ...without,
        hostReferenceList: [host],
        sourceList: [{ nicType: 'HOST_NIC', nicUuid: hostNicId(elsewhere, 'eth0'), direction: 'INGRESS' }],
      },
      404,
      'sourceList[0]/nicUuid',
    ],
    [
      {
        ...without,
        sourceList: [from(nic)],
        destinationList: [to(hostNicId(host, 'eth4'))],
      },
      404,
      'destinationList[0]/nicUuid',
    ],
  ]
  for (const [body, status, path] of cases) {
    const result = await create(body)
    assert.equal(result.status, status, JSON.stringify(result.errors))
    assert.equal(result.errors[0]?.argumentsMap?.['attributePath'], path)
  }
})
