/** Subtasks migrate VMs now; remaining violations are warnings of the task. Source: behaviour vmm.md 1.12 (re-enforce), 1.16. */
import { VmHostAffinityPolicy } from '@hyperplane/contract/vmm/policies/vm-host-affinity-policy'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { inTurn } from '../../../core/tasks/in-turn.ts'
import { defineTask, type RecordContext } from '../../context.ts'
import { complianceOf, type VmState } from './compliance.ts'
import { liveMigration, migrateViolator, migrationOf, movesAmong } from './enforcement.ts'
import { hostAffinity } from './host-affinity.ts'

/** A host takes part in few migrations at once; the others would only wait. */
const migrationsAtOnce = 8

interface ReEnforcement {
  readonly policyExtId: string
}

export const reEnforcePolicy = defineTask<ReEnforcement>({
  name: 'vmm.re-enforce-vm-host-affinity-policy',
  // Migrations are independent: none is undone.
  pointOfNoReturn: 'migrate',
  steps: [
    {
      name: 'evaluate',
      progress: 10,
      record: async (ctx, { policyExtId }) => {
        return { keep: movesAmong(await statesNow(ctx, policyExtId)).map(({ vm }) => vm.extId) }
      },
    },
    {
      name: 'migrate',
      progress: 95,
      run: async (ctx) => {
        await inTurn(ctx, ctx.outputs['evaluate'] as readonly string[], {
          atOnce: migrationsAtOnce,
          operation: liveMigration,
          progress: [10, 95],
          start: async (record, vmExtId) => {
            const vm = (await record.store.get(Vm, vmExtId)) ?? { extId: vmExtId }
            const options = { ...migrationOf(vm), parent: ctx.taskExtId }
            return record.startTask(migrateViolator, { vmExtId, isImmediate: true }, options)
          },
        })
      },
    },
    {
      name: 'report',
      record: async (ctx, { policyExtId }) => {
        const left = (await statesNow(ctx, policyExtId)).filter(({ verdict }) => typeof verdict === 'object')
        if (left.length === 0) return
        // Counts and no names: the caller may not see each VM.
        const byReason = Map.groupBy(left, ({ verdict }) => reasonOf(verdict))
        const reasons = [...byReason].map(([reason, vms]) => `${vms.length} ${reason}`).join(', ')
        ctx.warn(`VMs still violate the policy: ${reasons}. The list of compliance states has the reason of each VM.`)
      },
    },
  ],
})

async function statesNow(ctx: RecordContext, policyExtId: string): Promise<readonly VmState<unknown>[]> {
  const policy = await ctx.store.get(VmHostAffinityPolicy, policyExtId)
  if (policy === undefined) return []
  return (await complianceOf(ctx, hostAffinity, [policy], { isImmediate: true })).get(policyExtId) ?? []
}

const reasonOf = (verdict: VmState<unknown>['verdict']): string => {
  const { $objectType = '' } = (verdict as { readonly reason: { readonly $objectType?: string } }).reason
  return $objectType.slice($objectType.lastIndexOf('.') + 1)
}
