import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { vmStatsOperations } from '@hyperplane/contract/vmm/vm/statistics/vm-stats'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { notePower } from '../../../src/domains/virtual-machines/power-journal.ts'
import { beginning, startApp, type TestApp } from '../../support/start-app.ts'

const path = '/vmm/v4.2/ahv/stats/vms'
const web = seedId('vm/web-01')
const database = seedId('vm/db-01')
const off = seedId('vm/template-source')

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const iso = (secondsAgo: number): string => new Date(beginning - 1000 * secondsAgo).toISOString()
const during = (secondsAgo: number, untilSecondsAgo = 0): string =>
  `$startTime=${iso(secondsAgo)}&$endTime=${iso(untilSecondsAgo)}`
const read = (target: string, query: string) => app.call('GET', `${path}${target}?${query}`)
async function pointsOf(target: string, query: string): Promise<any[]> {
  const { status, data, errors } = await read(target, query)
  assert.equal(status, 200, JSON.stringify(errors))
  return data.stats ?? []
}
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

describe('data points of a VM', () => {
  test('related values agree: iops, shares, bandwidth, time and sizes', async () => {
    for (const interval of [30, 300, 3600]) {
      const points = await pointsOf(`/${database}`, `${during(86_400)}&$samplingInterval=${interval}`)
      assert.equal(points.length, 86_400 / interval)
      for (const point of points) {
        assert.equal(point.controllerNumIops, point.controllerNumReadIops + point.controllerNumWriteIops)
        assert.equal(point.hypervisorNumIops, point.hypervisorNumReadIops + point.hypervisorNumWriteIops)
        assert.equal(point.controllerNumIo, point.controllerNumIops * 30)
        const whole = point.controllerNumIo === 0 ? 0 : 1e6
        assert.equal(point.controllerReadIoPpm + point.controllerWriteIoPpm, whole)
        assert.equal(point.controllerRandomIoPpm + point.controllerSeqIoPpm, whole)
        assert.equal(point.controllerNumRandomIo + point.controllerNumSeqIo, point.controllerNumIo)
        const bandwidth = point.controllerNumReadIops * point.controllerAvgReadIoSizeKb
        assert.ok(Math.abs(bandwidth - point.controllerReadIoBandwidthKbps) <= point.controllerNumReadIops)
        assert.equal(point.controllerTotalIoSizeKb, point.controllerIoBandwidthKbps * 30)
        assert.equal(point.controllerTotalIoTimeMicros, point.controllerNumIo * point.controllerAvgIoLatencyMicros)
        assert.ok(point.hypervisorCpuUsagePpm >= 0 && point.hypervisorCpuUsagePpm <= 1e6)
        assert.ok(point.guestMemoryUsagePpm >= 150_000 && point.guestMemoryUsagePpm <= 900_000)
        assert.ok(point.hypervisorMemoryUsagePpm >= point.guestMemoryUsagePpm && point.hypervisorMemoryUsagePpm <= 1e6)
        assert.ok(point.controllerWss120SecondUnionMb <= point.controllerWss3600SecondUnionMb)
        assert.ok(point.controllerUserBytes <= point.diskCapacityBytes)
        for (const [name, value] of Object.entries(point)) {
          if (typeof value === 'number') assert.ok(Number.isInteger(value) && value >= 0, `${name} ${value}`)
        }
      }
    }
  })

  test('the I/O of a VM is the sum of the I/O of its disks', async () => {
    const vm = await app.store.get(Vm, database)
    for (const type of ['AVG', 'SUM', 'LAST']) {
      const query = `${during(3600)}&$samplingInterval=300&$statType=${type}`
      const points = await pointsOf(`/${database}`, query)
      const ofDisks = await Promise.all(
        (vm?.disks ?? []).map((disk: any) => pointsOf(`/${database}/disks/${disk.extId}`, query)),
      )
      for (const [index, point] of points.entries()) {
        for (const name of [
          'controllerNumIops',
          'controllerNumReadIo',
          'controllerIoBandwidthKbps',
          'controllerUserBytes',
        ]) {
          assert.equal(point[name], sum(ofDisks.map((disk) => disk[index][name])), `${type} ${name}`)
        }
      }
    }
  })

  test('a point has the same values in every time span that contains it', async () => {
    const [one, two] = [await pointsOf(`/${web}`, during(7200)), await pointsOf(`/${web}`, during(7200))]
    assert.deepEqual(one, two)
    assert.deepEqual(await pointsOf(`/${web}`, during(3600)), one.slice(120))
  })

  test('a new world has 24 h of history', async () => {
    assert.equal((await pointsOf(`/${web}`, `${during(86_400)}&$samplingInterval=3600`)).length, 24)
  })

  test('timestamps are ascending multiples of the interval in (start, end], and an end in the future counts as now', async () => {
    const points = await pointsOf(`/${web}`, `$startTime=${iso(100)}&$endTime=${iso(-5000)}&$samplingInterval=7`)
    const times = points.map(({ timestamp }) => (Date.parse(timestamp) - beginning) / 1000)
    assert.deepEqual(times, [-90, -60, -30, 0])
    const sixty = await pointsOf(`/${web}`, `${during(300)}&$samplingInterval=60`)
    assert.equal(sixty.length, 5)
    assert.match(sixty[0].timestamp, /^2026-03-02T08:56:00\.000000Z$/)
  })

  test('each operator aggregates the samples of its bucket', async () => {
    const raw = (await pointsOf(`/${web}`, during(300))).map((point) => point.hypervisorCpuUsagePpm)
    const by = async (type: string): Promise<number> =>
      (await pointsOf(`/${web}`, `${during(300)}&$samplingInterval=300&$statType=${type}`))[0].hypervisorCpuUsagePpm
    assert.equal(raw.length, 10)
    assert.equal(await by('SUM'), sum(raw))
    assert.equal(await by('AVG'), Math.round(sum(raw) / 10))
    assert.equal(await by('MIN'), Math.min(...raw))
    assert.equal(await by('MAX'), Math.max(...raw))
    assert.equal(await by('LAST'), raw.at(-1))
    assert.equal(await by('COUNT'), 10)
  })

  test('a powered-off VM has a gap in all series except the storage that its disks use', async () => {
    const points = await pointsOf(`/${off}`, during(300))
    assert.equal(points.length, 10)
    for (const point of points) {
      assert.equal(point.hypervisorCpuUsagePpm, undefined)
      assert.equal(point.controllerNumIops, undefined)
      assert.ok(point.diskCapacityBytes > 0)
    }
    assert.deepEqual(await pointsOf(`/${off}`, `${during(300)}&$select=stats/hypervisorCpuUsagePpm`), [])
  })

  test('each value covers one period of constant power state and host', async () => {
    const other = await startApp()
    const vm = await other.store.get(Vm, web)
    const at = (seconds: number): string => iso(seconds).replace('Z', '000Z')
    await other.store.transaction(async (tx) => {
      await notePower(tx, { uuid: randomUUID }, { ...vm!, powerState: 'OFF' }, 'OFF', at(600))
      await notePower(tx, { uuid: randomUUID }, vm!, 'ON', at(300))
    })
    const { data } = await other.call(
      'GET',
      `${path}/${web}?${during(900)}&$select=stats/hypervisorCpuUsagePpm,stats/hypervisorVmRunningTimeUsecs`,
    )
    await other.close()
    assert.equal(data.stats.length, 20)
    const running = data.stats.map((point: any) => point.hypervisorVmRunningTimeUsecs / 1e6)
    assert.deepEqual(running.slice(-10), [30, 60, 90, 120, 150, 180, 210, 240, 270, 300])
    assert.ok(data.stats[10].hypervisorCpuUsagePpm >= 600_000)
  })

  test('$select returns only the named statistics with their timestamps, and unknown names are 400', async () => {
    const [point] = await pointsOf(`/${web}`, `${during(30)}&$select=stats/checkScore,stats/cluster`)
    assert.deepEqual(Object.keys(point).sort(), ['checkScore', 'cluster', 'timestamp'])
    assert.equal(point.checkScore, 100)
    assert.equal(point.cluster, seedId('cluster/hp-native-01'))
    assert.equal((await read(`/${web}`, `${during(30)}&$select=extId`)).data.stats, undefined)
    assert.ok((await pointsOf(`/${web}`, `${during(30)}&$select=*`))[0].hypervisorType === 'AHV')
    assert.equal((await read(`/${web}`, `${during(30)}&$select=stats/nothing`)).status, 400)
  })

  test('invalid time spans and options are refused with 400', async () => {
    for (const query of [
      `$endTime=${iso(0)}`,
      `$startTime=${iso(100)}`,
      `$startTime=yesterday&$endTime=${iso(0)}`,
      during(0, 100),
      during(100, 100),
      `${during(100)}&$samplingInterval=0`,
      `${during(100)}&$samplingInterval=-30`,
      `${during(100)}&$samplingInterval=often`,
      `${during(100)}&$statType=MEDIAN`,
    ]) {
      assert.equal((await read(`/${web}`, query)).status, 400, query)
    }
  })

  test('a span with too many points gets a larger interval and a message about it', async () => {
    const answer = await read(`/${web}`, `${during(9 * 86_400)}&$samplingInterval=30&$select=stats/checkScore`)
    assert.ok(answer.data.stats.length <= 3000)
    assert.match(answer.warnings[0] as string, /widened from 30 s to 270 s/)
    const times = answer.data.stats.map(({ timestamp }: any) => Date.parse(timestamp))
    assert.ok(times.every((time: number) => time % 270_000 === 0))
  })

  test('a span before the creation of the VM is empty and no error', async () => {
    assert.deepEqual(await pointsOf(`/${web}`, during(60 * 86_400, 59 * 86_400)), [])
    assert.deepEqual(await pointsOf(`/${web}`, `$startTime=2020-01-01T00:00:00Z&$endTime=2020-01-02T00:00:00Z`), [])
  })
})

