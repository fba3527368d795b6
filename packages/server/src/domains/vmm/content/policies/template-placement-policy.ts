/** Operations on template placement policies. Source: behaviour vmm.md 1.10 (TemplatePlacementPolicy). */
import {
  TemplatePlacementPolicy,
  templatePlacementPolicyOperations,
} from '@hyperplane/contract/vmm/content/template-placement-policy'
import { implement } from '../../../context.ts'
import { limit } from '../../../limits.ts'
import { nameFaults } from '../../vm/rules.ts'
import { enforceTemplatePlacement, placeTemplate } from '../template/placement.ts'
import { policyLife } from './policy-life.ts'

const maximumPolicies = limit('templatePlacementPolicies', 500)

const life = policyLife({
  kind: TemplatePlacementPolicy,
  noun: 'TemplatePlacementPolicy',
  filters: ['contentFilter', 'clusterFilter'],
  timeOfChange: 'updateTime',
  limit: maximumPolicies,
})

export const templatePlacementPolicy = implement(
  templatePlacementPolicyOperations,
  {
    createTemplatePlacementPolicy: (ctx, { body }) =>
      life.create(ctx, body, { createdBy: ctx.caller.extId, updatedBy: ctx.caller.extId }),
    updateTemplatePlacementPolicyById: (ctx, { body }) =>
      life.update(ctx, ctx.target, body, { updatedBy: ctx.caller.extId }),
    deleteTemplatePlacementPolicyById: (ctx) => life.remove(ctx, ctx.target),
  },
  {
    rules: {
      createTemplatePlacementPolicy: ({ body }) => nameFaults(body),
      updateTemplatePlacementPolicyById: ({ body }) => nameFaults(body),
    },
    tasks: [...life.tasks, placeTemplate],
    limits: [maximumPolicies],
    schedules: [enforceTemplatePlacement],
  },
)
