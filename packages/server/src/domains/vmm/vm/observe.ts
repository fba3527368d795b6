/**
 * Changes without a request: halts and reboots by the guest, pauses by storage, silent hosts. VMs with a running task wait for the next
 * run.
 * Source: behaviour vmm.md 1.1 (states, transitions by the world).
 */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { havingValue } from '../../../core/standard.ts'
import { parseTime } from '../../../core/time/clock.ts'
import type { UnaskedState } from '../../../drivers/hypervisor.ts'
import { type ScheduleContext, together } from '../../context.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { notePower } from '../../virtual-machines/power-journal.ts'
import { deleteIso } from './guest/customization.ts'
import { type Recording, setOff, setPower } from './power/power-state.ts'

const silentMillis = 30_000

export const observeDomains = {
  name: 'vmm.observe-domains',
  everySeconds: 10,
  watch: ({ drivers }: ScheduleContext, changed: () => void) =>
    together(drivers.hypervisor.watch(changed), drivers.hardware.watch(changed)),
  async run(ctx: ScheduleContext): Promise<void | 'again'> {
    const unasked = await ctx.drivers.hypervisor.unaskedStates()
    let isWaiting = false
    for (const extId of await suspects(ctx, unasked.keys())) {
      if (ctx.runner.queueLength(extId) > 0) {
        isWaiting = true
        continue
      }
      const found = unasked.get(extId)
      const vm = await ctx.store.get(Vm, extId)
      // The state of VMs in an unreachable cluster is unknown until the cluster answers again.
      if (!ctx.drivers.hardware.isReachable(vm?.cluster?.extId ?? '')) continue
      const isSeen = vm?.host === undefined || ctx.drivers.hardware.isHostUp(vm.host.extId as string)
      if (found?.state === 'OFF' && isSeen) await deleteIso(ctx, vm)
      const outcome = await ctx.store.transaction(async (store) =>
        // A task of the VM may have started since its queue was read.
        ctx.runner.queueLength(extId) > 0 ? 'busy' : follow({ ...ctx, store }, extId, found),
      )
      isWaiting ||= outcome !== 'settled'
      if (outcome === 'busy') continue
      if (isSeen && (found?.state === 'OFF' || found?.state === 'RESTARTED'))
        await ctx.drivers.hypervisor.acknowledge(extId)
    }
    if (isWaiting) return 'again'
  },
}

/** VMs whose rows may differ from the hypervisor: only these are read, because most runs find nothing to change. */
async function suspects({ store, drivers }: ScheduleContext, unasked: Iterable<string>): Promise<ReadonlySet<string>> {
  const found = new Set(unasked)
  const silent = (await store.find(Host)).filter(({ extId }) => !drivers.hardware.isHostUp(extId))
  const rows = [
    await store.findWhere(Vm, { powerState: 'PAUSED' }),
    await store.findWhere(Vm, { powerState: 'UNDETERMINED' }),
    await store.find(Vm, havingValue(Vm, 'hostSilentSince')),
    ...(await Promise.all(silent.map(({ extId }) => store.findWhere(Vm, { 'host/extId': extId })))),
  ]
  for (const { extId } of rows.flat()) found.add(extId)
  return found
}

async function follow(
  ctx: Recording & Pick<ScheduleContext, 'drivers'>,
  extId: string,
  unasked: UnaskedState | undefined,
): Promise<'settled' | 'waits'> {
  const vm = await ctx.store.get(Vm, extId)
  if (vm?.host === undefined) return 'settled'
  if (!ctx.drivers.hardware.isHostUp(vm.host.extId as string)) return recordSilentHost(ctx, vm)
  if (vm.hostSilentSince !== undefined) await ctx.store.observe(Vm, extId, { hostSilentSince: undefined })
  if (unasked?.state === 'RESTARTED') return recordReboot(ctx, vm)
  if (unasked?.state === 'HELD') {
    if (vm.powerState !== 'UNDETERMINED') await setPower(ctx, vm, 'PAUSED', { powerState: 'UNDETERMINED' })
    return 'settled'
  }
  const state = unasked?.state ?? 'ON'
  if (state === vm.powerState) return 'settled'
  if (state === 'OFF') await setOff(ctx, vm, unasked?.isCustomizationDone === true)
  else await setPower(ctx, vm, state === 'PAUSED' ? 'PAUSED' : 'RESUMED', { powerState: state })
  return 'settled'
}

/** The guest rebooted itself. The row changes only if it did not say ON, for example while the host was silent. */
async function recordReboot(ctx: Recording, vm: VmEntity): Promise<'settled'> {
  if (vm.powerState === 'ON') await notePower(ctx.store, ctx.ids, vm, 'RESET', ctx.clock.iso())
  else await setPower(ctx, vm, 'RESET', { powerState: 'ON' })
  return 'settled'
}

async function recordSilentHost(ctx: Recording, vm: VmEntity): Promise<'settled' | 'waits'> {
  if (vm.powerState === 'UNDETERMINED') return 'settled'
  const since = vm.hostSilentSince
  if (since === undefined) await ctx.store.observe(Vm, vm.extId, { hostSilentSince: ctx.clock.iso() })
  if (ctx.clock.now() - (parseTime(since ?? '') ?? ctx.clock.now()) < silentMillis) return 'waits'
  await setPower(ctx, vm, 'PAUSED', { powerState: 'UNDETERMINED' })
  return 'settled'
}
