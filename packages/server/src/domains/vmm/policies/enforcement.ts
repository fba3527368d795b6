/**
 * Live-migrates VMs that violate a policy, when another host would end the violation. The system owns these tasks; a
 * task plans its move again when the VM's earlier tasks have ended. Source: behaviour vmm.md 1.12, 3.2 (enforcer), 3.5.
 */
import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { type Schedule, type ScheduleContext, startingTasks } from '../../../core/time/schedules.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { defineTask } from '../../context.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { carriesOneOf } from '../../scheduling/policy-selection.ts'
import { giveBackElsewhere, reserve } from '../../scheduling/scheduler.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { affectedVm, type OfVm } from '../vm/admission.ts'
import { movedTo, moveStep, type OnHost, recordMove } from '../vm/migration.ts'
import { antiAffinity } from './anti-affinity.ts'
import { complianceOf, type Evaluating } from './compliance.ts'

/** Every kind of policy whose violations are ended by live migration. */
const enforced = [antiAffinity]

type Policy = EntityOf<(typeof enforced)[number]['kind']>

interface Found {
  /** The VMs to migrate, each with its new host. */
  readonly moves: readonly { readonly vm: VmEntity; readonly hostExtId: string }[]
  readonly hasPending: boolean
}

/** @param about only policies that select this VM are judged */
async function findMoves(ctx: Evaluating, about?: VmEntity): Promise<Found> {
  const states = []
  for (const rules of enforced) {
    const concerns = (policy: Policy): boolean => about === undefined || carriesOneOf(about, rules.categoriesOf(policy))
    const policies = (await ctx.store.find(rules.kind)).filter(concerns)
    states.push(...[...(await complianceOf(ctx, rules, policies)).values()].flat())
  }
  const moves = states.flatMap(({ vm, verdict }) =>
    typeof verdict === 'object' && verdict.moveTo !== undefined ? { vm, hostExtId: verdict.moveTo } : [],
  )
  return { moves, hasPending: states.some(({ verdict }) => verdict === 'pending') }
}

export const migrateViolator = defineTask<OfVm>({
  name: 'vmm.live-migrate-vm',
  cancelableUntil: 'move',
  steps: [
    {
      name: 'reserve',
      progress: 10,
      /** Keeps nothing where the VM has stopped violating its policy, or no host is left for it. */
      record: async (ctx, { vmExtId }): Promise<{ keep: OnHost } | undefined> => {
        const violator = await ctx.store.get(Vm, vmExtId)
        const moves = violator === undefined ? [] : (await findMoves(ctx, violator)).moves
        const move = moves.find(({ vm }) => vm.extId === vmExtId)
        if (move === undefined) return undefined
        await reserve(ctx.store, move.vm, move.hostExtId)
        return { keep: { hostExtId: move.hostExtId } }
      },
      unrecord: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm !== undefined) await giveBackElsewhere(ctx.store, vm)
      },
    },
    moveStep('reserve', 95, 10),
    {
      name: 'store',
      progress: 100,
      record: async (ctx, { vmExtId }) => {
        const hostExtId = movedTo(ctx)
        if (hostExtId !== undefined) await recordMove(ctx, vmExtId, hostExtId)
      },
    },
  ],
})

export const enforcePolicies: Schedule<Drivers> = {
  name: 'vmm.enforce-policies',
  everySeconds: 60,
  watch({ drivers, store }, changed) {
    const ends = [
      drivers.hardware.watch(changed),
      store.watch([Vm, Host, HostAllocation, Subnet, VirtualSwitch, ...enforced.map(({ kind }) => kind)], changed),
    ]
    return () => {
      for (const end of ends) end()
    }
  },
  async run(ctx) {
    const { moves, hasPending } = await findMoves(ctx)
    for (const { vm } of moves) if (ctx.runner.queueLength(vm.extId) === 0) await startMigration(ctx, vm)
    // A migration may fail: then the next run tries again.
    if (hasPending || moves.length > 0) return 'again'
  },
}

const startMigration = (ctx: ScheduleContext<Drivers>, vm: VmEntity): Promise<void> =>
  startingTasks(ctx, async (_, startTask) => {
    await startTask(
      migrateViolator,
      { vmExtId: vm.extId },
      {
        operation: 'VmLiveMigrate',
        description: 'VM Live Migrate',
        affected: [affectedVm(vm)],
        clusterExtIds: [vm.cluster?.extId as string],
        appName: 'vmm',
        background: true,
      },
    )
  })
