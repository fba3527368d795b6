/** NICs of VMs that are virtual functions of host NICs. Source: behaviour vmm.md 1.4, 3.2; networking.md 1.19. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { hostNicFacts } from '../../../src/drivers/simulated/host-nics.ts'
import { ids, setFault } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  act,
  aNativeCluster,
  aVm,
  bootDisk,
  changed,
  type NativeCluster,
  nicOn,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import * as template from '../../support/templates.ts'
import { nicProfiles, ofHostNic, sriovNic, sriovProfile } from '../../support/virtual-functions.ts'
import { aRobot, aRole, grant } from '../iam/people.ts'

let app: TestApp
const steps = new Steps()
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
  await associated()
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
const hostA = seedId('host/hp-n01-a')
const profile = sriovProfile
const profiles = nicProfiles
const vms = '/vmm/v4.2/ahv/config/vms'
const name = (type: string): string => `vmm.v4.ahv.config.${type}`

async function associated(): Promise<void> {
  assert.equal((await app.task(await ofHostNic(app, 'associate', hostA))).status, 'SUCCEEDED')
}
const sriov = sriovNic
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
  const robot = await aRobot(app)
  await grant(app, { id: await aRole(app, ['View_NIC_Profile']) }, robot.extId, { nic_profile: { '*': { eq: '*' } } })
  const { data: ofOthers } = await app.call('GET', `${profiles}/${profile}`, { apiKey: robot.apiKey })
  assert.equal(ofOthers.hostNicReferences[0].associatedVmNicReferences, undefined, 'it sees no VM')
  const busy = await ofHostNic(app, 'disassociate', hostA)
  assert.deepEqual([busy.status, busy.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  assert.match(busy.errors[0]!.message, /VM fast/)
  const moving = await act(app, extId, 'migrate-to-host', { host: { extId: seedId('host/hp-n01-b') } })
  assert.equal(moving.status, 409)
  await changed(app, extId, 'power-off')
  assert.equal((await references())[0].associatedVmNicReferences, undefined)
  await removedVm(extId)
})

test('VMs compete for the last functions of a host: each function serves one VM, and the other VMs fail with the reason', async () => {
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

test('NICs with a virtual function are created and deleted only while the VM is OFF, and a copy of the VM has its own', async () => {
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
  assert.equal((await refused(sriov({ hostPcieDeviceReference: { extId: profile } })))[0], 501)
  const older = { nicBackingInfo: (sriov() as any).nicBackingInfo, networkInfo: { vlanMode: 'TRUNK' } }
  assert.deepEqual(await refused(older), [400, 'networkInfo'])
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

test('a host NIC without a link provides no function, and a VM that has one already can still grow on its host', async () => {
  const [running, waiting] = [await withFunctions('steady'), await withFunctions('waiting')]
  await changed(app, running.extId, 'power-on')
  await setFault(app, hostA, { lostUplinks: ['eth5'] })
  const failed = await changed(app, waiting.extId, 'power-on')
  assert.match(failed.errorMessages[0].message, /no free virtual function/)
  const { memorySizeBytes, ...vm } = await readVm(app, running.extId)
  const grown = await changed(app, running.extId, { put: { ...vm, memorySizeBytes: 2 * memorySizeBytes } })
  assert.equal(grown.status, 'SUCCEEDED', JSON.stringify(grown.errorMessages))
  assert.deepEqual((await references())[0].associatedVmNicReferences, [vm.nics[1].extId])
  await setFault(app, hostA)
  assert.equal((await changed(app, waiting.extId, 'power-on')).status, 'SUCCEEDED')
  for (const { extId } of [running, waiting]) await removedVm(extId)
})

test('a power-on whose host NIC is lost between placement and start fails, and releases the function', async () => {
  const { extId } = await withFunctions('late')
  const nics = hostNicFacts(app.world)
  const fact = nics.get(hostA)!
  const release = steps.hold('vmm.power-on-vm start')
  const started = await act(app, extId, 'power-on', {})
  while ((await references())[0].associatedVmNicReferences === undefined) await app.store.transaction(async () => {})
  const { profiles: _, ...undivided } = fact
  await nics.put(hostA, undivided)
  release()
  const task = await app.task(started)
  await nics.put(hostA, fact)
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /has 0 virtual functions/)
  assert.equal((await references())[0].associatedVmNicReferences, undefined)
  assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
  await removedVm(extId)
})

test('the maintenance of a host names the VMs that have functions of its NICs, and leaves them ON', async () => {
  const { extId } = await withFunctions('bound')
  await changed(app, extId, 'power-on')
  const host = `/clustermgmt/v4.2/operations/clusters/${cluster.extId}/hosts/${hostA}`
  const body = {}
  const entering = await app.call('POST', `${host}/$actions/enter-host-maintenance`, { body, requestId: randomUUID() })
  const { status, errorMessages } = await app.task(entering)
  assert.equal(status, 'FAILED')
  assert.match(errorMessages[0].message, /bound.*virtual function of a NIC of the host/)
  assert.equal((await readVm(app, extId)).powerState, 'ON')
  await removedVm(extId)
})

test('a NIC becomes a virtual function and an emulated NIC again while the VM is OFF, and its addresses follow', async () => {
  const { extId, nics } = await aVm(app, cluster, {
    name: 'changing',
    disks: [bootDisk(cluster)],
    nics: [nicOn(seedId('subnet/vlan-100-app'))],
  })
  const path = `${vms}/${extId}/nics/${nics[0].extId}`
  const { value } = nics[0].networkInfo.ipv4Config.ipAddress
  const put = async (body: object) => app.call('PUT', path, { body, ...(await ofVm(extId)) })
  const changedTo = async (body: object) => {
    const task = await app.task(await put(body))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    return (await app.call('GET', path)).data
  }
  // A client sends the older fields back as it read them.
  const divided = await changedTo({ ...nics[0], ...sriov({}, { vlanId: 9 }) })
  assert.deepEqual([divided.networkInfo, divided.nicNetworkInfo.vlanId], [undefined, 9])
  assert.equal(divided.nicBackingInfo.macAddress, nics[0].backingInfo.macAddress)
  const taker = await aVm(app, cluster, {
    name: 'taker',
    nics: [nicOn(seedId('subnet/vlan-100-app'), { ipv4Config: { ipAddress: { value } } })],
  })
  await changed(app, extId, 'power-on')
  assert.equal((await put(nicOn(seedId('subnet/vlan-100-app')))).status, 409)
  await changed(app, extId, 'power-off')
  const emulated = await changedTo(nicOn(seedId('subnet/vlan-100-app')))
  assert.notEqual(emulated.networkInfo.ipv4Config.ipAddress.value, value)
  for (const one of [extId, taker.extId]) await removedVm(one)
})

test('templates and recovery points keep virtual functions, and show the newer fields only', async () => {
  const { extId } = await withFunctions('model')
  const { templateVersionSpec } = await template.aTemplate(app, extId)
  const [, kept] = templateVersionSpec.vmSpec.nics
  assert.deepEqual([kept.backingInfo, kept.nicBackingInfo.sriovProfileReference], [undefined, { extId: profile }])
  const points = '/vmm/v4.2/ahv/config/vm-recovery-points'
  const taken = await app.task(await app.call('POST', points, { body: { vmExtId: extId }, requestId: randomUUID() }))
  const restore = async (override: object) =>
    app.call('POST', `${points}/${taken.entitiesAffected[0].extId}/$actions/restore`, {
      body: { vmConfigOverrideSpec: { name: 'restored', nicSpec: { nicOverrideList: [override] } } },
      requestId: randomUUID(),
    })
  const nicExtId = (await readVm(app, extId)).nics[1].extId
  const spec = (of: string) => `vmm.v4.ahv.config.VmRestoreVirtualEthernetNic${of}OverrideSpec`
  const subnet = { extId: seedId('subnet/vlan-100-app') }
  const misplaced = await restore({ nicExtId, nicNetworkInfo: { $objectType: spec('NetworkInfo'), subnet } })
  assert.equal(misplaced.status, 400)
  const macAddress = '50:6b:8d:00:06:01'
  const task = await app.task(await restore({ nicExtId, nicBackingInfo: { $objectType: spec(''), macAddress } }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const [restored] = (await app.call('GET', `${vms}?$filter=name eq 'restored'`)).data
  const { nicBackingInfo, nicNetworkInfo } = restored.nics[1]
  assert.deepEqual([nicBackingInfo.macAddress, nicNetworkInfo.vlanId], [macAddress, 7])
  for (const one of [extId, restored.extId]) await removedVm(one)
})

test('a revert and a restore leave out a NIC whose NIC profile was deleted', async () => {
  const made = await app.task(
    await app.call('POST', profiles, {
      body: { name: 'brief', nicFamily: '15b3:1017', capabilityConfig: { capabilityType: 'SRIOV' } },
    }),
  )
  const brief = made.entitiesAffected[0].extId
  const { extId, nics } = await aVm(app, cluster, {
    name: 'outliving',
    disks: [bootDisk(cluster)],
    nics: [nicOn(seedId('subnet/vlan-100-app')), sriov({ sriovProfileReference: { extId: brief } })],
  })
  const points = '/vmm/v4.2/ahv/config/vm-recovery-points'
  const taken = await app.task(await app.call('POST', points, { body: { vmExtId: extId }, requestId: randomUUID() }))
  const point = taken.entitiesAffected[0].extId
  const path = `${vms}/${extId}/nics/${nics[1].extId}`
  assert.equal((await app.task(await app.call('DELETE', path, { ...(await ofVm(extId)) }))).status, 'SUCCEEDED')
  assert.equal((await app.task(await app.call('DELETE', `${profiles}/${brief}`))).status, 'SUCCEEDED')
  const reverted = await app.task(await act(app, extId, 'revert', { vmRecoveryPointExtId: point }))
  assert.equal(reverted.status, 'SUCCEEDED', JSON.stringify(reverted.errorMessages))
  assert.match(JSON.stringify(reverted.warnings), /NIC profile/)
  assert.equal((await readVm(app, extId)).nics.length, 1)
  const restore = async (isStrictMode: boolean) =>
    app.task(
      await app.call('POST', `${points}/${point}/$actions/restore`, {
        body: { isStrictMode, vmConfigOverrideSpec: { name: 'later' } },
        requestId: randomUUID(),
      }),
    )
  assert.match((await restore(true)).errorMessages[0].message, /NIC profile/)
  assert.equal((await restore(false)).status, 'SUCCEEDED')
  const [later] = (await app.call('GET', `${vms}?$filter=name eq 'later'`)).data
  assert.equal(later.nics.length, 1)
  for (const one of [extId, later.extId]) await removedVm(one)
})

test('a VM with a virtual function moves to another cluster only while it is OFF, and starts where a host has one', async () => {
  const target = await aNativeCluster(app)
  const { extId } = await aVm(app, cluster, { name: 'mover', disks: [bootDisk(cluster)], nics: [sriov()] })
  const migrated = (isLiveMigration: boolean) =>
    act(app, extId, 'migrate', {
      isLiveMigration,
      targetAvailabilityZone: { extId: seedId('availability-zone/local') },
      targetCluster: { extId: target.extId },
    })
  await changed(app, extId, 'power-on')
  const live = await app.task(await migrated(true))
  assert.equal(live.status, 'FAILED')
  assert.match(live.errorMessages[0].message, /bound to its host while it runs/)
  await changed(app, extId, 'power-off')
  const cold = await app.task(await migrated(false))
  assert.equal(cold.status, 'SUCCEEDED', JSON.stringify(cold.errorMessages))
  const moved = await readVm(app, extId)
  assert.deepEqual(moved.nics[0].nicBackingInfo.sriovProfileReference, { extId: profile })
  assert.match((await changed(app, extId, 'power-on')).errorMessages[0].message, /no free virtual function/)
  await removedVm(extId)
})
