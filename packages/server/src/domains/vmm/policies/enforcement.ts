/**
 * Live-migrates VMs whose violation another host would end, by tasks of the system; a task plans again after earlier tasks of the VM.
 * Source: behaviour vmm.md 1.12, 3.2 (enforcer), 3.5.
 */
import type { AnyResource } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { VpcVirtualSwitchMapping } from '@hyperplane/contract/networking/vpc-virtual-switch-mapping'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { startingTasks } from '../../../core/time/schedules.ts'
import { defineTask, type Schedule, type ScheduleContext, together } from '../../context.ts'
import { HostAllocation } from '../../scheduling/host-allocation.ts'
import { carriesOneOf } from '../../scheduling/policy-selection.ts'
import { releaseOtherReservations, reserve } from '../../scheduling/scheduler.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import type { OfVm } from '../vm/admission.ts'
import { movedTo, moveStep, type OnHost, recordMove } from '../vm/migration.ts'
import { antiAffinity } from './anti-affinity.ts'
import { complianceOf, type Evaluating, type Evaluation, type PolicyRules, type VmState } from './compliance.ts'
import { hostAffinity } from './host-affinity.ts'

interface Enforced {
  readonly kind: AnyResource
  /** The states of the VMs of every policy; with `about`, of the policies that select this VM. */
  readonly statesOf: (ctx: Evaluating, evaluation: Evaluation) => Promise<readonly VmState<unknown>[]>
}

const enforcing = <R extends AnyResource, Reason>(rules: PolicyRules<R, Reason>): Enforced => ({
  kind: rules.kind,
  async statesOf(ctx, evaluation) {
    const { about } = evaluation
    const policies = (await ctx.store.find(rules.kind)).filter(
      (policy) => about === undefined || carriesOneOf(about, rules.categoriesOf(policy)),
    )
    return [...(await complianceOf(ctx, rules, policies, evaluation)).values()].flat()
  },
})

/** Host affinity first: it is mandatory, and its migrations leave VMs apart where they can. */
const enforced: readonly Enforced[] = [enforcing(hostAffinity), enforcing(antiAffinity)]

interface Move {
  readonly vm: VmEntity
  readonly hostExtId: string
}

interface Evaluated {
  /** The VMs to migrate, each once. */
  readonly moves: readonly Move[]
  readonly hasPending: boolean
}

export const movesAmong = (states: readonly VmState<unknown>[]): Move[] =>
  states.flatMap(({ vm, verdict }) =>
    typeof verdict === 'object' && verdict.moveTo !== undefined ? { vm, hostExtId: verdict.moveTo } : [],
  )

async function findMoves(ctx: Evaluating, evaluation: Evaluation = {}): Promise<Evaluated> {
  const states = []
  for (const { statesOf } of enforced) states.push(...(await statesOf(ctx, evaluation)))
  const moves = new Map<string, Move>()
  for (const move of movesAmong(states)) if (!moves.has(move.vm.extId)) moves.set(move.vm.extId, move)
  return { moves: [...moves.values()], hasPending: states.some(({ verdict }) => verdict === 'pending') }
}

interface Migration extends OfVm {
  readonly isImmediate?: boolean
}

export const migrateViolator = defineTask<Migration>({
  name: 'vmm.live-migrate-vm',
  cancelableUntil: 'move',
  steps: [
    {
      name: 'reserve',
      progress: 10,
      /** Keeps nothing if the VM no longer violates its policy, or no host is left for it. */
      record: async (ctx, { vmExtId, isImmediate = false }): Promise<{ keep: OnHost } | undefined> => {
        const violator = await ctx.store.get(Vm, vmExtId)
        const { moves } =
          violator === undefined ? { moves: [] } : await findMoves(ctx, { about: violator, isImmediate })
        const move = moves.find(({ vm }) => vm.extId === vmExtId)
        if (move === undefined) return undefined
        await reserve(ctx.store, move.vm, move.hostExtId)
        return { keep: { hostExtId: move.hostExtId } }
      },
      unrecord: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm !== undefined) await releaseOtherReservations(ctx.store, vm)
      },
    },
    moveStep('reserve', 95, 10),
    {
      name: 'store',
      record: async (ctx, { vmExtId }) => {
        const hostExtId = movedTo(ctx)
        if (hostExtId !== undefined) await recordMove(ctx, vmExtId, hostExtId)
      },
    },
  ],
})

/** Limit of one run; the next one starts the others. */
const mostStarted = 32

export const enforcePolicies: Schedule = {
  name: 'vmm.enforce-policies',
  everySeconds: 60,
  watch({ drivers, store }, changed) {
    return together(
      drivers.hardware.watch(changed),
      drivers.hypervisor.watchVmGroups(changed),
      store.watch(
        [Vm, Host, HostAllocation, Subnet, VirtualSwitch, VpcVirtualSwitchMapping, ...enforced.map(({ kind }) => kind)],
        changed,
      ),
    )
  },
  async run(ctx) {
    const { moves, hasPending } = await findMoves(ctx)
    const idle = moves.filter(({ vm }) => ctx.runner.queueLength(vm.extId) === 0)
    for (const { vm } of idle.slice(0, mostStarted)) await startMigration(ctx, vm)
    // A migration may fail: then the next run tries again.
    if (hasPending || moves.length > 0) return 'again'
  },
}

const startMigration = (ctx: ScheduleContext, vm: VmEntity): Promise<void> =>
  startingTasks(ctx, async (_, startTask) => {
    await startTask(migrateViolator, { vmExtId: vm.extId }, { ...migrationOf(vm), background: true })
  })

export const liveMigration = 'VmLiveMigrate'

/** A VM that is deleted has an id only. */
export const migrationOf = (vm: Pick<VmEntity, 'extId'> & Partial<VmEntity>) => ({
  operation: liveMigration,
  description: 'VM Live Migrate',
  affected: [{ extId: vm.extId, rel: Vm.rel, ...(vm.name === undefined ? {} : { name: vm.name }) }],
  ...(vm.cluster?.extId === undefined ? {} : { clusterExtIds: [vm.cluster.extId] }),
})
