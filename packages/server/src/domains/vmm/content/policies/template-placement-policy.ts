/** Operations on template placement policies. Source: behaviour vmm.md 1.10 (TemplatePlacementPolicy). */
import {
  TemplatePlacementPolicy,
  templatePlacementPolicyOperations,
} from '@hyperplane/contract/vmm/content/template-placement-policy'
import { bodyRules, implement } from '../../../context.ts'
import { limit } from '../../../limits.ts'
import { lifecycleOf } from '../../policies/lifecycle.ts'
import { categoriesOf } from '../category-filter.ts'
import { enforceTemplatePlacement, placeTemplate } from '../template/placement.ts'

const maximum = limit('templatePlacementPolicies', 500)

const policies = lifecycleOf({
  kind: TemplatePlacementPolicy,
  maximum,
  createdBy: ({ extId }) => ({ createdBy: extId, updatedBy: extId }),
  changedBy: ({ extId }) => ({ updatedBy: extId }),
  timeOfChange: 'updateTime',
  categoriesIn: ({ contentFilter, clusterFilter }) => [
    ...categoriesOf('contentFilter', contentFilter),
    ...categoriesOf('clusterFilter', clusterFilter),
  ],
})

export const templatePlacementPolicy = implement(
  templatePlacementPolicyOperations,
  {
    createTemplatePlacementPolicy: (ctx, { body }) => policies.create(ctx, body),
    updateTemplatePlacementPolicyById: (ctx, { body }) => policies.update(ctx, body),
    deleteTemplatePlacementPolicyById: (ctx) => policies.remove(ctx),
  },
  {
    rules: bodyRules('createTemplatePlacementPolicy, updateTemplatePlacementPolicyById', policies.bodyFaults),
    tasks: [...policies.tasks, placeTemplate],
    limits: [maximum],
    schedules: [enforceTemplatePlacement],
  },
)
