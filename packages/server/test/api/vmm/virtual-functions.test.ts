/** NICs of VMs that are virtual functions of host NICs. Source: behaviour vmm.md 1.4, 3.2; networking.md 1.19. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { hostNicId } from '../../../src/drivers/simulated/host-nics.ts'
import { ids } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { act, aVm, bootDisk, changed, type NativeCluster, nicOn, readVm, tagOf } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
  await associated(hostA)
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
const hostA = seedId('host/hp-n01-a')
const profile = seedId('nic-profile/sriov-cx5')
const profiles = '/networking/v4.3/config/nic-profiles'
const vms = '/vmm/v4.2/ahv/config/vms'
const name = (type: string): string => `vmm.v4.ahv.config.${type}`

const ofHostNic = async (verb: string, hostExtId: string) =>
  app.call('POST', `${profiles}/${profile}/$actions/${verb}-host-nic`, {
    body: { hostNicExtId: hostNicId(hostExtId, 'eth5') },
  })
async function associated(hostExtId: string): Promise<void> {
  assert.equal((await app.task(await ofHostNic('associate', hostExtId))).status, 'SUCCEEDED')
}
const sriov = (more: object = {}, network: object = {}): object => ({
  nicBackingInfo: { $objectType: name('SriovNic'), sriovProfileReference: { extId: profile }, ...more },
  nicNetworkInfo: { $objectType: name('SriovNicNetworkInfo'), ...network },
})
const withFunctions = (vmName: string, count = 1): Promise<any> =>
  aVm(app, cluster, {
    name: vmName,
    disks: [bootDisk(cluster)],
    nics: [nicOn(seedId('subnet/vlan-100-app')), ...Array.from({ length: count }, () => sriov({}, { vlanId: 7 }))],
  })
/** Headers of a change of the VM. */
const ofVm = async (extId: string) => ({ ifMatch: await tagOf(app, extId), requestId: randomUUID() })
const references = async (): Promise<any[]> => (await app.call('GET', `${profiles}/${profile}`)).data.hostNicReferences
const removedVm = async (extId: string): Promise<void> => {
  if ((await readVm(app, extId)).powerState === 'ON') await changed(app, extId, 'power-off')
  assert.equal((await changed(app, extId, 'delete')).status, 'SUCCEEDED')
}

