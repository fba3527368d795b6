/** Legacy anti-affinity policies: groups of VMs in clusters, without rows. Source: behaviour vmm.md 1.12. */
import type { EntityOf } from '@hyperplane/contract'
import {
  LegacyVmAntiAffinityPolicy,
  legacyVmAntiAffinityPolicyOperations,
} from '@hyperplane/contract/vmm/policies/legacy-vm-anti-affinity-policy'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { isInScope } from '../../../core/access/scope.ts'
import { ApiError } from '../../../core/api-error.ts'
import { listOf, notFound } from '../../../core/standard.ts'
import { defineTask, implement, type ReadContext } from '../../context.ts'
import { requireClusterReachable } from '../../registrations/reachability.ts'
import { visibleVms } from './compliance-states.ts'
import { policyTask } from './lifecycle.ts'

type Policy = EntityOf<typeof LegacyVmAntiAffinityPolicy>

const removeGroup = defineTask<{ readonly extId: string }>({
  name: 'vmm.delete-legacy-vm-anti-affinity-policy',
  steps: [
    {
      name: 'remove group',
      run: (ctx, { extId }) => ctx.drivers.hypervisor.removeVmGroup(extId),
      // No undo: the hypervisor no longer has the group.
      isIrreversible: true,
    },
  ],
})

const policiesOf = ({ drivers, tenantId }: Pick<ReadContext, 'drivers' | 'tenantId'>): Policy[] =>
  drivers.hypervisor.vmGroups().map(({ extId, name, clusterExtId, vmExtIds }) => ({
    extId,
    tenantId,
    name,
    cluster: { extId: clusterExtId },
    vms: vmExtIds.map((vmExtId) => ({ extId: vmExtId })),
  }))

export const legacyVmAntiAffinityPolicy = implement(
  legacyVmAntiAffinityPolicyOperations,
  {
    async listLegacyVmAntiAffinityPolicies(ctx, request) {
      const scope = await ctx.services.access.viewScope(ctx.caller, LegacyVmAntiAffinityPolicy)
      const isVisible = await visibleVms(ctx)
      const { entities, total } = listOf(
        policiesOf(ctx).filter((policy) => isInScope(scope, policy)),
        request,
      )
      const shown = entities.map(async (policy) => {
        const vms = await ctx.store.getMany(
          Vm,
          (policy.vms ?? []).map(({ extId }) => extId as string),
        )
        return { ...policy, vms: vms.filter(isVisible).map(({ extId }) => ({ extId })) }
      })
      return { entities: await Promise.all(shown), total }
    },

    async deleteLegacyVmAntiAffinityPolicyById(ctx, { path: { extId } }) {
      const { access } = ctx.services
      const policy = policiesOf(ctx).find((each) => each.extId === extId)
      if (policy === undefined || !isInScope(await access.viewScope(ctx.caller, LegacyVmAntiAffinityPolicy), policy))
        throw notFound(LegacyVmAntiAffinityPolicy, extId, 'extId')
      if (!isInScope(await access.scope(ctx.caller, ctx.operation), policy))
        throw new ApiError('ACCESS_DENIED', { operation: ctx.operation.iamOperation, reason: ' on this entity' })
      await requireClusterReachable(ctx, policy.cluster?.extId)
      return ctx.startTask(
        removeGroup,
        { extId },
        {
          ...policyTask('Delete', LegacyVmAntiAffinityPolicy, { extId, name: policy.name as string }),
          clusterExtIds: [policy.cluster?.extId as string],
        },
      )
    },
  },
  { tasks: [removeGroup] },
)
