/** Batches go on after a restart, and run nothing twice. Source: behaviour platform.md 3 (restart); conventions 25.33. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Batch } from '@hyperplane/contract/platform/batch'
import { Category } from '@hyperplane/contract/platform/category'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { startApp } from '../../support/start-app.ts'

const submission = (count: number, chunkSize: number) => ({
  requestId: crypto.randomUUID(),
  body: {
    metadata: { action: 'CREATE', name: 'restarted', uri: '/api/platform/v4.3/config/categories', chunkSize },
    payload: Array.from({ length: count }, (_, index) => ({ data: { key: 'Restart', value: `v${index}` } })),
  },
})

for (const phase of ['run', 'record'] as const) {
  test(`a batch of 100 that stops before its ${phase} makes 100 categories in the end`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hyperplane-batch-'))
    const reached = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<never>()
    stopped.promise.catch(() => undefined)
    try {
      const first = await startApp({
        folder,
        beforeStep: async (definition, _step, at) => {
          if (definition !== 'platform.run-batch' || at !== phase) return
          reached.resolve()
          await stopped.promise
        },
      })
      const started = await first.call('POST', '/platform/v4.3/operations/$actions/batch', submission(100, 10))
      await reached.promise
      const closed = first.close()
      stopped.reject(new Error('the process ends here'))
      await closed
      await finishes(folder, started.data.extId)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

test('a batch of 100 that stops in the middle makes 100 categories in the end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-batch-'))
  try {
    const first = await startApp({ folder })
    const started = await first.call('POST', '/platform/v4.3/operations/$actions/batch', submission(100, 1))
    while (((await first.store.get(Batch, started.data.extId))?.successCount ?? 0) < 10) await new Promise(setImmediate)
    assert.ok(
      (await first.store.findWhere(TaskJob, { taskExtId: started.data.extId })).some((job) => job.status === 'PENDING'),
    )
    await first.close()
    await finishes(folder, started.data.extId)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

async function finishes(folder: string, extId: string): Promise<void> {
  const app = await startApp({ folder })
  try {
    const task = await app.task(extId)
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
    assert.deepEqual(task.batchSummary, { numberOfJobs: 100, numberOfJobsSuccessful: 100, numberOfJobsFailed: 0 })
    assert.equal((await app.store.findWhere(Category, { key: 'Restart' })).length, 100)
    const batch = await app.store.get(Batch, extId)
    assert.deepEqual([batch?.successCount, batch?.executionStatus], [100, 'COMPLETED'])
  } finally {
    await app.close()
  }
}
