/** Health and statistics of load balancer targets. Source: behaviour networking.md 1.14, 3.3, 3.4, 5 (38). */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { formatTime } from '../../../src/core/time/clock.ts'
import { ids } from '../../support/clustermgmt.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { balancerBody, balancerStats, balancers, demoBalancer, nicOf, toNics } from '../../support/load-balancers.ts'
import { aVm, bootDisk, changed as changedVm, type NativeCluster, nicOn } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { changed, made, removed, routingPolicies } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
const seconds = (count: number): Promise<unknown> => app.clock.advance(1000 * count)
const healthOf = async (path: string): Promise<string[]> =>
  (await app.call('GET', path)).data.targetsConfig.nicTargets.map(({ health }: any) => health)
const [good, bad] = ['HEALTHY', 'UNHEALTHY']
const web01 = seedId('vm/web-01')

async function aGuest(): Promise<any> {
  const body = { name: 'guest', disks: [bootDisk(cluster)], nics: [nicOn(seedId('subnet/web'))] }
  const { extId } = await aVm(app, cluster, body)
  await changedVm(app, extId, 'power-on')
  await seconds(5)
  return (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${extId}`)).data
}
const aBalancer = (nics: readonly string[], more: object = {}): Promise<string> =>
  made(app, balancers, balancerBody('test', { targetsConfig: toNics(...nics), ...more }))

test('the targets of the demo are healthy', async () => {
  assert.deepEqual(await healthOf(demoBalancer), [good, good])
})

test('a new target is healthy after its good checks, unhealthy after the failed ones of a VM that is off, and healthy again', async () => {
  const vm = await aGuest()
  const path = await aBalancer([vm.nics[0].extId])
  await seconds(14)
  assert.deepEqual(await healthOf(path), [bad])
  await seconds(1)
  assert.deepEqual(await healthOf(path), [good])
  const { etag } = await app.call('GET', path)
  await changedVm(app, vm.extId, 'power-off')
  await seconds(14)
  assert.deepEqual(await healthOf(path), [good])
  await seconds(1)
  assert.deepEqual(await healthOf(path), [bad])
  // Health is observed, so it does not change the tag.
  assert.equal((await app.call('GET', path)).etag, etag)
  await changedVm(app, vm.extId, 'power-on')
  await seconds(14)
  assert.deepEqual(await healthOf(path), [bad])
  await seconds(3)
  assert.deepEqual(await healthOf(path), [good])
  await changedVm(app, vm.extId, 'delete')
  await removed(app, path)
})

test('thresholds and interval of the session decide, also after an update', async () => {
  const config = { intervalSecs: 20, timeoutSecs: 1, successThreshold: 1, failureThreshold: 2 }
  const path = await aBalancer([await nicOf(app, 'web-01')], { healthCheckConfig: config })
  await seconds(19)
  assert.deepEqual(await healthOf(path), [bad])
  await seconds(1)
  assert.deepEqual(await healthOf(path), [good])
  await happen(app, { type: 'GUEST_PORT_CLOSES', vm: web01, port: 80 })
  await seconds(30)
  assert.deepEqual(await healthOf(path), [good])
  await changed(app, path, { healthCheckConfig: { ...config, intervalSecs: 10 } })
  assert.deepEqual(await healthOf(path), [bad])
  await happen(app, { type: 'GUEST_PORT_OPENS', vm: web01, port: 80 })
  await seconds(10)
  assert.deepEqual(await healthOf(path), [good])
  await removed(app, path)
})

test('a closed port makes only targets on that port unhealthy, and a short failure none', async () => {
  const path = await aBalancer([await nicOf(app, 'web-01'), await nicOf(app, 'web-02')])
  await seconds(15)
  const event = await happen(app, { type: 'GUEST_PORT_CLOSES', vm: web01, port: 80 })
  assert.match(event.effects[0], /does not answer on port 80/)
  await seconds(10)
  await happen(app, { type: 'GUEST_PORT_OPENS', vm: web01, port: 80 })
  await seconds(30)
  assert.deepEqual(await healthOf(path), [good, good])
  await happen(app, { type: 'GUEST_PORT_CLOSES', vm: web01, port: 80 })
  await seconds(15)
  assert.deepEqual(
    [await healthOf(path), await healthOf(demoBalancer)],
    [
      [bad, good],
      [good, good],
    ],
  )
  assert.deepEqual((await happen(app, { type: 'GUEST_PORT_CLOSES', vm: web01, port: 80 })).effects, [])
  await happen(app, { type: 'GUEST_PORT_CLOSES', vm: web01, port: 81 })
  const opened = await happen(app, { type: 'GUEST_PORT_OPENS', vm: web01 })
  assert.match(opened.effects[0], /answers on port 80, 81 again/)
  await seconds(15)
  assert.deepEqual(await healthOf(path), [good, good])
  await removed(app, path)
})

test('a guest that hangs, a host that fails and a NIC without connection fail the checks', async () => {
  const vm = await aGuest()
  const nic = vm.nics[0].extId
  const path = await aBalancer([nic])
  await seconds(15)
  assert.deepEqual(await healthOf(path), [good])
  await happen(app, { type: 'GUEST_HANGS', vm: vm.extId })
  await seconds(15)
  assert.deepEqual(await healthOf(path), [bad])
  await happen(app, { type: 'GUEST_RECOVERS', vm: vm.extId })
  await seconds(15)
  assert.deepEqual(await healthOf(path), [good])
  await connect(vm.extId, nic, false)
  await seconds(15)
  assert.deepEqual(await healthOf(path), [bad])
  await connect(vm.extId, nic, true)
  await seconds(25)
  assert.deepEqual(await healthOf(path), [good])
  const { host } = (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${vm.extId}`)).data
  await happen(app, { type: 'HOST_FAILS', host: host.extId })
  await seconds(16)
  assert.deepEqual(await healthOf(path), [bad])
  await happen(app, { type: 'HOST_RETURNS', host: host.extId })
  await seconds(300)
  assert.deepEqual(await healthOf(path), [good])
  await changedVm(app, vm.extId, 'delete')
  await removed(app, path)
})

