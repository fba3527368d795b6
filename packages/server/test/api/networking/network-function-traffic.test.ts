/** Traffic that network functions redirect. Source: behaviour networking.md 1.2, 1.15, 3.1. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { formatTime } from '../../../src/core/time/clock.ts'
import { ids } from '../../support/clustermgmt.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, bootDisk, booted, type NativeCluster, nicOn } from '../../support/native-cluster.ts'
import { type Appliance, anAppliance, functionBody, networkFunctions } from '../../support/network-functions.ts'
import type { TestApp } from '../../support/start-app.ts'
import { ipConfigOf, subnets } from '../../support/subnets.ts'
import { changed, made, removed } from '../../support/vpcs.ts'

let app: TestApp
let firewall: Appliance
before(async () => {
  app = await startQuietDemo()
  firewall = await anAppliance(app, 'firewall')
  await booted(app, firewall.vm)
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
let count = 0

/** A healthy function. */
async function aFunction(more: object = {}): Promise<string> {
  const path = await made(app, networkFunctions, functionBody(`function-${++count}`, [firewall], more))
  await app.clock.advance(30_000)
  return path
}

async function aGuest(name: string, subnet: string, network: object = {}): Promise<string> {
  const nic = nicOn(subnet, network)
  const { extId } = await aVm(app, cluster, { name, disks: [bootDisk(cluster)], nics: [nic] })
  await booted(app, extId)
  await app.clock.advance(60_000)
  return extId
}

async function aSubnet(functionExtId?: string): Promise<string> {
  const number = 500 + ++count
  const net = `10.${number - 400}.0`
  const body = {
    ...{ name: `redirected-${number}`, subnetType: 'VLAN', networkId: number, clusterReference: ids.native },
    ipConfig: ipConfigOf({ ipv4: `${net}.0/24`, pools: [[`${net}.10`, `${net}.20`]] }),
    ...(functionExtId && { networkFunctionChainReference: functionExtId }),
  }
  return (await made(app, subnets, body)).slice(-36)
}

/** Outcome and reason, with the decisions of network functions. */
async function trace(source: string, destination: object): Promise<any> {
  const body = { source: { vm: source }, destination, destinationPort: 443 }
  const { status, data, errors } = await app.call('POST', '/control/v1/worlds/default/network/$actions/trace', { body })
  assert.equal(status, 200, JSON.stringify(errors))
  const functions = data.hops.filter(({ type }: any) => type === 'NETWORK_FUNCTION')
  return { ...data, functions: functions.map(({ decision, entity }: any) => `${entity.name} ${decision}`) }
}

const nextReading = (): Promise<unknown> => app.clock.advance(30_000 - (app.clock.now() % 30_000))

async function bytesOf(vmExtId: string, from: number, to: number): Promise<readonly [sent: number, received: number]> {
  const query = `$startTime=${formatTime(from)}&$endTime=${formatTime(to)}&$samplingInterval=30&$statType=SUM&$select=stats`
  const { data } = await app.call('GET', `/vmm/v4.2/ahv/stats/vms/${vmExtId}?${query}`)
  const sum = (name: string): number =>
    (data.stats ?? []).reduce((all: number, point: any) => all + (point[name] ?? 0), 0)
  return [sum('hypervisorNumTransmittedBytes'), sum('hypervisorNumReceivedBytes')]
}

test('packets of a subnet pass its function, and are dropped while no pair is healthy', async () => {
  const path = await aFunction()
  const subnet = await aSubnet(path.slice(-36))
  const guest = await aGuest('guarded', subnet)
  const { name } = (await app.call('GET', path)).data
  const passing = await trace('guarded', { address: '198.51.100.7' })
  assert.deepEqual(
    [passing.outcome, passing.functions],
    ['DELIVERED', [`${name} redirects the packet through the VM firewall`]],
  )
  await nextReading()
  const start = app.clock.now()
  await app.clock.advance(120_000)
  const [, whole] = await bytesOf(guest, start, app.clock.now())
  assert.ok(whole > 0)

  await happen(app, { type: 'GUEST_FAILS', vm: firewall.vm, fault: 'NETWORK_FUNCTION_DEAF' })
  await app.clock.advance(30_000)
  const cut = await trace('guarded', { address: '198.51.100.7' })
  assert.deepEqual([cut.outcome, cut.functions], ['DROPPED', [`${name} drops the packet: no pair of NICs is healthy`]])
  assert.match(cut.reason, /failure handling is FAIL_CLOSE/)
  await nextReading()
  const silent = app.clock.now()
  await app.clock.advance(120_000)
  const [sent, received] = await bytesOf(guest, silent, app.clock.now())
  assert.ok(sent > 0)
  assert.equal(received, 0)
  assert.equal((await bytesOf(guest, start, start + 120_000))[1], whole, 'the past stays as it was')

  await changed(app, path, { failureHandling: 'FAIL_OPEN' })
  const open = await trace('guarded', { address: '198.51.100.7' })
  assert.deepEqual(
    [open.outcome, open.functions],
    ['DELIVERED', [`${name} lets the packet pass: no pair of NICs is healthy`]],
  )
  await nextReading()
  const opened = app.clock.now()
  await app.clock.advance(120_000)
  assert.ok((await bytesOf(guest, opened, app.clock.now()))[1] > 0)
  await happen(app, { type: 'GUEST_RECOVERS', vm: firewall.vm })
  await removed(app, path)
  assert.deepEqual((await trace('guarded', { address: '198.51.100.7' })).functions, [])
})

test('a NIC may name a function, also in a VPC; packets between two NICs behind one function pass it once', async () => {
  const path = await aFunction()
  const chain = { networkFunctionChain: { extId: path.slice(-36) } }
  const guest = await aGuest('guarded-in-vpc', seedId('subnet/web'), chain)
  await aGuest('beside', seedId('subnet/web'), chain)
  assert.equal((await trace('guarded-in-vpc', { vm: 'beside' })).functions.length, 1)
  assert.equal((await trace('web-01', { vm: 'beside' })).functions.length, 1)
  assert.equal((await trace('web-01', { vm: 'web-02' })).functions.length, 0)
  await happen(app, { type: 'GUEST_FAILS', vm: firewall.vm, fault: 'NETWORK_FUNCTION_DEAF' })
  await app.clock.advance(30_000)
  assert.equal((await trace('web-01', { vm: 'beside' })).outcome, 'DROPPED')
  await nextReading()
  const start = app.clock.now()
  await app.clock.advance(60_000)
  assert.equal((await bytesOf(guest, start, app.clock.now()))[1], 0)
  await happen(app, { type: 'GUEST_RECOVERS', vm: firewall.vm })
  await removed(app, path)
})

test('a policy whose chain belongs to no network function redirects nothing', async () => {
  const subnet = await aSubnet(seedId('nothing'))
  await aGuest('elsewhere', subnet)
  const { outcome, functions } = await trace('elsewhere', { address: '198.51.100.7' })
  assert.deepEqual([outcome, functions], ['DELIVERED', []])
})
