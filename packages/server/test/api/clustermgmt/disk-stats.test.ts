/** Statistics of disks. Source: behaviour clustermgmt.md 1.17, 3, 5 (47, 48). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { dataDisk } from '../../kinds/clustermgmt/disk.ts'
import { hostId, ids } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const span = (seconds: number): string => {
  const [from, to] = [app.clock.now() - seconds * 1000, app.clock.now()]
  return `$startTime=${new Date(from).toISOString()}&$endTime=${new Date(to).toISOString()}`
}
const read = (extId: string, query = span(300), version = 'v4.2'): Promise<CallResult> =>
  app.call('GET', `/clustermgmt/${version}/stats/disks/${extId}?${query}`)
const ofHost = (query = span(300)): Promise<CallResult> =>
  app.call('GET', `/clustermgmt/v4.2/stats/clusters/${ids.native}/hosts/${hostId('hp-n01-b')}?${query}`)
const drives = ([1, 2, 3, 4, 5, 6] as const).map((slot) => dataDisk('b', slot))
const values = (series: readonly any[] = []): number[] => series.map(({ value }) => value)

test('47: reads of the disks add up to those of their host, writes to twice as many, and used and free bytes to the capacity', async () => {
  const host = (await ofHost()).data
  const disks = await Promise.all(drives.map(async (extId) => (await read(extId)).data))
  assert.ok(host.controllerNumReadIops.length >= 9)
  const sum = (name: string, index: number): number => disks.reduce((all, disk) => all + disk[name][index].value, 0)
  for (const [index, { value, timestamp }] of host.controllerNumReadIops.entries()) {
    assert.ok(disks.every((disk) => disk.diskReadIops[index].timestamp === timestamp))
    assert.ok(Math.abs(sum('diskReadIops', index) - value) <= drives.length, `reads ${index}`)
    const writes = 2 * host.controllerNumWriteIops[index].value
    assert.ok(Math.abs(sum('diskWriteIops', index) - writes) <= drives.length, `writes ${index}`)
    assert.equal(sum('diskCapacityBytes', index), host.storageCapacityBytes[index].value)
    assert.ok(Math.abs(sum('diskUsageBytes', index) - host.storageUsageBytes[index].value) <= drives.length)
  }
  assert.ok(values(host.controllerNumReadIops).some((value) => value > 0))
  for (const disk of disks)
    for (const [index, { value: capacity }] of disk.diskCapacityBytes.entries()) {
      assert.equal(disk.diskUsageBytes[index].value + disk.diskFreeBytes[index].value, capacity)
      assert.ok(disk.diskUsageBytes[index].value > 0)
      assert.equal(disk.diskNumIops[index].value, disk.diskReadIops[index].value + disk.diskWriteIops[index].value)
      for (const name of ['diskReadIoPpm', 'diskWriteIoPpm', 'diskUsagePpm'])
        assert.ok(disk[name][index].value >= 0 && disk[name][index].value <= 1e6, name)
    }
})

test('an SSD serves more than a hard disk, and faster', async () => {
  const [ssd, hdd] = await Promise.all([drives[1], drives[2]].map(async (extId) => (await read(extId as string)).data))
  const total = (series: any): number => values(series).reduce((sum, value) => sum + value, 0)
  assert.ok(total(ssd.diskReadIops) > 4 * total(hdd.diskReadIops))
  assert.ok(total(ssd.diskAvgIoLatencyMicrosec) < total(hdd.diskAvgIoLatencyMicrosec))
})

test('48: ninety days at 30 s have at most 3,000 points in each series, and a message says so', async () => {
  const answer = await read(drives[1] as string, `${span(90 * 24 * 3600)}&$samplingInterval=30`)
  const lengths = Object.values(answer.data).flatMap((series) => (Array.isArray(series) ? series.length : []))
  assert.ok(lengths.length === 33 && lengths.every((length) => length > 1000 && length <= 3000), String(lengths))
  assert.match(JSON.stringify(answer.warnings), /widened from 30 s/)
})

test('the same window twice is equal to the byte, also while the disk is slow or its neighbour fails', async () => {
  const window = span(3600)
  const before = JSON.stringify((await read(drives[2] as string, window)).data)
  assert.equal(JSON.stringify((await read(drives[2] as string, window)).data), before)
  await happen(app, { type: 'DISK_SLOWS', disk: drives[2] as string }, { duration: 'PT30M' })
  await app.clock.advance(3_600_000)
  assert.equal(
    JSON.stringify((await read(drives[2] as string, window)).data.diskReadIops),
    JSON.stringify(JSON.parse(before).diskReadIops),
  )
  const later = (await read(drives[2] as string, `${span(3600)}&$samplingInterval=600`)).data
  const [slow, fast] = [0, 5].map((index) => later.diskPeakReadIoAvgLatencyMicrosec[index].value)
  assert.ok(slow > 5 * fast, `${slow} ${fast}`)
})

test('a disk has no points for the time in which it was offline', async () => {
  const disk = drives[4] as string
  await happen(app, { type: 'DISK_GOES_OFFLINE', disk }, { duration: 'PT5M' })
  await app.clock.advance(600_000)
  const { data } = await read(disk, span(600))
  assert.equal(data.diskNumIops.length, 10)
  const times = data.diskNumIops.map(({ timestamp }: any) => Date.parse(timestamp))
  assert.ok(times.every((time: number) => time > app.clock.now() - 300_000 - 1000))
})

test('a faulty span is refused; v4.0 answers the last hour', async () => {
  const [disk = ''] = drives
  assert.equal((await read(disk, '')).status, 400)
  const reversed = await read(disk, `${span(-60)}`)
  assert.deepEqual([reversed.status, reversed.errors[0]?.code], [400, 'PLAT-10008'])
  assert.equal((await read(disk, `${span(60)}&$samplingInterval=0`)).status, 400)
  assert.equal((await read(disk, `${span(60)}&$statType=FOO`)).status, 400)
  assert.equal((await read(disk, '', 'v4.0')).data.diskNumIops.length, 120)
  assert.equal((await read('5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11')).status, 404)
})
