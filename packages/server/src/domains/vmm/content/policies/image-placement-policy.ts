/** Operations on image placement policies. Source: behaviour vmm.md 1.9. */
import type { EntityOf } from '@hyperplane/contract'
import {
  ImagePlacementPolicy,
  imagePlacementPolicyOperations,
} from '@hyperplane/contract/vmm/content/image-placement-policy'
import { ApiError } from '../../../../core/api-error.ts'
import { rowWithId } from '../../../../core/standard.ts'
import { bodyRules, defineTask, implement, type WriteContext } from '../../../context.ts'
import { limit } from '../../../limits.ts'
import { lifecycleOf, policyTask } from '../../policies/lifecycle.ts'
import { categoriesOf } from '../category-filter.ts'
import { enforceImagePlacement, placeImage, placementTasks } from '../placement-enforcement.ts'

type Policy = EntityOf<typeof ImagePlacementPolicy>
type State = Policy['enforcementState']

const maximum = limit('imagePlacementPolicies', 500)

const policies = lifecycleOf({
  kind: ImagePlacementPolicy,
  maximum,
  createdBy: ({ extId, name }) => ({ ownerExtId: extId, ownerName: name }),
  changedBy: () => ({}),
  timeOfChange: 'lastUpdateTime',
  keeps: ['enforcementState'],
  categoriesIn: ({ imageEntityFilter, clusterEntityFilter }) => [
    ...categoriesOf('imageEntityFilter', imageEntityFilter),
    ...categoriesOf('clusterEntityFilter', clusterEntityFilter),
  ],
})

interface Switch {
  readonly extId: string
  readonly to: State
  readonly cancelsRunningTasks: boolean
}

const switchPolicy = defineTask<Switch>({
  name: 'vmm.switch-image-placement-policy',
  pointOfNoReturn: 'cancel copies',
  steps: [
    {
      name: 'store',
      progress: 90,
      record: async (ctx, { extId, to }) => {
        const policy = await rowWithId(ctx.store, ImagePlacementPolicy, extId)
        requireOther(policy, to)
        await ctx.store.update(ImagePlacementPolicy, extId, { enforcementState: to, lastUpdateTime: ctx.clock.iso() })
      },
    },
    {
      name: 'cancel copies',
      acts: async (_, { cancelsRunningTasks }) => cancelsRunningTasks,
      run: async (ctx, { extId }) => {
        const after: (() => void)[] = []
        await ctx.checkpoint(undefined, async ({ store }) => {
          for (const task of await placementTasks(store, extId)) {
            if (task.isCancelable === true && task.status !== 'CANCELING')
              await ctx.services.runner.requestCancel(store, task.extId, (work) => after.push(work))
          }
        })
        for (const work of after) work()
      },
    },
  ],
})

/** @throws ApiError 409 when the policy has the state already */
function requireOther({ name, enforcementState }: Policy, to: State): void {
  if (enforcementState !== to) return
  const needed = to === 'ACTIVE' ? 'SUSPENDED' : 'ACTIVE'
  throw new ApiError('CONFLICT', { fault: `The image placement policy "${name}" is ${to}; this needs ${needed}.` })
}

async function startSwitch(ctx: WriteContext<Policy>, to: State, cancelsRunningTasks: boolean) {
  const { extId } = ctx.target
  requireOther(ctx.target, to)
  await ctx.store.touch(ImagePlacementPolicy, extId)
  const verb = to === 'ACTIVE' ? 'Resume' : 'Suspend'
  const options = policyTask(verb, ImagePlacementPolicy, ctx.target)
  return ctx.startTask(switchPolicy, { extId, to, cancelsRunningTasks }, options)
}

export const imagePlacementPolicy = implement(
  imagePlacementPolicyOperations,
  {
    createPlacementPolicy: (ctx, { body }) => policies.create(ctx, body),
    updatePlacementPolicyById: (ctx, { body }) => policies.update(ctx, body),
    deletePlacementPolicyById: (ctx) => policies.remove(ctx),
    suspendPlacementPolicy: (ctx, { body }) => startSwitch(ctx, 'SUSPENDED', body.shouldCancelRunningTasks === true),
    resumePlacementPolicy: (ctx) => startSwitch(ctx, 'ACTIVE', false),
  },
  {
    rules: bodyRules('createPlacementPolicy, updatePlacementPolicyById', policies.bodyFaults),
    tasks: [...policies.tasks, placeImage, switchPolicy],
    limits: [maximum],
    schedules: [enforceImagePlacement],
  },
)
