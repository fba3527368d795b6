/** Statistics of volume groups and their disks. Source: behaviour volumes-storage.md 1.7, 5 (32, 33). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { beginning, startApp, type TestApp } from '../../support/start-app.ts'
import { aGroup, clusterId, GiB, onContainer } from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const stats = '/volumes/v4.2/stats/volume-groups'
const orders = seedId('volume-group/vg-orders-db')
const iso = (secondsAgo: number): string => new Date(beginning - 1000 * secondsAgo).toISOString()
const during = (secondsAgo: number, untilSecondsAgo = 0): string =>
  `$startTime=${iso(secondsAgo)}&$endTime=${iso(untilSecondsAgo)}`
const get = (path: string, query: string) => app.call('GET', `${path}?${query}`)
async function read(path: string, query: string): Promise<any> {
  const { status, data, errors } = await get(path, query)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
const valuesOf = (series: readonly { value: number }[]): number[] => series.map(({ value }) => value)
const day = 24 * 3600

test('32. the operations of a group are the sums of those of its disks at each point, its latency is weighted by them', async () => {
  for (const query of [
    during(600),
    `${during(7 * day)}&$statType=AVG`,
    `${during(600)}&$samplingInterval=120&$statType=SUM`,
  ]) {
    const group = await read(`${stats}/${orders}`, query)
    assert.deepEqual([group.extId, group.volumeGroupExtId], [orders, orders])
    const disks = await Promise.all(
      [0, 1].map((index) => read(`${stats}/${orders}/disks/${seedId(`volume-disk/vg-orders-db/${index}`)}`, query)),
    )
    for (const name of [
      'controllerNumIOPS',
      'controllerNumReadIOPS',
      'controllerWriteIOBandwidthKBps',
      'controllerUserBytes',
    ])
      assert.deepEqual(
        valuesOf(group[name]),
        group[name].map((_: unknown, at: number) => disks.reduce((sum, disk) => sum + disk[name][at].value, 0)),
        `${name} ${query}`,
      )
    assert.ok(valuesOf(group.controllerNumIOPS).every((value) => value > 0))
    for (const [at, { value }] of group.controllerAvgReadIOLatencyUsecs.entries()) {
      const own = disks.map((disk) => disk.controllerAvgReadIOLatencyUsecs[at].value)
      assert.ok(Math.min(...own) - 1 <= value && value <= Math.max(...own) + 1, `${own} ${value}`)
    }
  }
})

test('32. seven days have at most 100 points without a word, and with an interval that is too small the answer has a message', async () => {
  const silent = await get(`${stats}/${orders}`, during(7 * day))
  assert.ok(silent.data.controllerNumIOPS.length <= 100 && silent.data.controllerNumIOPS.length > 90)
  assert.deepEqual(silent.warnings, [])
  const told = await get(`${stats}/${orders}`, `${during(7 * day)}&$samplingInterval=30`)
  assert.ok(told.data.controllerNumIOPS.length <= 100)
  assert.match(told.warnings.join(), /widened from 30 s/)
})

test('32. an interval of 0, an unknown $statType, an end before the start and a missing start are 400', async () => {
  for (const query of [
    `${during(60)}&$samplingInterval=0`,
    `${during(60)}&$statType=FOO`,
    during(0, 60),
    `$endTime=${iso(0)}`,
  ])
    assert.equal((await get(`${stats}/${orders}`, query)).status, 400, query)
})

test('32. the series of an idle group are zeros, and there is none before its creation', async () => {
  const idle = await read(`${stats}/${seedId('volume-group/vg-unused')}`, during(300))
  assert.deepEqual(valuesOf(idle.controllerNumIOPS), Array(10).fill(0))
  assert.equal(idle.hydrationRemainingBytes, undefined)
  const claim = await read(`${stats}/${seedId('volume-group/pvc-0')}`, during(300))
  assert.deepEqual(valuesOf(claim.controllerNumReadIOPS), Array(10).fill(0))
  const made = await aGroup(app, { disks: [{ diskSizeBytes: GiB, ...onContainer() }] })
  const young = await read(`${stats}/${made.extId}`, during(300))
  assert.deepEqual(
    [young.extId, young.controllerNumIOPS, young.controllerUserBytes],
    [made.extId, undefined, undefined],
  )
})

test('the written bytes of a group are at most the sizes of its disks, and the same span is answered twice with the same bytes', async () => {
  const { controllerUserBytes } = await read(`${stats}/${orders}`, during(day))
  assert.ok(valuesOf(controllerUserBytes).every((value) => value > 0 && value <= 600 * GiB))
  const [one, two] = [
    await get(`${stats}/${orders}`, during(day, 3600)),
    await get(`${stats}/${orders}`, during(day, 3600)),
  ]
  assert.equal(JSON.stringify(one.data), JSON.stringify(two.data))
})

test('a disk of another group is 404, and $select keeps only the named series', async () => {
  const other = seedId('volume-disk/vg-backup/0')
  assert.equal((await get(`${stats}/${orders}/disks/${other}`, during(60))).status, 404)
  const data = await read(`${stats}/${orders}`, `${during(60)}&$select=controllerNumIOPS`)
  assert.ok(data.controllerNumIOPS.length > 0)
  assert.equal(data.controllerUserBytes, undefined)
})

test('33. at least two hosts serve a load-balanced group, which the statistics of its cluster and containers count', async () => {
  const hosts: string[] = (await app.call('GET', `/clustermgmt/v4.2/config/clusters/${clusterId}/hosts`)).data.map(
    ({ extId }: any) => extId,
  )
  const group = seedId('volume-group/vg-app-shared')
  const disks = (await app.call('GET', `/volumes/v4.2/config/volume-groups/${group}/disks`)).data
  const served = new Map<string, number>()
  let operations = 0
  for (const { extId, index } of disks) {
    const ref = { extId, index, volumeGroupExtId: group, isFlash: false }
    const [parts = []] = await app.drivers.telemetry.readBlockDisk(ref, hosts, [beginning])
    for (const { hostExtId, reading } of parts) {
      const own = reading.readIops + reading.writeIops
      served.set(hostExtId, (served.get(hostExtId) ?? 0) + own)
      operations += own
    }
  }
  assert.ok(served.size >= 2, `${served.size} hosts`)
  const [own] = valuesOf((await read(`${stats}/${group}`, during(30))).controllerNumIOPS)
  assert.equal(own, operations)
  for (const [extId, part] of served) {
    const host = await read(`/clustermgmt/v4.2/stats/clusters/${clusterId}/hosts/${extId}`, during(30))
    assert.ok(part > 0 && (valuesOf(host.controllerNumIops)[0] as number) >= part, `${extId} serves ${part}`)
  }
})
