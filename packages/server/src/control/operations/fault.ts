/** Fault rules: stored in the control store of their world, applied by its rule book. Source: reference faults.md. */

import { FaultRule, faultOperations } from '@hyperplane/contract/control/fault'
import { ApiError } from '../../core/api-error.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { standardList } from '../../core/standard.ts'
import type { Instance } from '../../instance/instance.ts'
import { implementWithinWorld } from '../context.ts'
import { faultsOfRule } from '../faults/rules.ts'

const maximumRules = 1000

export const fault = implementWithinWorld(
  faultOperations,
  {
    // Counts are written with a delay: a read must show every match.
    async listFaultRules(ctx, request) {
      await ctx.drivers.faults.countsWritten()
      return standardList(ctx, { ...request, body: undefined }, 'all')
    },
    async getFaultRule(ctx) {
      await ctx.drivers.faults.countsWritten()
      return (await ctx.store.get(FaultRule, ctx.target.extId)) ?? ctx.target
    },
    async createFaultRule(ctx, { body, prepared }) {
      const count = (await ctx.store.count(FaultRule)) + 1
      if (count > maximumRules)
        throw new ApiError('LIMIT_EXCEEDED', { limit: 'fault rules of a world', maximum: maximumRules, found: count })
      const { world, clock } = prepared as Instance
      const ordinal = ctx.drivers.faults.nextOrdinal()
      const stored = await ctx.store.insert(FaultRule, {
        ...body,
        // Derived from the seed: the journal shows this id, and must be equal in every run of the same world.
        extId: seedId(`fault-rule/${world.seed}/${ordinal}`),
        ordinal,
        createTime: clock.iso(),
        timesMatched: 0,
        timesFired: 0,
        heldTaskExtIds: [],
      })
      ctx.afterCommit(() => ctx.drivers.faults.put(stored))
      return stored
    },
    async updateFaultRule(ctx, { body }) {
      const { extId, ordinal, createTime } = ctx.target
      const counts = ctx.drivers.faults.countsOf(extId)
      const stored = await ctx.store.replace(FaultRule, { ...body, ...counts, extId, ordinal, createTime })
      ctx.afterCommit(() => ctx.drivers.faults.put(stored))
      return stored
    },
    async deleteFaultRule(ctx) {
      const { extId } = ctx.target
      await ctx.store.remove(FaultRule, extId)
      ctx.afterCommit(() => ctx.drivers.faults.remove(extId))
      return undefined
    },
    async deleteFaultRules(ctx) {
      for (const { extId } of await ctx.store.find(FaultRule)) await ctx.store.remove(FaultRule, extId)
      ctx.afterCommit(() => ctx.drivers.faults.removeAll())
      return undefined
    },
    async resetFaultRuleCounts(ctx) {
      const { lastFiredTime: _, ...rest } = ctx.target
      const stored = await ctx.store.replace(FaultRule, { ...rest, timesMatched: 0, timesFired: 0 })
      ctx.afterCommit(() => ctx.drivers.faults.resetCounts(stored.extId))
      return stored
    },
  },
  {
    prepare: { createFaultRule: (ctx) => ctx.drivers.instance() },
    rules: {
      createFaultRule: ({ body }) => faultsOfRule(body),
      updateFaultRule: ({ body }) => faultsOfRule(body),
    },
  },
)
