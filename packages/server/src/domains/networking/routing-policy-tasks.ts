/** Tasks that program routing policies into the fabric. Source: behaviour networking.md 1.7, 1.22. */
import { RoutingPolicy } from '@hyperplane/contract/networking/routing-policy'
import { defineTask } from '../context.ts'
import { type PolicyEntity, policyProgramOf } from './policy-program.ts'

export const createPolicyTask = defineTask<{ readonly entity: PolicyEntity }>({
  name: 'networking.create-routing-policy',
  steps: [
    {
      name: 'install rules',
      progress: 100,
      seconds: [0.3, 0.9],
      run: (ctx, { entity }) => ctx.drivers.networkFabric.installPolicy(policyProgramOf(entity)),
      undo: (ctx, { entity }) => ctx.drivers.networkFabric.removePolicy(entity.extId),
      record: async (ctx, { entity }) => {
        await ctx.store.update(RoutingPolicy, entity.extId, { change: undefined })
      },
    },
  ],
  onUndone: (ctx, { entity }) => ctx.store.remove(RoutingPolicy, entity.extId),
})

export const updatePolicyTask = defineTask<{ readonly before: PolicyEntity; readonly after: PolicyEntity }>({
  name: 'networking.update-routing-policy',
  steps: [
    {
      name: 'swap rules',
      progress: 100,
      seconds: [0.3, 0.9],
      run: (ctx, { after }) => ctx.drivers.networkFabric.installPolicy(policyProgramOf(after)),
      undo: (ctx, { before }) => ctx.drivers.networkFabric.installPolicy(policyProgramOf(before)),
      record: async (ctx, { after }) => {
        await ctx.store.replace(RoutingPolicy, after)
      },
    },
  ],
  onUndone: async (ctx, { before }) => {
    await ctx.store.update(RoutingPolicy, before.extId, { change: undefined })
  },
})

export const deletePolicyTask = defineTask<{ readonly extId: string }>({
  name: 'networking.delete-routing-policy',
  steps: [
    {
      name: 'remove rules',
      progress: 100,
      seconds: [0.3, 0.9],
      run: (ctx, { extId }) => ctx.drivers.networkFabric.removePolicy(extId),
      record: (ctx, { extId }) => ctx.store.remove(RoutingPolicy, extId),
    },
  ],
  pointOfNoReturn: 'remove rules',
})

export const clearCountersTask = defineTask<{ readonly policyExtIds: readonly string[] }>({
  name: 'networking.clear-routing-policy-counters',
  steps: [
    {
      name: 'clear counters',
      progress: 100,
      seconds: [0.1, 0.3],
      run: (ctx, { policyExtIds }) => ctx.drivers.networkFabric.clearPolicyCounters(policyExtIds),
      // No undo: cleared counters cannot be restored.
      isIrreversible: true,
    },
  ],
})
