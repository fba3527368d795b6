/** How many domains may still fail. Source: behaviour clustermgmt.md 1.2, 3 (Fault tolerance). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { advance, clustermgmt } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { aNativeCluster, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'empty' } })
})
after(() => app.close())

const SSD = { tier: 'SSD_SATA', sizeBytes: 1000 * GiB } as const

interface Wanted {
  readonly hosts: number
  readonly copies: 2 | 3
  readonly level: 'NODE' | 'DISK' | 'BLOCK'
  /** Block of each host. */
  readonly blocks?: readonly string[]
}

/** A fifth of its pool is written. */
async function aCluster({ hosts, copies, level, blocks }: Wanted): Promise<NativeCluster> {
  const cluster = await aNativeCluster(app, { hosts, drives: [SSD, SSD, SSD, SSD] })
  await app.store.transaction(async (store) => {
    const { config } = (await store.get(Cluster, cluster.extId)) as any
    const faultToleranceState = { domainAwarenessLevel: level }
    await store.update(Cluster, cluster.extId, { config: { ...config, redundancyFactor: copies, faultToleranceState } })
    for (const [index, host] of cluster.hostExtIds.entries())
      await store.update(Host, host, { blockSerial: blocks?.[index] ?? `BL${index}` })
  })
  await happen(app, { type: 'CONTAINER_FILLS', container: cluster.containerExtId, percent: 20 })
  return cluster
}

const stateOf = async ({ extId }: NativeCluster): Promise<any> =>
  (await app.call('GET', `${clustermgmt}/clusters/${extId}`)).data.config.faultToleranceState
const tolerance = async (cluster: NativeCluster): Promise<number> => (await stateOf(cluster)).currentMaxFaultTolerance
const fail = async ({ hostExtIds }: NativeCluster, host: number, disk: number): Promise<void> => {
  const all = (await app.call('GET', `${clustermgmt}/disks?$orderby=serialNumber&$limit=100`)).data
  const own = all.filter(({ nodeExtId, location }: any) => nodeExtId === hostExtIds[host] && location === disk)
  await happen(app, { type: 'DISK_FAILS', disk: own[0].extId })
}

test('disks of one host cost one host of tolerance, those of another host one more, until they are copied', async () => {
  const cluster = await aCluster({ hosts: 6, copies: 3, level: 'NODE' })
  assert.equal(await tolerance(cluster), 2)
  await fail(cluster, 0, 2)
  await fail(cluster, 0, 3)
  const state = await stateOf(cluster)
  assert.deepEqual([state.currentMaxFaultTolerance, state.currentClusterFaultTolerance], [1, 'CFT_1N_OR_1D'])
  assert.deepEqual(state.redundancyStatus, { isCassandraPreparationDone: false, isZookeeperPreparationDone: true })
  await fail(cluster, 1, 2)
  assert.equal(await tolerance(cluster), 0)
  await advance(app, 60)
  const { redundancyStatus, currentMaxFaultTolerance } = await stateOf(cluster)
  assert.deepEqual([currentMaxFaultTolerance, redundancyStatus.isCassandraPreparationDone], [2, true])
})

test('losses are copied one after another, at 400 MiB/s for each host that is up', async () => {
  const cluster = await aCluster({ hosts: 5, copies: 2, level: 'NODE' })
  await happen(app, { type: 'HOST_FAILS', host: cluster.hostExtIds[0] as string })
  assert.equal(await tolerance(cluster), 0)
  // A fifth of four drives, over four hosts.
  const seconds = (0.2 * 4 * Math.floor(950 * GiB)) / (4 * 400 * 1024 ** 2)
  await app.clock.advance(1000 * Math.floor(seconds * 0.95))
  assert.equal(await tolerance(cluster), 0)
  await app.clock.advance(1000 * Math.ceil(seconds * 0.1))
  assert.equal(await tolerance(cluster), 1)
})

test('on one host with copies on different disks, each lost disk counts', async () => {
  const cluster = await aCluster({ hosts: 1, copies: 2, level: 'DISK' })
  assert.equal(await tolerance(cluster), 1)
  await fail(cluster, 0, 2)
  assert.equal(await tolerance(cluster), 0)
  await advance(app, 30)
  assert.equal(await tolerance(cluster), 1)
})

test('hosts of one block cost one block of tolerance', async () => {
  const blocks = ['one', 'one', 'two', 'two', 'three', 'three', 'four', 'five']
  const cluster = await aCluster({ hosts: 8, copies: 3, level: 'BLOCK', blocks })
  await happen(app, { type: 'HOST_FAILS', host: cluster.hostExtIds[0] as string })
  await happen(app, { type: 'HOST_FAILS', host: cluster.hostExtIds[1] as string })
  assert.equal(await tolerance(cluster), 1)
  await fail(cluster, 2, 1)
  assert.equal(await tolerance(cluster), 0)
})
