/** Statistics of clusters and hosts. Source: behaviour clustermgmt.md 1.17, 3, acceptance 46 to 48. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Alert, OpenAlert } from '../../../src/domains/clustermgmt/alerts/alert.ts'
import { storagePoolOf } from '../../../src/domains/storage-space/capacity.ts'
import { advance, hostId, setFault } from '../../support/clustermgmt.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { beginning, startApp, type TestApp } from '../../support/start-app.ts'

const cluster = seedId('cluster/hp-native-01')
const stats = '/clustermgmt/v4.2/stats/clusters'
const config = '/clustermgmt/v4.2/config/clusters'

let app: TestApp
let hosts: string[]
before(async () => {
  app = await startApp()
  const { data } = await app.call('GET', `${config}/${cluster}/hosts`)
  hosts = data.map(({ extId }: { extId: string }) => extId)
})
after(() => app.close())

const iso = (secondsAgo: number): string => new Date(beginning - 1000 * secondsAgo).toISOString()
const during = (secondsAgo: number, untilSecondsAgo = 0): string =>
  `$startTime=${iso(secondsAgo)}&$endTime=${iso(untilSecondsAgo)}`
const hostPath = (extId: string): string => `${stats}/${cluster}/hosts/${extId}`

async function read(path: string, query: string): Promise<any> {
  const { status, data, errors } = await app.call('GET', `${path}?${query}`)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
const seriesIn = (data: any): [string, { timestamp: string; value: number }[]][] =>
  Object.entries<any>(data).filter(([, value]) => Array.isArray(value) && value[0]?.timestamp !== undefined)
const valuesOf = (series: readonly { value: number }[]): number[] => series.map(({ value }) => value)

describe('data points of a cluster', () => {
  test('the last five minutes have ten points in each series, at multiples of 30 s, oldest first', async () => {
    const data = await read(`${stats}/${cluster}`, during(300))
    const series = seriesIn(data)
    assert.ok(series.length >= 40, `${series.length} series`)
    for (const [name, points] of series) {
      assert.equal(points.length, 10, name)
      const times = points.map(({ timestamp }) => Date.parse(timestamp))
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      )
      for (const time of times) assert.equal(time % 30_000, 0)
      for (const { value } of points) {
        assert.ok(Number.isInteger(value) && value >= 0, `${name} ${value}`)
        if (name.includes('Ppm')) assert.ok(value <= 1e6, `${name} ${value}`)
      }
    }
    assert.deepEqual(
      valuesOf(data.controllerNumIops),
      data.controllerNumReadIops.map(({ value }: any, at: number) => value + data.controllerNumWriteIops[at].value),
    )
    assert.deepEqual(
      valuesOf(data.freePhysicalStorageBytes),
      data.storageCapacityBytes.map(({ value }: any, at: number) => value - data.storageUsageBytes[at].value),
    )
  })

  test('a cluster shows the sums of its hosts, and its hosts the I/O of the VMs that ran there and of the volume groups that they served', async () => {
    const whole = await read(`${stats}/${cluster}`, during(600))
    const parts = await Promise.all(hosts.map((extId) => read(hostPath(extId), during(600))))
    const sums = [
      'controllerNumReadIops',
      'controllerWriteIoBandwidthKbps',
      'cpuUsageHz',
      'memoryCapacityBytes',
      'overallMemoryUsageBytes',
    ]
    for (const name of sums) {
      const added = whole[name].map((_: unknown, at: number) =>
        parts.reduce((sum, part) => sum + part[name][at].value, 0),
      )
      assert.deepEqual(valuesOf(whole[name]), added, name)
    }
    const query = `${during(600)}&$filter=stats/cluster eq '${cluster}'&$limit=100`
    const { data: vms } = await app.call('GET', `/vmm/v4.2/ahv/stats/vms?${query}`)
    const read0 = vms.reduce((sum: number, { stats: [first] }: any) => sum + (first?.controllerNumReadIops ?? 0), 0)
    assert.ok(read0 > 0)
    let ofGroups = 0
    for (const { extId } of (await app.call('GET', '/volumes/v4.2/config/volume-groups')).data) {
      const { controllerNumReadIOPS } = await read(`/volumes/v4.2/stats/volume-groups/${extId}`, during(600))
      ofGroups += controllerNumReadIOPS[0].value
    }
    assert.ok(ofGroups > 0)
    assert.equal(whole.controllerNumReadIops[0].value, read0 + ofGroups)
  })

  test('90 days have at most 3,000 points a series, and the answer says that the interval was widened', async () => {
    const target = `${stats}/${cluster}?${during(90 * 86_400)}&$select=cpuUsageHz`
    const { status, data, warnings } = await app.call('GET', target)
    assert.equal(status, 200)
    assert.ok(data.cpuUsageHz.length > 2900 && data.cpuUsageHz.length <= 3000, `${data.cpuUsageHz.length} points`)
    assert.match(warnings.join(), /widened from 30 s/)
  })

  test('without $select, all series of an answer have at most 60,000 points together', async () => {
    const data = await read(`${stats}/${cluster}`, during(90 * 86_400))
    const points = seriesIn(data).reduce((sum, [, series]) => sum + series.length, 0)
    assert.ok(points > 40_000 && points <= 60_000, `${points} points`)
  })

  test('repeating a query returns equal values even later', async () => {
    const own = await startQuietDemo()
    try {
      const first = await own.call('GET', `${stats}/${cluster}?${during(3600)}`)
      await own.clock.advance(3600_000)
      const second = await own.call('GET', `${stats}/${cluster}?${during(3600)}`)
      for (const [name, points] of seriesIn(first.data))
        assert.ok(JSON.stringify(second.data[name]) === JSON.stringify(points), `${name} changed`)
    } finally {
      await own.close()
    }
  })

  test('operators return minimum, maximum, number and sum of the readings of an interval', async () => {
    const values: Record<string, number[]> = {}
    for (const type of ['MIN', 'AVG', 'MAX', 'COUNT', 'SUM', 'LAST']) {
      const query = `${during(3600)}&$samplingInterval=300&$statType=${type}&$select=controllerNumIops`
      values[type] = valuesOf((await read(`${stats}/${cluster}`, query)).controllerNumIops)
    }
    assert.deepEqual(values['COUNT'], Array(12).fill(10))
    for (const [at, mean] of (values['AVG'] as number[]).entries()) {
      assert.ok((values['MIN']?.[at] as number) <= mean + 1 && mean <= (values['MAX']?.[at] as number) + 1)
      assert.ok(Math.abs((values['SUM']?.[at] as number) / 10 - mean) <= 1)
    }
  })

  test('bounds surround the values that are usual at that hour', async () => {
    const query = `${during(600)}&$select=controllerNumIops,controllerNumIopsLowerBuf,controllerNumIopsUpperBuf`
    const data = await read(`${stats}/${cluster}`, query)
    assert.deepEqual(
      Object.keys(data)
        .filter((name) => name.startsWith('controller'))
        .toSorted(),
      ['controllerNumIops', 'controllerNumIopsLowerBuf', 'controllerNumIopsUpperBuf'],
    )
    const [lower] = valuesOf(data.controllerNumIopsLowerBuf) as [number]
    const [upper] = valuesOf(data.controllerNumIopsUpperBuf) as [number]
    assert.ok(lower < upper)
  })
})

test('47. a host with hardly any CPU left has no share above 1,000,000, nor a bound', async () => {
  const own = await startQuietDemo()
  try {
    const host = hostId('hp-n01-b')
    await own.store.transaction((store) => store.update(Host, host, { cpuCapacityHz: 6.5e9 }))
    const query = `${during(86_400)}&$samplingInterval=3600`
    const { data } = await own.call('GET', `${hostPath(host)}?${query}`)
    const shares = seriesIn(data).filter(([name]) => name.includes('Ppm'))
    const usage = valuesOf(data.hypervisorCpuUsagePpm)
    assert.ok(
      usage.some((value) => value > 900_000),
      `${usage}`,
    )
    for (const [name, points] of shares)
      for (const { value } of points) assert.ok(value >= 0 && value <= 1e6, `${name} ${value}`)
  } finally {
    await own.close()
  }
})

describe('requests that are refused', () => {
  const bad: readonly [string, string][] = [
    ['an interval of 0', `${during(300)}&$samplingInterval=0`],
    ['an unknown operator', `${during(300)}&$statType=FOO`],
    ['an end before the start', during(0, 300)],
    ['an end at the start', during(300, 300)],
    ['no span in v4.2', ''],
    ['an unknown series', `${during(300)}&$select=nope`],
  ]
  for (const [what, query] of bad)
    test(`${what} is 400`, async () => {
      for (const path of [`${stats}/${cluster}`, hostPath(hosts[0] as string)])
        assert.equal((await app.call('GET', `${path}?${query}`)).status, 400)
    })

  test('a host of another cluster is 404', async () => {
    const elsewhere = `${stats}/${seedId('cluster/cloud-1')}/hosts/${hosts[0]}`
    assert.equal((await app.call('GET', `${elsewhere}?${during(300)}`)).status, 404)
  })
})

test('v4.0 without a span returns the last hour', async () => {
  const { status, data } = await app.call('GET', `/clustermgmt/v4.0/stats/clusters/${cluster}`)
  assert.equal(status, 200)
  assert.equal(data.cpuUsageHz.length, 120)
  const end = await app.call(
    'GET',
    `/clustermgmt/v4.0/stats/clusters/${cluster}?$endTime=${iso(3600)}&$select=cpuUsageHz`,
  )
  assert.equal(end.data.cpuUsageHz.at(-1).timestamp.slice(0, 19), iso(3600).slice(0, 19))
})

test('the time in which a host was down has no points, even after the host returns', async () => {
  const own = await startApp()
  try {
    const [host = '', other = ''] = hosts
    const event = (type: 'HOST_FAILS' | 'HOST_RETURNS') => happen(own, { type, host })
    await event('HOST_FAILS')
    await own.clock.advance(600_000)
    const points = async (path: string) => {
      const query = `$startTime=${iso(300)}&$endTime=${new Date(beginning + 600_000).toISOString()}&$select=cpuCapacityHz`
      const { data } = await own.call('GET', `${path}?${query}`)
      return (data.cpuCapacityHz ?? []) as { value: number }[]
    }
    assert.equal((await points(hostPath(host))).length, 10)
    assert.equal((await points(hostPath(other))).length, 30)
    const whole = valuesOf(await points(`${stats}/${cluster}`))
    assert.ok((whole.at(-1) as number) < (whole[0] as number))
    await event('HOST_RETURNS')
    assert.equal((await points(hostPath(host))).length, 10)
  } finally {
    await own.close()
  }
})

test('alerts lower the health score of what they concern while they are open, and the past keeps its scores', async () => {
  const own = await startQuietDemo()
  try {
    const [first, second] = [hostId('hp-n01-a'), hostId('hp-n01-b')]
    const { data } = await own.call('GET', `/clustermgmt/v4.2/config/hosts?$filter=hostName eq 'hp-n01-b'`)
    const [{ serialId }] = data[0].disk
    const since = own.clock.iso()
    const scores = async () => {
      const query = `$startTime=${since}&$endTime=${own.clock.iso()}&$select=healthCheckScore`
      const paths = [`${stats}/${cluster}`, hostPath(first), hostPath(second)]
      return Promise.all(
        paths.map(async (path) => valuesOf((await own.call('GET', `${path}?${query}`)).data.healthCheckScore)),
      )
    }
    await own.clock.advance(60_000)
    assert.deepEqual(await scores(), Array(3).fill([100, 100]))
    await setFault(own, first, { slowdown: 8 })
    await advance(own, 1)
    assert.deepEqual(await scores(), [
      [100, 100, 74, 74],
      [100, 100, 74, 74],
      [100, 100, 100, 100],
    ])
    await happen(own, { type: 'DISK_FAILS', disk: serialId })
    await setFault(own, first)
    await advance(own, 1)
    const later = [
      [100, 100, 74, 74, 24, 24],
      [100, 100, 74, 74, 100, 100],
      [100, 100, 100, 100, 24, 24],
    ]
    assert.deepEqual(await scores(), later)
  } finally {
    await own.close()
  }
})

test('the health of a container falls with its own alerts and those of its storage pool', async () => {
  const own = await startQuietDemo()
  try {
    const filter = `$filter=clusterExtId eq '${cluster}'`
    const { data } = await own.call('GET', `/clustermgmt/v4.2/config/storage-containers?${filter}`)
    const [first, second] = data.map(({ containerExtId }: any) => containerExtId)
    const openedAt = own.clock.iso()
    const opened = (type: Alert['type'], entityKind: string, entityExtId: string): Promise<unknown> =>
      own.store.transaction((store) =>
        store.insert(OpenAlert, {
          ...{ extId: randomUUID(), clusterExtId: cluster, type, entityKind, entityExtId },
          ...{ entityName: 'low', text: 'Low.', openedAt },
        }),
      )
    const healthOf = async (container: string): Promise<number[]> => {
      const query = `$startTime=${openedAt}&$endTime=${own.clock.iso()}`
      return valuesOf(
        (await own.call('GET', `/clustermgmt/v4.2/stats/storage-containers/${container}?${query}`)).data.health,
      )
    }
    await own.clock.advance(30_000)
    await opened('STORAGE_CONTAINER_LOW', 'StorageContainer', first)
    assert.deepEqual([await healthOf(first), await healthOf(second)], [[74], [100]])
    await opened('STORAGE_POOL_LOW', 'StoragePool', storagePoolOf(cluster))
    assert.deepEqual(await healthOf(second), [74])
  } finally {
    await own.close()
  }
})
