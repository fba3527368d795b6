/** Gateways whose host fails, upgrades, and their BGP sessions meanwhile. Source: behaviour networking.md 1.9, 5 (32, 34). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { diskFacts, domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { hostOfAppliance, vtep } from '../../kinds/networking/gateway.ts'
import { setFault } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, changed as changedVm, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import { startApp, type TestApp, type TestSettings } from '../../support/start-app.ts'
import { changed, demoRoutes, ip, made, put, removed } from '../../support/vpcs.ts'

const gateways = '/networking/v4.3/config/gateways'
const session = `/networking/v4.3/config/bgp-sessions/${seedId('bgp-session/prod-tor-a')}`
const gateway = `${gateways}/${seedId('gateway/bgp-prod')}`
const cluster = seedId('cluster/hp-native-01')

async function withApp(settings: TestSettings, work: (app: TestApp) => Promise<void>): Promise<void> {
  const app = await startApp({ logLevel: 'silent', ...settings })
  try {
    await work(app)
    await checkInvariants(app)
  } finally {
    await app.close()
  }
}

const read = async (app: TestApp, path: string): Promise<any> => (await app.call('GET', path)).data
const states = async (app: TestApp): Promise<unknown> => [
  (await read(app, gateway)).status.state,
  (await read(app, session)).status.state,
]
const dynamic = async (app: TestApp): Promise<string[]> =>
  (await app.call('GET', `${demoRoutes('prod')}?$limit=100&$filter=routeType eq 'DYNAMIC'`)).data.map(
    ({ extId }: any) => extId,
  )

test('a failed host takes gateway and session down, and the appliance restarts on another host with the same routes', () =>
  withApp({}, async (app) => {
    const before = await dynamic(app)
    const host = await hostOfAppliance(app)
    await happen(app, { type: 'HOST_FAILS', host })
    assert.deepEqual(await states(app), ['DOWN', 'DOWN'])
    assert.match((await read(app, session)).status.message, /the host of the gateway does not answer/)
    assert.deepEqual(await dynamic(app), [])
    await app.clock.advance(5000)
    await app.runner.idle()
    assert.equal((await read(app, gateway)).status.state, 'UP')
    assert.notEqual(await hostOfAppliance(app), host)
    const { vmReference } = await read(app, gateway)
    const held = await app.store.findWhere(HostAllocation, { vmExtId: vmReference })
    assert.deepEqual(
      held.map(({ hostExtId }) => hostExtId),
      [await hostOfAppliance(app)],
    )
    await app.clock.advance(10_000)
    assert.deepEqual(await states(app), ['UP', 'UP'])
    assert.deepEqual(await dynamic(app), before)
    await happen(app, { type: 'HOST_RETURNS', host })
    await app.clock.advance(5000)
    assert.deepEqual(await states(app), ['UP', 'UP'])
  }))

test('with natural durations a recovery takes 20 to 60 s, and shows its states in order', () =>
  withApp({ config: { durations: 'natural' } }, async (app) => {
    await happen(app, { type: 'HOST_FAILS', host: await hostOfAppliance(app) })
    const seen = new Set<string>()
    let seconds = 0
    for (; seconds < 90 && (seconds < 5 || (await read(app, gateway)).status.state !== 'UP'); seconds++) {
      await app.clock.advance(1000)
      seen.add((await read(app, gateway)).status.state)
    }
    assert.deepEqual([...seen], ['DOWN', 'RECOVERY_STARTED', 'RECOVERY_IN_PROGRESS', 'RECOVERY_COMPLETED', 'UP'])
    assert.ok(seconds >= 20 && seconds <= 70, `${seconds} s`)
  }))

test('an appliance leaves a host that enters maintenance without an interruption of its session', () =>
  withApp({}, async (app) => {
    const host = await hostOfAppliance(app)
    await app.store.transaction((store) => store.update(Host, host, { maintenanceState: 'in_maintenance' }))
    await app.clock.advance(5000)
    await app.runner.idle()
    assert.notEqual(await hostOfAppliance(app), host)
    assert.deepEqual(await states(app), ['UP', 'UP'])
    await app.store.transaction((store) => store.update(Host, host, { maintenanceState: 'normal' }))
  }))

test('a gateway on a failed host cannot be upgraded, but can be updated and deleted', () =>
  withApp({}, async (app) => {
    const path = await made(app, gateways, vtep('stranded'))
    const host = await hostOfAppliance(app, path.slice(-36))
    await happen(app, { type: 'HOST_FAILS', host })
    const upgrade = await app.call('POST', `${path}/$actions/upgrade`)
    assert.equal(upgrade.status, 409)
    assert.match(upgrade.errors[0]!.message, /is DOWN: the host of the gateway does not answer/)
    const managementInterface = { subnetReference: seedId('subnet/vlan-100-app'), address: ip('10.10.100.185') }
    await changed(app, path, { deployment: { managementInterface } })
    // The change cut the appliance off from its host: its recovery starts it elsewhere.
    await app.clock.advance(5000)
    await app.runner.idle()
    assert.deepEqual((await read(app, path)).status, { state: 'UP' })
    assert.notEqual(await hostOfAppliance(app, path.slice(-36)), host)
    await happen(app, { type: 'HOST_FAILS', host: await hostOfAppliance(app, path.slice(-36)) })
    await removed(app, path)
  }))

test('an appliance whose host failed restarts there when the host returns, if no other host can take it', () =>
  withApp({}, async (app) => {
    const path = await made(app, gateways, vtep('waiting'))
    const extId = path.slice(-36)
    const host = await hostOfAppliance(app, extId)
    const others = (await app.store.findWhere(Host, { 'cluster/uuid': cluster })).filter((each) => each.extId !== host)
    const setOthers = async (maintenanceState: string): Promise<void> => {
      for (const other of others)
        await app.store.transaction((store) => store.update(Host, other.extId, { maintenanceState }))
    }
    await setOthers('in_maintenance')
    await happen(app, { type: 'HOST_FAILS', host })
    const managementInterface = { subnetReference: seedId('subnet/vlan-100-app'), address: ip('10.10.100.186') }
    await changed(app, path, { deployment: { managementInterface } })
    await app.clock.advance(5000)
    await app.runner.idle()
    assert.equal((await read(app, path)).status.state, 'DOWN')
    await happen(app, { type: 'HOST_RETURNS', host })
    await app.clock.advance(5000)
    await app.runner.idle()
    assert.deepEqual((await read(app, path)).status, { state: 'UP' })
    assert.equal(await hostOfAppliance(app, extId), host)
    const { vmReference } = await read(app, path)
    const held = await app.store.findWhere(HostAllocation, { vmExtId: vmReference })
    assert.deepEqual(
      held.map(({ hostExtId }) => hostExtId),
      [host],
    )
    await setOthers('normal')
  }))

test('after an update that ran during a recovery, the status shows no state of the recovery', () =>
  withApp({ config: { durations: 'natural' } }, async (app) => {
    await happen(app, { type: 'HOST_FAILS', host: await hostOfAppliance(app) })
    for (let second = 0; second < 10; second++) await app.clock.advance(1000)
    assert.match((await read(app, gateway)).status.state, /^RECOVERY_/)
    const accepted = await put(app, gateway, { description: 'changed meanwhile' })
    assert.equal(accepted.status, 202)
    await app.clock.advance(120_000)
    assert.equal((await app.task(accepted)).status, 'SUCCEEDED')
    assert.deepEqual((await read(app, gateway)).status, { state: 'UP' })
  }))

test('no gateway is upgraded while its cluster cannot be reached', () =>
  withApp({}, async (app) => {
    await setFault(app, cluster, { isDown: true })
    const refused = await app.call('POST', `${gateway}/$actions/upgrade`)
    assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [503, 'CLUSTER_UNREACHABLE'])
    await setFault(app, cluster)
    assert.equal((await app.task(await app.call('POST', `${gateway}/$actions/upgrade`))).status, 'SUCCEEDED')
  }))

test('an upgrade takes the session down for a while, and changes the version and the disk', () =>
  withApp({ config: { durations: 'natural' } }, async (app) => {
    const { installedSoftwareVersion: old, supportedSoftwareVersion, vmReference } = await read(app, gateway)
    assert.notEqual(old, supportedSoftwareVersion)
    const [disk] = domainFacts(app.world).get(vmReference)!.domain.diskExtIds
    const accepted = await app.call('POST', `${gateway}/$actions/upgrade`)
    assert.equal(accepted.status, 202)
    assert.deepEqual((await read(app, gateway)).status, { state: 'DOWN', message: 'upgrading' })
    assert.equal((await put(app, gateway, { description: 'busy' })).errors[0]!.code, 'NETWORKING-10072')
    assert.equal((await app.call('POST', `${gateway}/$actions/upgrade`)).status, 409)
    let down = 0
    let seconds = 0
    for (; seconds < 200 && (await read(app, gateway)).status.state !== 'UP'; seconds++) {
      await app.clock.advance(1000)
      if ((await read(app, session)).status.state !== 'UP') down++
    }
    assert.ok(seconds >= 60 && seconds <= 180, `${seconds} s`)
    assert.ok(down >= 10 && down <= 42, `down for ${down} s`)
    assert.equal((await app.task(accepted)).operation, 'kGatewayUpgrade')
    assert.deepEqual(await states(app), ['UP', 'UP'])
    assert.equal((await read(app, gateway)).installedSoftwareVersion, supportedSoftwareVersion)
    assert.equal(diskFacts(app.world).get(disk!), undefined)
    const again = await app.call('POST', `${gateway}/$actions/upgrade`)
    assert.equal(again.status, 409)
    assert.match(again.errors[0]!.message, new RegExp(`already at ${supportedSoftwareVersion}`))
  }))

test('a failed upgrade boots the old image', () =>
  withApp(
    {
      beforeStep(definition, step, phase) {
        if (phase === 'run' && `${definition} ${step}` === 'networking.upgrade-gateway wait for its agent')
          throw new Error('no')
      },
    },
    async (app) => {
      const before = await read(app, gateway)
      const disks = domainFacts(app.world).get(before.vmReference)!.domain.diskExtIds
      const task = await app.task(await app.call('POST', `${gateway}/$actions/upgrade`))
      assert.equal(task.status, 'FAILED')
      assert.deepEqual(domainFacts(app.world).get(before.vmReference)!.domain.diskExtIds, disks)
      await app.clock.advance(40_000)
      assert.deepEqual(await states(app), ['UP', 'UP'])
      assert.equal((await read(app, gateway)).installedSoftwareVersion, before.installedSoftwareVersion)
    },
  ))

test('a remote gateway has no software to upgrade', () =>
  withApp({}, async (app) => {
    const { status, errors } = await app.call('POST', `${gateways}/${seedId('gateway/tor-a')}/$actions/upgrade`)
    assert.deepEqual([status, errors[0]!.code], [400, 'NETWORKING-10001'])
  }))

/** Runs VMs until no host has 4 GiB left. */
async function fill(app: TestApp): Promise<void> {
  const native = { extId: cluster, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
  for (const size of [64, 16, 4])
    for (let isRoomLeft = true; isRoomLeft; ) {
      const { extId } = await aVm(app, native, { name: 'filler', memorySizeBytes: size * GiB })
      isRoomLeft = (await changedVm(app, extId, 'power-on')).status === 'SUCCEEDED'
    }
}

test('on a full cluster the creation fails, and leaves no VM, disk, lease or row', () =>
  withApp({}, async (app) => {
    await fill(app)
    const present = async () => [
      (await app.store.find(Gateway)).map(({ extId }) => extId),
      (await app.store.find(AddressLease)).map(({ extId }) => extId),
      (await app.store.find(HostAllocation)).map(({ extId }) => extId),
      [...domainFacts(app.world).all().keys()],
      [...diskFacts(app.world).all().keys()],
    ]
    const before = await present()
    const task = await app.task(await app.call('POST', gateways, { body: vtep('homeless') }))
    assert.equal(task.status, 'FAILED')
    assert.match(task.errorMessages[0].message, /no host can run the gateway homeless/)
    assert.deepEqual(await present(), before)
  }))

test('while all hosts are in maintenance, no host can run a gateway', () =>
  withApp({}, async (app) => {
    const hosts = await app.store.findWhere(Host, { 'cluster/uuid': cluster })
    const setAll = async (maintenanceState: string): Promise<void> => {
      for (const { extId } of hosts)
        await app.store.transaction((store) => store.update(Host, extId, { maintenanceState }))
    }
    await setAll('in_maintenance')
    const task = await app.task(await app.call('POST', gateways, { body: vtep('homeless') }))
    assert.match(task.errorMessages[0].message, /no host can run the gateway homeless/)
    await setAll('normal')
  }))

test('with natural durations a creation takes 30 to 90 s, shows as deploying, and can be cancelled until the appliance starts', () =>
  withApp({ config: { durations: 'natural' } }, async (app) => {
    const accepted = await app.call('POST', gateways, { body: vtep('slow') })
    const [{ extId }] = (await app.call('GET', `${gateways}?$filter=name eq 'slow'`)).data
    const path = `${gateways}/${extId}`
    assert.deepEqual((await read(app, path)).status, { state: 'DOWN', message: 'deploying' })
    assert.equal((await app.call('DELETE', path)).errors[0]!.code, 'NETWORKING-10072')
    let seconds = 0
    for (; seconds < 120 && (await read(app, path)).status.state !== 'UP'; seconds++) await app.clock.advance(1000)
    assert.ok(seconds >= 25 && seconds <= 90, `${seconds} s`)
    assert.equal((await app.task(accepted)).status, 'SUCCEEDED')

    const second = await app.call('POST', gateways, { body: vtep('cancelled') })
    await app.clock.advance(1000)
    const canceled = await app.call('POST', `/platform/v4.3/config/tasks/${second.data.extId}/$actions/cancel`)
    assert.equal(canceled.status, 200)
    await app.clock.advance(60_000)
    assert.equal((await app.task(second)).status, 'CANCELED')
    assert.equal((await app.call('GET', `${gateways}?$filter=name eq 'cancelled'`)).total, 0)
  }))