async function connect(vm: string, nic: string, isConnected: boolean): Promise<void> {
  const path = `/vmm/v4.2/ahv/config/vms/${vm}/nics/${nic}`
  const { data, etag } = await app.call('GET', path)
  const body = { ...data, backingInfo: { ...data.backingInfo, isConnected } }
  delete body.nicBackingInfo
  const answer = await app.call('PUT', path, { body, ifMatch: etag as string, requestId: crypto.randomUUID() })
  const task = await app.task(answer)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
}

const statsOf = (path: string, from: number, to: number, more = ''): Promise<CallResult> =>
  app.call('GET', `${balancerStats(path)}?$startTime=${formatTime(from)}&$endTime=${formatTime(to)}${more}`)
const sumOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + Number(text), 0)

test('statistics: in every sample the targets add up to the listener, and the same request has the same answer', async () => {
  const now = app.clock.now()
  for (const type of ['LAST', 'SUM', 'AVG', 'MIN', 'MAX', 'COUNT']) {
    const request = (): Promise<CallResult> =>
      statsOf(demoBalancer, now - 3_600_000, now, `&$samplingInterval=300&$statType=${type}`)
    const { data } = await request()
    assert.equal(data.statType, type)
    const [{ virtualIpAddress, ...listener }] = data.listenerStats
    assert.equal(virtualIpAddress, '192.168.10.5')
    assert.deepEqual(
      data.targetStats.map(({ virtualNicReference }: any) => virtualNicReference),
      [await nicOf(app, 'web-01'), await nicOf(app, 'web-02')],
    )
    for (const name of ['numBytes', 'numPackets', 'numRequests']) {
      assert.equal(listener[name].length, 13)
      for (const [index, text] of listener[name].entries()) {
        assert.match(text, /^[0-9]+$/)
        assert.equal(Number(text), sumOf(data.targetStats.map((target: any) => target[name][index])))
      }
      assert.ok(sumOf(listener[name]) > 0, name)
    }
    assert.deepEqual((await request()).data, data)
  }
})

