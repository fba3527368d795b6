/**
 * Ends the violations of one policy now, with a subtask for each migration. VMs that stay in violation are a warning of
 * the task. Source: behaviour vmm.md 1.12 (re-enforce), 1.16.
 */
import { VmHostAffinityPolicy } from '@hyperplane/contract/vmm/policies/vm-host-affinity-policy'
import type { RecordContext } from '../../../core/tasks/define-task.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { defineTask } from '../../context.ts'
import { complianceOf, type VmState } from './compliance.ts'
import { migrateViolator, migrationOf, movesAmong } from './enforcement.ts'
import { hostAffinity } from './host-affinity.ts'

interface ReEnforcement {
  readonly policyExtId: string
}

export const reEnforcePolicy = defineTask<ReEnforcement>({
  name: 'vmm.re-enforce-vm-host-affinity-policy',
  // Each migration stands alone: none is undone.
  pointOfNoReturn: 'migrate',
  steps: [
    {
      name: 'evaluate',
      progress: 10,
      record: async (ctx, { policyExtId }) => {
        const started: string[] = []
        for (const { vm } of movesAmong(await statesNow(ctx, policyExtId))) {
          const options = { ...migrationOf(vm), parent: ctx.taskExtId }
          started.push((await ctx.startTask(migrateViolator, { vmExtId: vm.extId, isImmediate: true }, options)).extId)
        }
        return { keep: started }
      },
    },
    {
      name: 'migrate',
      progress: 95,
      run: async (ctx) => {
        await ctx.untilEnded(ctx.outputs['evaluate'] as readonly string[])
      },
    },
    {
      name: 'report',
      progress: 100,
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

async function statesNow(ctx: RecordContext<Drivers>, policyExtId: string): Promise<readonly VmState<unknown>[]> {
  const policy = await ctx.store.get(VmHostAffinityPolicy, policyExtId)
  if (policy === undefined) return []
  return (await complianceOf(ctx, hostAffinity, [policy], { isImmediate: true })).get(policyExtId) ?? []
}

const reasonOf = (verdict: VmState<unknown>['verdict']): string => {
  const { $objectType = '' } = (verdict as { readonly reason: { readonly $objectType?: string } }).reason
  return $objectType.slice($objectType.lastIndexOf('.') + 1)
}
