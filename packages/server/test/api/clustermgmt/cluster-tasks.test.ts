import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { advance, clustermgmt, hostId, ids, putFresh, setFault } from '../../support/clustermgmt.ts'
import { aVm, changed, type NativeCluster } from '../../support/native-cluster.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const native = `${clustermgmt}/clusters/${ids.native}`

test('a task that loses its cluster while it runs fails with a time-out and changes nothing', async () => {
  let app: TestApp | undefined
  app = await startApp({
    beforeStep: async (definition, step, phase) => {
      const isApplying = definition === 'clustermgmt.update-cluster' && step === 'apply to the cluster'
      if (isApplying && phase === 'run') await setFault(app as TestApp, ids.native, { isDown: true })
    },
  })
  try {
    const { name } = (await app.call('GET', native)).data
    const task = await app.task(await putFresh(app, native, { name: 'lost' }))
    assert.equal(task.status, 'FAILED')
    assert.equal(task.errorMessages[0].errorGroup, 'BACKEND_TIMEOUT')
    assert.equal((await app.call('GET', native)).data.name, name)
  } finally {
    await app.close()
  }
})

test('a higher redundancy factor is stored at once, and more failures are tolerated after the data was copied in the background', async () => {
  const path = `${clustermgmt}/clusters/${ids.cloud}`
  const seen: number[] = []
  const tolerance = async (of: TestApp): Promise<number> =>
    (await of.call('GET', path)).data.config.faultToleranceState.currentMaxFaultTolerance
  let app: TestApp | undefined
  app = await startApp({
    beforeStep: async (definition, _step, phase) => {
      if (definition === 'clustermgmt.copy-data' && phase === 'run') seen.push(await tolerance(app as TestApp))
    },
  })
  try {
    // Three copies need five hosts: two join the three of the demo.
    await app.store.transaction(async (transaction) => {
      const host = await transaction.get(Host, hostId('hp-c01-a'))
      for (const hostName of ['hp-c01-d', 'hp-c01-e'])
        await transaction.insert(Host, { ...host, extId: hostId(hostName), hostName } as never)
    })
    const task = await app.task(
      await putFresh(app, path, { config: { faultToleranceState: { desiredClusterFaultTolerance: 'CFT_2N_OR_2D' } } }),
    )
    assert.equal(task.status, 'SUCCEEDED')
    await app.runner.idle()
    assert.deepEqual(seen, [1])
    assert.equal(await tolerance(app), 2)
    const { config } = (await app.call('GET', path)).data
    assert.equal(config.redundancyFactor, 3)
    assert.equal(config.faultToleranceState.desiredMaxFaultTolerance, 2)
    const background = await app.task(task.subTasks[0].extId)
    assert.equal(background.isBackgroundTask, true)
  } finally {
    await app.close()
  }
})

test('VMs that were idle for a day are counted every hour with their cluster, without changing its ETag', async () => {
  const app = await startApp()
  try {
    const cluster = { extId: ids.native } as NativeCluster
    const idle = await aVm(app, cluster, { name: 'sleeper' })
    const busy = await aVm(app, cluster, { name: 'db-busy' })
    for (const { extId } of [idle, busy]) await changed(app, extId, 'power-on')
    const count = async (): Promise<number | undefined> => (await app.call('GET', native)).data.inefficientVmCount
    await advance(app, 60)
    const before = (await count()) as number
    const { etag } = await app.call('GET', native)
    // Half a day is enough to judge, and whoever is judged by name is no idler.
    await advance(app, 12 * 60)
    const profile = (extId: string): Promise<number> => meanCpu(app, extId)
    assert.ok((await profile(busy.extId)) > 50_000)
    assert.equal(await count(), before + ((await profile(idle.extId)) < 50_000 ? 1 : 0))
    assert.equal((await app.call('GET', native)).etag, etag)
    const found = await app.call('GET', `${clustermgmt}/clusters?$orderby=inefficientVmCount desc&$limit=1`)
    assert.equal(found.data[0].inefficientVmCount, Math.max(before, (await count()) as number))
  } finally {
    await app.close()
  }
})

async function meanCpu(app: TestApp, extId: string): Promise<number> {
  const [from, to] = [app.clock.now() - 12 * 3_600_000, app.clock.now()].map((time) => new Date(time).toISOString())
  const query = `$startTime=${from}&$endTime=${to}&$statType=AVG&$samplingInterval=3600`
  const { data } = await app.call('GET', `/vmm/v4.2/ahv/stats/vms/${extId}?${query}`)
  const values: number[] = data.stats.flatMap(({ hypervisorCpuUsagePpm }: any) => hypervisorCpuUsagePpm ?? [])
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
