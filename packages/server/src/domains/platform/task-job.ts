/** Jobs of batch tasks; the batch writes them. Source: behaviour platform.md 2. */
import { TaskJob, taskJobOperations } from '@hyperplane/contract/platform/task-job'
import { type AffectedEntity, implement } from '../context.ts'
import { withVisibleNames } from './affected-entities.ts'

export const taskJob = implement(
  taskJobOperations,
  {},
  {
    present: [
      [
        TaskJob,
        async (ctx, jobs) => {
          const names = await withVisibleNames(
            ctx,
            jobs.map((job) => (job.entitiesAffected ?? []) as readonly AffectedEntity[]),
          )
          return jobs.map((job, index) =>
            job.entitiesAffected === undefined
              ? job
              : { ...job, entitiesAffected: names[index] as typeof job.entitiesAffected },
          )
        },
      ],
    ],
  },
)