test('statistics: a target has no more traffic than its VM, and none while it is unhealthy', async () => {
  const path = await aBalancer([await nicOf(app, 'web-01')])
  const from = app.clock.now()
  await seconds(300)
  const healthyTill = app.clock.now()
  await happen(app, { type: 'GUEST_PORT_CLOSES', vm: web01, port: 80 })
  await seconds(300)
  const now = app.clock.now()
  const { data } = await statsOf(path, from, now)
  const bytes: string[] = data.listenerStats[0].numBytes
  assert.equal(bytes.length, 21)
  assert.equal(bytes[0], '0')
  assert.ok(
    bytes.slice(2, 10).every((text) => Number(text) > 0),
    bytes.join(),
  )
  assert.ok(
    bytes.slice(12).every((text) => text === '0'),
    bytes.join(),
  )
  const span = `$startTime=${formatTime(from)}&$endTime=${formatTime(healthyTill)}&$samplingInterval=300&$statType=SUM`
  const balanced = [demoBalancer, path].map(async (each) => {
    const { targetStats } = (await app.call('GET', `${balancerStats(each)}?${span}`)).data
    return Number(targetStats[0].numBytes[1])
  })
  const vm = (await app.call('GET', `/vmm/v4.2/ahv/stats/vms/${web01}?${span}&$select=*`)).data.stats
  const whole = vm.reduce(
    (sum: number, one: any) => sum + one.hypervisorNumReceivedBytes + one.hypervisorNumTransmittedBytes,
    0,
  )
  const [demo, own] = await Promise.all(balanced)
  assert.ok(own! > 0 && demo! > 0 && demo! + own! < whole, `${demo} and ${own} of ${whole}`)
  await happen(app, { type: 'GUEST_PORT_OPENS', vm: web01, port: 80 })
  await removed(app, path)
})

test('statistics: a listener has no more traffic than policies let pass, as traces to it say', async () => {
  const outcome = async (vm: string): Promise<string> => {
    const body = { source: { vm }, destination: { address: '192.168.10.5' }, destinationPort: 443 }
    return (await app.call('POST', '/control/v1/worlds/default/network/$actions/trace', { body })).data.outcome
  }
  const bytesOf30Seconds = async (): Promise<number> => {
    await app.clock.advance(60_000 - (app.clock.now() % 30_000))
    const now = app.clock.now()
    return sumOf((await statsOf(demoBalancer, now - 1000, now)).data.listenerStats[0].numBytes)
  }
  const any = { addressType: 'ANY' }
  const at = (value: string, prefixLength: number): object => ({
    addressType: 'SUBNET',
    subnetPrefix: { ipv4: { ip: { value, prefixLength: 32 }, prefixLength } },
  })
  const denied = (policyMatch: object): Promise<string> =>
    made(app, routingPolicies, {
      ...{ name: 'denied', priority: 900, vpcExtId: seedId('vpc/prod') },
      policies: [{ policyMatch, policyAction: { actionType: 'DENY' } }],
    })
  const tcp = (port: number): object => ({
    protocolType: 'TCP',
    protocolParameters: {
      $objectType: 'networking.v4.config.LayerFourProtocolObject',
      destinationPortRanges: [{ startPort: port, endPort: port }],
    },
  })
  assert.deepEqual([await outcome('db-01'), (await bytesOf30Seconds()) > 0], ['DELIVERED', true])
  for (const policyMatch of [
    { source: any, destination: any, protocolType: 'ANY' },
    { source: any, destination: any, ...tcp(443) },
    { source: any, destination: at('192.168.10.5', 32), protocolType: 'ANY' },
  ]) {
    const deny = await denied(policyMatch)
    assert.deepEqual([await outcome('db-01'), await bytesOf30Seconds()], ['DROPPED', 0], JSON.stringify(policyMatch))
    await removed(app, deny)
  }
  const otherPort = await denied({ source: any, destination: any, ...tcp(8443) })
  assert.deepEqual([await outcome('db-01'), (await bytesOf30Seconds()) > 0], ['DELIVERED', true])
  await removed(app, otherPort)
  const oneSource = await denied({ source: at('192.168.20.0', 24), destination: any, ...tcp(443) })
  assert.deepEqual([await outcome('db-01'), await outcome('web-02')], ['DROPPED', 'DELIVERED'])
  const now = app.clock.now() + 60_000 - (app.clock.now() % 30_000)
  const some = await bytesOf30Seconds()
  await removed(app, oneSource)
  assert.equal(app.clock.now(), now)
  assert.ok(some > 0 && some < (await bytesOf30Seconds()), `${some} bytes`)
})