test('an SR-IOV NIC shows the newer fields only, takes a function at power-on and gives it back at power-off', async () => {
  const { extId } = await withFunctions('fast')
  const stored = (await readVm(app, extId)).nics[1]
  assert.deepEqual([stored.backingInfo, stored.networkInfo], [undefined, undefined])
  assert.deepEqual(stored.nicBackingInfo.sriovProfileReference, { extId: profile })
  assert.match(stored.nicBackingInfo.macAddress, /^50:6b:8d/)
  assert.equal(stored.nicNetworkInfo.vlanId, 7)
  assert.equal((await references())[0].associatedVmNicReferences, undefined)
  assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
  const running = await readVm(app, extId)
  assert.deepEqual([running.host.extId, running.isLiveMigrateCapable], [hostA, false])
  const [reference] = await references()
  assert.deepEqual([reference.numVFs, reference.associatedVmNicReferences], [16, [stored.extId]])
  const busy = await ofHostNic('disassociate', hostA)
  assert.deepEqual([busy.status, busy.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  assert.match(busy.errors[0]!.message, /VM fast/)
  const moving = await act(app, extId, 'migrate-to-host', { host: { extId: seedId('host/hp-n01-b') } })
  assert.equal(moving.status, 409)
  await changed(app, extId, 'power-off')
  assert.equal((await references())[0].associatedVmNicReferences, undefined)
  await removedVm(extId)
})

test('VMs race for the last functions of a host: no more run than it has, and the others say why not', async () => {
  const machines = []
  for (let index = 0; index < 4; index++) machines.push(await withFunctions(`racer-${index}`, 5))
  const tasks = await Promise.all(machines.map(({ extId }) => changed(app, extId, 'power-on')))
  assert.deepEqual(tasks.map(({ status }) => status).sort(), ['FAILED', 'SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'])
  const failed = tasks.find(({ status }) => status === 'FAILED')
  assert.match(failed.errorMessages[0].message, /no free virtual function of a host NIC with the NIC profile/)
  const [reference] = await references()
  assert.equal(new Set(reference.associatedVmNicReferences).size, 15)
  for (const { extId } of machines) await removedVm(extId)
  assert.equal((await references())[0].associatedVmNicReferences, undefined)
  assert.ok((await app.store.find(HostAllocation)).every(({ virtualFunctions }) => virtualFunctions === undefined))
})

test('such NICs are created and deleted while the VM is OFF only, and a copy of the VM has its own', async () => {
  const { extId } = await withFunctions('cold')
  const create = async () => app.call('POST', `${vms}/${extId}/nics`, { body: sriov(), ...(await ofVm(extId)) })
  const added = await app.task(await create())
  assert.equal(added.status, 'SUCCEEDED', JSON.stringify(added.errorMessages))
  const [, first, second] = (await readVm(app, extId)).nics
  await changed(app, extId, 'power-on')
  const hot = await create()
  assert.equal(hot.status, 409)
  const path = `${vms}/${extId}/nics/${second.extId}`
  assert.equal((await app.call('DELETE', path, { ...(await ofVm(extId)) })).status, 409)
  await changed(app, extId, 'power-off')
  assert.equal((await app.task(await app.call('DELETE', path, { ...(await ofVm(extId)) }))).status, 'SUCCEEDED')
  const cloned = await app.task(
    await app.call('POST', `${vms}/${extId}/$actions/clone`, {
      body: { name: 'copy' },
      ...(await ofVm(extId)),
    }),
  )
  assert.equal(cloned.status, 'SUCCEEDED', JSON.stringify(cloned.errorMessages))
  const copy = (await app.call('GET', `${vms}?$filter=name eq 'copy'`)).data[0]
  assert.deepEqual(copy.nics[1].nicBackingInfo.sriovProfileReference, { extId: profile })
  assert.notEqual(copy.nics[1].nicBackingInfo.macAddress, first.nicBackingInfo.macAddress)
  for (const one of [copy.extId, extId]) await removedVm(one)
})

test('a profile that VMs use is not deleted; wrong NICs are refused with their paths', async () => {
  const { extId } = await withFunctions('keeper')
  const other = await app.task(
    await app.call('POST', profiles, {
      body: { name: 'offload', nicFamily: '15b3:101d', capabilityConfig: { capabilityType: 'DP_OFFLOAD' } },
    }),
  )
  const offload = other.entitiesAffected[0].extId
  const refused = async (nic: object): Promise<unknown[]> => {
    const { status, errors } = await app.call('POST', `${vms}/${extId}/nics`, {
      body: nic,
      ...(await ofVm(extId)),
    })
    return [status, ...errors.map((error) => error.argumentsMap?.['attributePath'] ?? error.attributePath)]
  }
  const at = 'nicBackingInfo/sriovProfileReference/extId'
  assert.deepEqual(await refused(sriov({ sriovProfileReference: { extId: offload } })), [400, at])
  assert.deepEqual(await refused(sriov({ sriovProfileReference: {} })), [400, at])
  assert.deepEqual(await refused(sriov({ hostPcieDeviceReference: { extId: profile } })), [
    400,
    'nicBackingInfo/hostPcieDeviceReference',
  ])
  assert.equal((await refused(sriov({ sriovProfileReference: { extId: seedId('nothing') } })))[0], 404)
  const mixed = { ...sriov(), nicNetworkInfo: { $objectType: name('DpOffloadNicNetworkInfo') } }
  assert.equal((await refused(mixed))[0], 400)
  const used = { nicBackingInfo: { $objectType: name('DpOffloadNic'), dpOffloadProfileReference: { extId: offload } } }
  const onSubnet = { $objectType: name('DpOffloadNicNetworkInfo'), subnet: { extId: seedId('subnet/vlan-100-app') } }
  const body = { ...used, nicNetworkInfo: onSubnet }
  const added = await app.task(await app.call('POST', `${vms}/${extId}/nics`, { body, ...(await ofVm(extId)) }))
  assert.equal(added.status, 'SUCCEEDED', JSON.stringify(added.errorMessages))
  const { nicNetworkInfo } = (await readVm(app, extId)).nics[2]
  assert.match(nicNetworkInfo.ipv4Config.ipAddress.value, /^10\.10\.100\./)
  const inUse = await app.call('DELETE', `${profiles}/${offload}`)
  assert.deepEqual([inUse.status, inUse.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  assert.match(inUse.errors[0]!.message, /VM keeper/)
  const start = await changed(app, extId, 'power-on')
  assert.match(start.errorMessages[0].message, /no free virtual function/)
  await removedVm(extId)
  assert.equal((await app.task(await app.call('DELETE', `${profiles}/${offload}`))).status, 'SUCCEEDED')
})
