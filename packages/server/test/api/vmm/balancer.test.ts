/** The balancer, and memory that is kept free for the failure of a host. Source: behaviour vmm.md 3.2. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, aVm, bootDisk, changed, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import { aCategory, aPolicy, aRunningVm, hostOf } from '../../support/policies.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let careful: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
  careful = await startApp({ config: { seed: 'empty', haReservation: 'on' } })
})
afterEach(async () => {
  for (const each of [app, careful]) await checkInvariants(each)
})
after(async () => {
  for (const each of [app, careful]) await each.close()
})

const minutes = (count: number): Promise<unknown> => app.clock.advance(count * 60_000)
const hostsOf = (vms: readonly any[]): Promise<string[]> => Promise.all(vms.map(({ extId }) => hostOf(app, extId)))
const migrations = async (): Promise<any[]> => {
  const filter = encodeURIComponent("operation eq 'VmLiveMigrate'")
  return (await app.call('GET', `/platform/v4.3/config/tasks?$filter=${filter}&$limit=100`)).data ?? []
}

/** VMs of 10 GiB on the first host of a cluster whose hosts have 100 GiB for VMs. */
async function crowded(count: number, body: object = {}): Promise<{ cluster: NativeCluster; vms: any[] }> {
  const cluster = await aNativeCluster(app)
  const vms = []
  for (let number = 0; number < count; number++)
    vms.push(
      await aRunningVm(app, cluster, { memorySizeBytes: 10 * GiB, host: cluster.hostExtIds[0] as string, ...body }),
    )
  return { cluster, vms }
}

test('hosts that are filled unevenly are balanced, with two migrations of the system in a round', async () => {
  const { cluster, vms } = await crowded(6)
  const [first, second] = cluster.hostExtIds
  const before = (await migrations()).length
  await minutes(15)
  const moved = (await hostsOf(vms)).filter((host) => host === second)
  assert.equal(moved.length, 2)
  const tasks = await migrations()
  assert.equal(tasks.length, before + 2)
  assert.ok(tasks.every(({ isBackgroundTask }) => isBackgroundTask))
  await minutes(15)
  assert.equal((await hostsOf(vms)).filter((host) => host === first).length, 3)
  await minutes(120)
  assert.equal((await migrations()).length, before + 3)
})

test('a difference of 15 points or less is left alone', async () => {
  const { vms, cluster } = await crowded(1)
  await minutes(15)
  assert.deepEqual(await hostsOf(vms), [cluster.hostExtIds[0]])
})

test('VMs that a policy keeps apart, or that cannot migrate, are not moved', async () => {
  const category = await aCategory(app)
  const { cluster, vms } = await crowded(2, { isVcpuHardPinningEnabled: true })
  const [host, other] = cluster.hostExtIds as [string, string]
  const apart = [
    await aRunningVm(app, cluster, { memorySizeBytes: 30 * GiB, host, categories: [category] }),
    await aRunningVm(app, cluster, { memorySizeBytes: GiB, host: other, categories: [category] }),
  ]
  await aPolicy(app, category)
  await minutes(30)
  assert.deepEqual(await hostsOf([...vms, ...apart]), [host, host, host, other])
})

test('a host with busy CPUs loses VMs to other hosts', async () => {
  const cluster = await aNativeCluster(app, { threads: 4 })
  const host = cluster.hostExtIds[0] as string
  const vms = []
  for (let number = 0; number < 4; number++)
    vms.push(await aRunningVm(app, cluster, { name: `db-${number}`, numSockets: 4, host }))
  await minutes(24 * 60)
  assert.ok((await hostsOf(vms)).some((where) => where !== host))
})

test('with a reservation for high availability a VM is refused that needs the memory kept for the failure of the largest host', async () => {
  const cluster = await aNativeCluster(careful, { hosts: 3, usableGiB: 10 })
  const vm = async (GiBs: number): Promise<any> => {
    const { extId } = await aVm(careful, cluster, { disks: [bootDisk(cluster)], memorySizeBytes: GiBs * GiB })
    return changed(careful, extId, 'power-on')
  }
  for (const size of [8, 8]) assert.equal((await vm(size)).status, 'SUCCEEDED')
  const { status, errorMessages } = await vm(5)
  assert.equal(status, 'FAILED')
  assert.equal(errorMessages[0].code, 'VMM-40001')
  assert.match(errorMessages[0].message, /kept for the failure of a host/)
  assert.equal((await vm(4)).status, 'SUCCEEDED')
  const single = await aNativeCluster(careful, { hosts: 1, usableGiB: 10 })
  const { extId } = await aVm(careful, single, { disks: [bootDisk(single)] })
  assert.equal((await changed(careful, extId, 'power-on')).status, 'SUCCEEDED')
})