test('statistics: a removed target keeps its history, and a deleted session is 404', async () => {
  const vm = await aGuest()
  const [one, two] = [await nicOf(app, 'web-01'), vm.nics[0].extId]
  const path = await aBalancer([one, two])
  const from = app.clock.now()
  await seconds(120)
  await changed(app, path, { targetsConfig: toNics(one) })
  const left = app.clock.now()
  const before = (await statsOf(path, from, left)).data
  assert.deepEqual(
    before.targetStats.map((target: any) => target.virtualNicReference),
    [one, two],
  )
  await seconds(120)
  assert.deepEqual((await statsOf(path, from, left)).data, before)
  const [, former] = (await statsOf(path, from, app.clock.now())).data.targetStats
  assert.ok(sumOf(former.numBytes) > 0)
  assert.ok(
    former.numBytes.slice(6).every((text: string) => text === '0'),
    former.numBytes.join(),
  )
  await changedVm(app, vm.extId, 'delete')
  await removed(app, path)
  assert.equal((await statsOf(path, from, left)).status, 404)
})

test('statistics: samples begin with the session, spans are checked, long spans are widened, and fields selected', async () => {
  const path = await aBalancer([await nicOf(app, 'web-01')])
  const created = app.clock.now()
  await seconds(60)
  const now = app.clock.now()
  assert.equal((await statsOf(path, created - 3_600_000, now)).data.listenerStats[0].numBytes.length, 3)
  assert.deepEqual((await statsOf(path, created - 7_200_000, created - 3_600_000)).data.listenerStats[0].numBytes, [])
  for (const [from, to] of [
    [now, now],
    [now, created],
  ] as const)
    assert.equal((await statsOf(path, from, to)).status, 400)
  assert.equal((await app.call('GET', balancerStats(path))).status, 400)
  const long = await statsOf(demoBalancer, now - 7 * 24 * 3_600_000, now)
  assert.ok(long.data.listenerStats[0].numBytes.length <= 3000)
  assert.match(long.warnings.join(), /widened/)
  const { data } = await statsOf(path, created, now, '&$select=targetStats')
  assert.deepEqual(
    [data.statType, data.listenerStats, data.targetStats.length, data.extId],
    ['LAST', undefined, 1, path.slice(-36)],
  )
  await removed(app, path)
})

test('health survives a restart of the service', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'balancers-'))
  const first = await startApp({ folder })
  let program: unknown
  try {
    await made(first, balancers, balancerBody('test', { targetsConfig: toNics(await nicOf(first, 'web-01')) }))
    await first.clock.advance(15_000)
    program = (await first.call('GET', balancers)).data
    assert.match(JSON.stringify(program), /"name":"test"/)
  } finally {
    await first.close()
  }
  const second = await startApp({ folder })
  try {
    assert.deepEqual((await second.call('GET', balancers)).data, program)
    await second.clock.advance(60_000)
    assert.deepEqual((await second.call('GET', balancers)).data, program)
  } finally {
    await second.close()
    rmSync(folder, { recursive: true })
  }
})