describe('statistics of disks and NICs', () => {
  test('the statistics of a NIC show dropped packets, those of a disk its I/O, and both name their VM', async () => {
    const vm = await app.store.get(Vm, web)
    const nic = await read(`/${web}/nics/${(vm?.nics?.[0] as any).extId}`, during(60))
    assert.equal(nic.data.vmExtId, web)
    assert.deepEqual(Object.keys(nic.data.stats[0]).sort(), [
      'networkDroppedReceivedPackets',
      'networkDroppedTransmittedPackets',
      'timestamp',
    ])
    const disk = await read(`/${web}/disks/${(vm?.disks?.[0] as any).extId}`, `${during(60)}&$select=stats`)
    assert.equal(disk.data.stats.length, 2)
    assert.equal(disk.data.vmExtId, undefined)
  })

  test('an unknown VM, disk or NIC, and a disk of another VM, are 404', async () => {
    const other = await app.store.get(Vm, database)
    for (const target of [
      `/${randomUUID()}`,
      `/${web}/disks/${randomUUID()}`,
      `/${web}/nics/${randomUUID()}`,
      `/${web}/disks/${(other?.disks?.[0] as any).extId}`,
    ]) {
      const answer = await read(target, during(60))
      assert.equal(answer.status, 404)
      assert.equal(answer.errors[0]?.code, 'VMM-20005')
    }
  })
})

