/**
 * When backups run: on the world's clock, each time the interval of a target is over. One run at a time a target; one that
 * takes longer than the interval takes the place of the next. Source: behaviour platform.md 7 (schedule).
 */
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { parseTime } from '../../../core/clock.ts'
import { systemCaller } from '../../../core/context.ts'
import type { Schedule } from '../../../core/schedules.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { isDue, startIfDue } from './run-task.ts'

export const backupSchedule: Schedule<Drivers> = {
  name: 'platform.backups',
  everySeconds: 60,
  watch: ({ store }, changed) => store.watch([BackupTarget], changed),
  async run(ctx) {
    const now = ctx.clock.now()
    const targets = await ctx.store.find(BackupTarget)
    for (const { extId } of targets.filter((target) => isDue(target, now))) {
      const after: (() => void)[] = []
      await ctx.store.transaction(async (store) => {
        const startTask = ctx.runner.starter(store, systemCaller(ctx.tenantId), (work) => after.push(work))
        await startIfDue({ ...ctx, store, startTask }, extId)
      })
      for (const work of after) work()
    }
    // What is due only when its present run has ended is written again then, and is seen by that.
    const times = targets.flatMap(({ nextRunTime }) => parseTime(nextRunTime ?? '') ?? [])
    return Math.min(...times.filter((time) => time > now))
  },
}
