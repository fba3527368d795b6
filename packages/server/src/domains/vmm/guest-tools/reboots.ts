/** Reboots guests at the time that an installation or upgrade of guest tools chose. Source: behaviour vmm.md 1.5, 1.7. */

import type { EntityOf } from '@hyperplane/contract'
import type { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import type { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { havingValue } from '../../../core/standard.ts'
import { parseTime } from '../../../core/time/clock.ts'
import { startingTasks } from '../../../core/time/schedules.ts'
import type { Schedule, TaskDefinition, TaskOptions } from '../../context.ts'

export function rebootsAtTheirTime<R extends typeof Vm | typeof ExternVm>(
  name: string,
  kind: R,
  task: TaskDefinition<{ readonly vmExtId: string }>,
  optionsOf: (vm: EntityOf<R>) => TaskOptions,
): Schedule {
  return {
    name,
    everySeconds: 10,
    watch: ({ store }, changed) => store.watch([kind], changed),
    async run(ctx) {
      const waiting = await ctx.store.find(kind, havingValue(kind, 'toolsRebootAt'))
      const times = waiting.map(({ toolsRebootAt }) => parseTime(toolsRebootAt as string) ?? 0)
      for (const [index, { extId }] of waiting.entries()) {
        if ((times[index] as number) > ctx.clock.now()) continue
        await startingTasks(ctx, async (store, startTask) => {
          const vm = await store.get(kind, extId)
          if (vm?.toolsRebootAt === undefined) return
          await store.observe(kind, extId, { toolsRebootAt: undefined } as Partial<EntityOf<R>>)
          await startTask(task, { vmExtId: extId }, { ...optionsOf(vm), background: true })
        })
      }
      const later = times.filter((time) => time > ctx.clock.now())
      if (later.length > 0) return Math.min(...later)
    },
  }
}