describe('listVmStats', () => {
  test('the list has one item for each VM, and pages', async () => {
    const total = await app.store.count(Vm)
    const { data, total: shown } = await read('', `${during(60)}&$limit=2&$page=1`)
    assert.equal(shown, total)
    assert.equal(data.length, 2)
    assert.ok(data.every(({ stats }: any) => stats.length === 2))
  })

  test('a filter on CPU returns only VMs whose aggregate passes', async () => {
    const each = (await read('', `${during(3600)}&$samplingInterval=3600&$select=stats/hypervisorCpuUsagePpm`)).data
    const limit = each
      .map(({ stats = [] }: any) => stats[0]?.hypervisorCpuUsagePpm ?? 0)
      .sort((a: number, b: number) => a - b)[3]
    const { data } = await read(
      '',
      `${during(3600)}&$filter=stats/hypervisorCpuUsagePpm gt ${limit}&$orderby=stats/hypervisorCpuUsagePpm desc`,
    )
    assert.ok(data.length > 0 && data.length < each.length)
    const means = data.map(
      ({ stats }: any) => sum(stats.map((point: any) => point.hypervisorCpuUsagePpm)) / stats.length,
    )
    assert.ok(means.every((mean: number) => mean > limit - 1))
    assert.deepEqual(
      means,
      [...means].sort((a, b) => b - a),
    )
    const none = await read('', `${during(3600)}&$filter=stats/hypervisorCpuUsagePpm gt 1000000`)
    assert.equal(none.total, 0)
    const between = await read('', `${during(3600)}&$filter=stats/checkScore gt 99 and stats/checkScore lt 101`)
    assert.equal(between.total, each.filter(({ stats }: any) => stats[0]?.hypervisorCpuUsagePpm !== undefined).length)
  })

  test('every field that the contract lists can be filtered and ordered by', async () => {
    const { filter = [], orderby = [] } = vmStatsOperations.listVmStats
    for (const name of filter) {
      const literal = name === 'stats/cluster' || name === 'stats/hypervisorType' ? "'x'" : '1'
      assert.equal((await read('', `${during(60)}&$filter=${name} ne ${literal}&$select=extId`)).status, 200, name)
    }
    for (const name of orderby)
      assert.equal((await read('', `${during(60)}&$orderby=${name}&$select=extId`)).status, 200, name)
    assert.equal((await read('', `${during(60)}&$filter=stats/timestamp eq 1`)).status, 400)
  })
})
