/** Batches: up to 500 requests of one operation. Source: behaviour platform.md 3, conventions 20. */
import { Batch, batchOperations } from '@hyperplane/contract/platform/batch'
import { Task } from '@hyperplane/contract/platform/task'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { both, notFound, pathOf, standardList } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import { implement, type ReadContext } from '../context.ts'
import { runBatch } from './batch-run.ts'
import { batchPlanOf } from './batch-spec.ts'

export const batch = implement(
  batchOperations,
  {
    async submitBatch(ctx, { body }) {
      const { metadata, payload } = body
      const { method, query, elements } = batchPlanOf(body, ctx.services.router, ctx.services.names)
      const { chunkSize = 1, shouldStopOnError = false } = metadata
      const started = await ctx.startTask(
        runBatch,
        { method, query, chunkSize, shouldStopOnError, unknown: ctx.unknown },
        // No locks: elements lock what they change, and would wait for their own batch.
        { operation: `BATCH-${metadata.action}`, description: metadata.name, affected: [], locks: [] },
      )
      const owned = { ownerExtId: ctx.caller.extId, tenantId: ctx.tenantId }
      const createdTime = ctx.clock.iso()
      for (const [index, element] of elements.entries()) {
        await ctx.store.insert(TaskJob, {
          extId: ctx.ids.uuid(),
          ...owned,
          taskExtId: started.extId,
          name: String(index),
          status: 'PENDING',
          createdTime,
          element: JSON.stringify(element),
        })
      }
      const size = payload.length
      await ctx.store.insert(Batch, {
        extId: started.extId,
        ...owned,
        name: metadata.name,
        size,
        successCount: 0,
        failedCount: 0,
        shouldStopOnError,
        executionStatus: 'IN_PROGRESS',
        startTime: createdTime,
      })
      const batchSummary = { numberOfJobs: size, numberOfJobsSuccessful: 0, numberOfJobsFailed: 0 }
      await ctx.store.observe(Task, started.extId, { batchSummary })
      return started
    },

    async listBatches(ctx, request) {
      const permitted = await ctx.scopeOf('Batch')
      if (permitted === 'none') return { entities: [], total: 0 }
      const own = (await seesAll(ctx)) ? undefined : equals(pathOf(Batch, 'ownerExtId'), ctx.caller.extId)
      return standardList(ctx, { ...request, body: undefined }, both(permitted, own) ?? 'all')
    },

    async getBatchById(ctx) {
      const found = ctx.target
      if (found.ownerExtId !== ctx.caller.extId && !(await seesAll(ctx))) throw notFound(Batch, found.extId, 'extId')
      return found
    },
  },
  { tasks: [runBatch] },
)

const seesAll = (ctx: ReadContext): Promise<boolean> =>
  ctx.services.access.hasRole(ctx.caller, ['Super Admin', 'Platform Admin', 'Monitoring Admin'])
