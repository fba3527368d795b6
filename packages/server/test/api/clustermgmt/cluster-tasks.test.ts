import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { clustermgmt, hostId, ids, putFresh, setFault } from '../../support/clustermgmt.ts'
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

test('more copies are recorded at once, and failures tolerated when the data has been copied in the background', async () => {
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
