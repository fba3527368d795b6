/** Each invariant of VMs is found when it is broken. Source: behaviour vmm.md 3.8 (invariants). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { brokenInvariants } from '../../../src/domains/invariants/invariants.ts'
import { HostAllocation } from '../../../src/domains/scheduling/host-allocation.ts'
import { diskFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import type { Transaction } from '../../../src/store/store.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, aSubnet, aVm, changed, emptyDisk, GiB, nicOn } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())

/** The faults while the change is there; it is taken back. */
async function faultsAfter(change: (store: Transaction) => Promise<unknown>): Promise<string> {
  const undo = new Error('undo')
  let faults = ''
  await app.store
    .transaction(async (store) => {
      await change(store)
      faults = (await brokenInvariants(store)).join('; ')
      throw undo
    })
    .catch((error) => assert.equal(error, undo))
  assert.deepEqual(await brokenInvariants(app.store), [])
  return faults
}

test('a host that gives out more memory or pinned threads than it has violates an invariant', async () => {
  const cluster = await aNativeCluster(app, { hosts: 1, usableGiB: 10, threads: 8 })
  const { extId } = await aVm(app, cluster)
  await changed(app, extId, 'power-on')
  const allocation = (await app.store.findOne(HostAllocation, { vmExtId: extId, hostExtId: cluster.hostExtIds[0]! }))!
  const change = (fields: object) =>
    faultsAfter((store) => store.update(HostAllocation, allocation.extId, fields as never))
  assert.match(await change({ memoryBytes: 11 * GiB }), /gives 11811160064 bytes of its 10737418240 to VMs/)
  assert.match(await change({ vcpus: 9, isPinned: true }), /gives 9 of its 8 threads alone/)
})

test('a VM that runs without a host, is OFF with one, or is on a host of another cluster breaks an invariant', async () => {
  const [cluster, other] = [await aNativeCluster(app), await aNativeCluster(app)]
  const { extId } = await aVm(app, cluster)
  const change = (fields: object) => faultsAfter((store) => store.observe(Vm, extId, fields as never))
  assert.match(await change({ powerState: 'ON' }), /is ON without a host/)
  assert.match(await change({ host: { extId: cluster.hostExtIds[0] } }), /is OFF and has the host/)
  const elsewhere = { powerState: 'ON', host: { extId: other.hostExtIds[0] } }
  assert.match(await change(elsewhere), /which its cluster does not have/)
})

test('a NIC whose pairs of fields differ breaks an invariant', async () => {
  const cluster = await aNativeCluster(app)
  const { extId } = await aVm(app, cluster, { nics: [nicOn(await aSubnet(app, cluster))] })
  const { nics = [] } = (await app.store.get(Vm, extId))!
  const [nic] = nics as [any]
  const differs = { ...nic, nicBackingInfo: { ...nic.nicBackingInfo, isConnected: false } }
  const faults = await faultsAfter((store) => store.observe(Vm, extId, { nics: [differs] }))
  assert.match(faults, /differs between its pairs of fields/)
})

test('two images of one URL with different digests break an invariant', async () => {
  const source = { $objectType: 'vmm.v4.content.UrlSource', url: 'https://images.example.com/a.iso' }
  const imageWith = (digit: string) => ({
    extId: randomUUID(),
    name: `image ${digit}`,
    type: 'ISO_IMAGE',
    source,
    checksum: { $objectType: 'vmm.v4.content.ImageSha256Checksum', hexDigest: digit.repeat(64) },
  })
  const faults = await faultsAfter(async (store) => {
    for (const digit of ['a', 'b']) await store.insert(Image, imageWith(digit) as never)
  })
  assert.match(faults, /has another digest than an image of the same URL/)
})

test('a layer without the one below it, and a disk that holds more than its size, break an invariant', async () => {
  const cluster = await aNativeCluster(app)
  const { extId, disks } = await aVm(app, cluster, { disks: [emptyDisk()] })
  const facts = diskFacts(app.world)
  const disk = disks[0].extId
  const fact = facts.get(disk)!
  await facts.put(disk, { ...fact, parentExtId: randomUUID() })
  await assert.rejects(checkInvariants(app), /which is not there/)
  await facts.put(disk, { ...fact, frozenBytes: 2 * GiB })
  await assert.rejects(checkInvariants(app), /holds 2147483648 bytes in 1073741824/)
  await facts.put(disk, fact)
  await changed(app, extId, 'delete')
  await checkInvariants(app)
})
