/** Reboots guests at the time that an installation or upgrade of guest tools chose. Source: behaviour vmm.md 1.5. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import { pathOf } from '../../../../core/standard.ts'
import { parseTime } from '../../../../core/time/clock.ts'
import { type Schedule, startingTasks } from '../../../../core/time/schedules.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import { equals, not } from '../../../../odata/index.ts'
import { defineTask } from '../../../context.ts'
import { type OfVm, present, taskOf } from '../admission.ts'
import { noteRestart } from '../power/power-state.ts'
import { toolsOf } from './tools-of.ts'

interface Needed {
  readonly isNeeded: boolean
}

const isNeeded = (outputs: Readonly<Record<string, unknown>>): boolean =>
  (outputs['check'] as Needed | undefined)?.isNeeded === true

export const rebootForToolsTask = defineTask<OfVm>({
  name: 'vmm.reboot-for-guest-tools',
  steps: [
    {
      name: 'check',
      progress: 10,
      // A VM that is OFF, or has booted since the setup, needs no reboot.
      run: async ({ drivers, store }, { vmExtId }): Promise<Needed> => {
        const vm = await present(store, vmExtId)
        return { isNeeded: vm.powerState === 'ON' && !(await toolsOf(drivers, vm)).isReachable }
      },
    },
    {
      name: 'signal and wait',
      progress: 100,
      run: async ({ drivers, store, callKey, outputs }, { vmExtId }) => {
        if (!isNeeded(outputs)) return
        const { name } = await present(store, vmExtId)
        const outcome = await drivers.hypervisor.requestReboot(vmExtId, 'COMMAND', callKey)
        if (outcome === 'ignored') throw new ApiError('GUEST_DID_NOT_RESPOND', { name, operation: 'reboot' })
      },
      isIrreversible: true,
      record: async (ctx, { vmExtId }) => {
        if (isNeeded(ctx.outputs)) await noteRestart(ctx, vmExtId)
      },
    },
  ],
})

export const rebootForTools: Schedule<Drivers> = {
  name: 'vmm.reboot-for-guest-tools',
  everySeconds: 10,
  watch: ({ store }, changed) => store.watch([Vm], changed),
  async run(ctx) {
    const waiting = await ctx.store.find(Vm, { filter: not(equals(pathOf(Vm, 'toolsRebootAt'), null)) })
    const times = waiting.map(({ toolsRebootAt }) => parseTime(toolsRebootAt as string) ?? 0)
    for (const [index, { extId }] of waiting.entries()) {
      if ((times[index] as number) > ctx.clock.now()) continue
      await startingTasks(ctx, async (store, startTask) => {
        const vm = await store.get(Vm, extId)
        if (vm?.toolsRebootAt === undefined) return
        await store.observe(Vm, extId, { toolsRebootAt: undefined })
        const options = { ...taskOf('RebootVm', vm), appName: 'vmm', background: true }
        await startTask(rebootForToolsTask, { vmExtId: extId }, options)
      })
    }
    const later = times.filter((time) => time > ctx.clock.now())
    if (later.length > 0) return Math.min(...later)
  },
}
