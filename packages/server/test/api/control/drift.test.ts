/** Changes of the infrastructure without an API request, as clients see them. Source: behaviour clustermgmt.md 1.10, 1.13; vmm.md 1.1, 1.7; networking.md 1.10; iam.md 4. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { fabricFacts } from '../../../src/drivers/simulated/network-fabric.ts'
import { advance, clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { events, faultsOf, happen, postEvent, readEvent, startQuietDemo } from '../../support/events.ts'
import { aVm, bootDisk, changed, GiB, nicOn, readVm } from '../../support/native-cluster.ts'
import { register } from '../../support/registering.ts'
import { adminPassword, type TestApp } from '../../support/start-app.ts'
import { aDisk, aGroup, containerId, usageOf } from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const half = 30
const change = (kind: string, of: string, path: string, more: object = {}) =>
  happen(app, { type: 'FACT_CHANGES', kind, of, path, ...more })
const refusal = async (kind: string, of: string, path: string, more: object = {}): Promise<string> => {
  const refused = await postEvent(app, { type: 'FACT_CHANGES', kind, of, path, ...more })
  return `${refused.status} ${faultsOf(refused).join()}`
}
const get = async (path: string): Promise<any> => (await app.call('GET', path)).data
const ip = (value: string) => ({ ipv4: { value } })
const native = { extId: ids.native } as never
const externVm = (name: string): string => `/vmm/v4.2/extern/config/vms/${seedId(`extern-vm/${name}`)}`

async function aRunningVm(more: object = {}): Promise<any> {
  const image = (await get(`/vmm/v4.2/content/images?$filter=name eq 'ubuntu-24.04.qcow2'`))[0]
  const { extId } = await aVm(app, native, { disks: [bootDisk({ imageExtId: image.extId } as never)], ...more })
  await changed(app, extId, 'power-on')
  await advance(app, 1)
  return readVm(app, extId)
}

test('a setting that was changed at the cluster becomes drift of its profile within half an hour, and the cluster shows it', async () => {
  const member = async () => (await get(`${clustermgmt}/cluster-profiles/${ids.baseline}`)).clusters[0]
  const before = (await member()).configDrifts
  const event = await change('CLUSTER', 'hp-extern-01', 'NAME_SERVER_CONFIG', { value: [ip('10.7.7.9')] })
  assert.deepEqual(event.effects, ['NAME_SERVER_CONFIG of the cluster hp-extern-01 was changed without the API.'])
  await advance(app, half)
  assert.deepEqual((await member()).configDrifts, ['NAME_SERVER_CONFIG', ...before])
  const { network } = await get(`${clustermgmt}/clusters/${ids.extern}`)
  assert.deepEqual(network.nameServerIpList, [{ ipv4: { value: '10.7.7.9', prefixLength: 32 } }])
})

test('a field within a setting, and one within a list, are changed by their paths', async () => {
  await change('CLUSTER', 'cloud-1', 'PULSE_CONFIG/isEnabled', { value: true })
  await change('CLUSTER', 'hp-native-01', 'NTP_SERVER_CONFIG/ntpServerIpList/0/ipv4/value', { value: '10.9.9.9' })
  await change('CLUSTER', 'cloud-1', 'SNMP_SERVER_CONFIG/transports/0/port', { value: 1161 })
  await advance(app, half)
  assert.equal((await get(`${clustermgmt}/clusters/${ids.cloud}`)).config.pulseStatus.isEnabled, true)
  const { ntpServerIpList } = (await get(`${clustermgmt}/clusters/${ids.native}`)).network
  assert.equal(ntpServerIpList[0].ipv4.value, '10.9.9.9')
})

test('the password of a BMC that is changed makes the stored one INVALID; the new one is shown and kept nowhere', async () => {
  const plain = 'N3w.Bmc.Secret!'
  const event = await change('BMC', 'hp-n01-b', 'password', { secret: plain })
  await advance(app, 6)
  const bmc = `${clustermgmt}/clusters/${ids.native}/hosts/${hostId('hp-n01-b')}/bmc-info`
  assert.equal((await get(bmc)).status, 'INVALID')
  const answers = [event, await readEvent(app, event), await get(events), await get('/control/v1/worlds/default/calls')]
  assert.ok(!JSON.stringify(answers).includes(plain))
  for (const name of readdirSync(app.folder, { recursive: true, withFileTypes: true }))
    if (name.isFile()) assert.ok(!readFileSync(join(name.parentPath, name.name)).includes(plain), name.name)
})

test('changes of an external VM are shown after the next poll; a VM that vanished is 404', async () => {
  const of = 'legacy-test'
  await change('EXTERNAL_VM', of, 'memorySizeBytes', { value: 6 * GiB })
  await change('EXTERNAL_VM', of, 'powerState', { value: 'ON' })
  await change('EXTERNAL_VM', of, 'name', { value: 'renamed' })
  await advance(app, 1)
  const { name, memorySizeBytes, powerState } = await get(externVm(of))
  assert.deepEqual([name, memorySizeBytes, powerState], ['renamed', 6 * GiB, 'ON'])
  await happen(app, { type: 'EXTERNAL_VM_VANISHES', vm: 'renamed' })
  await advance(app, 1)
  assert.equal((await app.call('GET', externVm(of))).status, 404)
  assert.equal((await postEvent(app, { type: 'EXTERNAL_VM_VANISHES', vm: 'renamed' })).status, 404)
})

test('a VM that was powered off at its host is OFF; powering on at the host is refused', async () => {
  const { extId } = await aRunningVm()
  await change('VM', extId, 'powerState', { value: 'OFF' })
  await advance(app, 1)
  assert.equal((await readVm(app, extId)).powerState, 'OFF')
  assert.match(await refusal('VM', extId, 'powerState', { value: 'ON' }), /^400 event\/value: .*was not placed/)
})

test('memory and name that are changed at the host stay there until the VM is next updated', async () => {
  const { extId } = await aVm(app, native)
  await change('VM', extId, 'memoryBytes', { value: 7 * GiB })
  await change('VM', extId, 'name', { value: 'elsewhere' })
  const domain = () => domainFacts(app.world).get(extId)?.domain
  assert.deepEqual([domain()?.memoryBytes, domain()?.name], [7 * GiB, 'elsewhere'])
  const vm = await readVm(app, extId)
  assert.deepEqual([vm.memorySizeBytes, vm.name], [GiB, 'vm'])
  await changed(app, extId, { put: { ...vm, name: 'again' } })
  assert.deepEqual([domain()?.memoryBytes, domain()?.name], [GiB, 'again'])
})

test('guests on an unmanaged VLAN get addresses of the VLAN that is configured on the hosts', async () => {
  const subnet = seedId('subnet/vlan-200-static')
  const { extId } = await aRunningVm({ nics: [nicOn(subnet)] })
  const learned = async () => (await readVm(app, extId)).nics[0].networkInfo.ipv4Info.learnedIpAddresses[0].value
  const before = await learned()
  await change('SUBNET', 'vlan-200-static', 'tag', { value: 999 })
  assert.equal(fabricFacts(app.world).subnets.get(subnet)?.tag, 999)
  assert.notEqual(await learned(), before)
  await change('SUBNET', 'vlan-200-static', 'tag', { value: 200 })
  assert.equal(await learned(), before)
})

test('additional prefixes that a BGP peer advertises are received', async () => {
  const path = `/networking/v4.3/config/bgp-sessions/${seedId('bgp-session/prod-tor-a')}/bgp-routes`
  const names = async () => (await get(path)).map(({ name }: any) => name)
  await change('BGP_SESSION', 'prod-tor-a', 'originates', { value: ['10.250.0.0/24'] })
  assert.ok((await names()).includes('10.250.0.0/24'))
  await change('BGP_SESSION', 'prod-tor-a', 'originates')
  assert.ok(!(await names()).includes('10.250.0.0/24'))
})

test('a user who is disabled in the directory, or has another password there, cannot sign in', async () => {
  const visit = async (password = adminPassword) =>
    (await app.call('GET', '/vmm/v4.2/ahv/config/vms', { as: `alice:${password}` })).status
  await change('DIRECTORY_USER', 'ad.simulated/alice', 'isDisabled', { value: true })
  assert.equal(await visit(), 401)
  await change('DIRECTORY_USER', 'alice', 'isDisabled')
  await change('DIRECTORY_USER', 'alice', 'password', { secret: 'Another.Passw0rd!' })
  assert.deepEqual([await visit(), await visit('Another.Passw0rd!')], [401, 200])
})

test('a cluster of an older version, or with a wrong clock, is not registered', async () => {
  const failed = async (): Promise<string> => {
    const task = await app.task(await register(app, '10.44.5.10'))
    return `${task.status} ${task.errorMessages?.[0]?.errorGroup}`
  }
  await change('REMOTE', 'lab-03', 'version', { value: '6.5' })
  assert.equal(await failed(), 'FAILED REGISTRATION_PRECHECK_FAILED')
  await change('REMOTE', 'lab-03', 'version', { value: '7.3' })
  await change('REMOTE', 'lab-03', 'clockSkewSeconds', { value: 7200 })
  assert.equal(await failed(), 'FAILED REGISTRATION_PRECHECK_FAILED')
  await change('REMOTE', 'lab-03', 'clockSkewSeconds')
  assert.equal(await failed(), 'SUCCEEDED undefined')
})

test('bytes that others write to a volume disk count for its container, up to its size', async () => {
  const { extId: group } = await aGroup(app)
  const disk = await aDisk(app, group, { diskSizeBytes: 10 * GiB })
  const before = (await usageOf(app, containerId)).logicalBytes
  await change('VOLUME_DISK', disk.extId, 'writtenBytes', { value: 4 * GiB })
  assert.equal((await usageOf(app, containerId)).logicalBytes, before + 4 * GiB)
  assert.match(
    await refusal('VOLUME_DISK', disk.extId, 'writtenBytes', { value: 11 * GiB }),
    /^400 event\/value: .*at most/,
  )
})

test('changes of a storage container are not shown, and its next update restores the values of the API', async () => {
  const container = seedId('container/hp-native-01/archive-ec')
  const path = `${clustermgmt}/storage-containers/${container}`
  const fact = () => app.world.collection<{ name: string }>('hardware.containers').get(container)
  await change('STORAGE_CONTAINER', 'archive-ec', 'name', { value: 'elsewhere' })
  assert.equal(fact()?.name, 'elsewhere')
  await advance(app, half)
  const { data, etag } = await app.call('GET', path)
  assert.equal(data.name, 'archive-ec')
  const body = { ...data, isCompressionEnabled: data.isCompressionEnabled !== true }
  const task = await app.task(await app.call('PUT', path, { body, ifMatch: etag!, requestId: randomUUID() }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(fact()?.name, 'archive-ec')
})

test('a change to the present value has no effect', async () => {
  const event = await change('STORAGE_CONTAINER', 'db-gold', 'name', { value: 'db-gold' })
  assert.deepEqual([event.status, event.effects], ['OVER', []])
})

test('kind, target, path and value are checked, also for scheduled changes', async () => {
  const of = 'hp-native-01'
  assert.match(await refusal('CLUSTR', of, 'x', { value: 1 }), /^400 event\/kind: expected one of .*CLUSTER/)
  assert.match(await refusal('CLUSTER', 'hp-native-02', 'PULSE_CONFIG', { value: {} }), /^404 .*hp-native-01/)
  assert.match(
    await refusal('CLUSTER', of, 'SNMP_SERVER_CONFG/isEnabled', { value: true }),
    /^400 event\/path: .*did you mean "SNMP_SERVER_CONFIG"/,
  )
  assert.match(await refusal('CLUSTER', of, 'SNMP_SERVER_CONFIG/isEnabld', { value: true }), /after SNMP_SERVER_CONFIG/)
  assert.match(
    await refusal('CLUSTER', of, 'SNMP_SERVER_CONFIG/isEnabled', { value: 'yes' }),
    /^400 event\/value: .*SNMP_SERVER_CONFIG\/isEnabled: expected true or false, found "yes"/,
  )
  assert.match(await refusal('CLUSTER', of, 'SNMP_SERVER_CONFIG/transports/7/port', { value: 1 }), /^400 event\/path/)
  assert.match(await refusal('VM', 'web-01', 'vcpus'), /^400 event\/value: .*vcpus cannot be unset/)
  assert.match(
    await refusal('BMC', 'hp-c01-a', 'username', { value: 'x' }),
    /^400 event\/of: .*The world holds nothing/,
  )
  assert.match(await refusal('BMC', 'hp-n01-a', 'password', { value: 'x' }), /^400 event\/value: .*send it as secret/)
  assert.match(await refusal('BMC', 'hp-n01-a', 'username', { secret: 'x' }), /^400 event\/secret: .*is no secret/)
  const smtp = { emailAddress: 'a@b.test', server: { ipAddress: ip('10.0.0.1'), password: 'x' } }
  assert.match(
    await refusal('CLUSTER', of, 'SMTP_SERVER_CONFIG', { value: smtp }),
    /SMTP_SERVER_CONFIG\/server\/password is a secret/,
  )
  const later = await postEvent(
    app,
    { type: 'FACT_CHANGES', kind: 'VM', of: 'web-01', path: 'vcpu', value: 1 },
    { after: 'PT1H' },
  )
  assert.equal(later.status, 400)
})
