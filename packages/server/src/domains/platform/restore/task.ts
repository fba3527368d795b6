/** Restore: four subtasks; the last one replaces this store. Source: behaviour platform.md 9. */
import { DriverError, defineTask, type Step, type TaskDefinition } from '../../context.ts'
import { check, fetchAndCheck, load, type RestoreInput, switchStores } from './parts.ts'

const parts = [
  ['fetch and check', fetchAndCheck],
  ['load', load],
  ['check', check],
  ['switch', switchStores],
] as const

export const restoreManager = defineTask<RestoreInput>({
  name: 'platform.restore',
  endsWithProcess: true,
  cancelableUntil: 'start switch',
  steps: parts.flatMap(([name, part], index) => stepsOf(name, part, 25 * index)),
})

function stepsOf(name: string, part: TaskDefinition<RestoreInput>, reached: number): readonly Step<RestoreInput>[] {
  const start = `start ${name}`
  return [
    {
      name: start,
      progress: reached,
      record: async (ctx, input) => {
        const task = await ctx.startTask(part, input, {
          operation: part.name.replace('platform.', ''),
          description: `Restore: ${name}`,
          affected: [],
          parent: ctx.taskExtId,
        })
        return { keep: task.extId }
      },
    },
    {
      name,
      progress: reached + 25,
      run: async (ctx) => {
        const [end] = await ctx.untilEnded([ctx.outputs[start] as string])
        if (end?.status === 'SUCCEEDED') return
        const [appMessage] = end?.errorMessages ?? []
        throw new DriverError(appMessage?.message ?? `a part of the restore ended ${end?.status}`, {
          retryable: false,
          ...(appMessage === undefined ? {} : { appMessage }),
        })
      },
      undo: async (ctx) => ctx.services.restores.drop(),
    },
  ]
}
