/** Operations on image placement policies. Source: behaviour vmm.md 1.9. */
import type { EntityOf } from '@hyperplane/contract'
import {
  ImagePlacementPolicy,
  imagePlacementPolicyOperations,
} from '@hyperplane/contract/vmm/content/image-placement-policy'
import { ApiError } from '../../../../core/api-error.ts'
import { rowWithId } from '../../../../core/standard.ts'
import { defineTask, implement, type WriteContext } from '../../../context.ts'
import { limit } from '../../../limits.ts'
import { nameFaults } from '../../vm/rules.ts'
import { enforceImagePlacement, placeImage, placementTasks } from '../placement-enforcement.ts'
import { policyLife } from './policy-life.ts'

type Policy = EntityOf<typeof ImagePlacementPolicy>
type State = Policy['enforcementState']

const maximumPolicies = limit('imagePlacementPolicies', 500)

const life = policyLife({
  kind: ImagePlacementPolicy,
  noun: 'PlacementPolicy',
  filters: ['imageEntityFilter', 'clusterEntityFilter'],
  timeOfChange: 'lastUpdateTime',
  keeps: ['enforcementState'],
  limit: maximumPolicies,
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
  const { extId, name } = ctx.target
  requireOther(ctx.target, to)
  await ctx.store.touch(ImagePlacementPolicy, extId)
  const verb = to === 'ACTIVE' ? 'Resume' : 'Suspend'
  return ctx.startTask(
    switchPolicy,
    { extId, to, cancelsRunningTasks },
    {
      operation: `${verb}PlacementPolicy`,
      description: `${verb} image placement policy`,
      affected: [{ extId, name, rel: ImagePlacementPolicy.rel }],
    },
  )
}

export const imagePlacementPolicy = implement(
  imagePlacementPolicyOperations,
  {
    createPlacementPolicy: (ctx, { body }) =>
      life.create(ctx, body, { ownerExtId: ctx.caller.extId, ownerName: ctx.caller.name }),
    updatePlacementPolicyById: (ctx, { body }) => life.update(ctx, ctx.target, body),
    deletePlacementPolicyById: (ctx) => life.remove(ctx, ctx.target),
    suspendPlacementPolicy: (ctx, { body }) => startSwitch(ctx, 'SUSPENDED', body.shouldCancelRunningTasks === true),
    resumePlacementPolicy: (ctx) => startSwitch(ctx, 'ACTIVE', false),
  },
  {
    rules: {
      createPlacementPolicy: ({ body }) => nameFaults(body),
      updatePlacementPolicyById: ({ body }) => nameFaults(body),
    },
    tasks: [...life.tasks, placeImage, switchPolicy],
    limits: [maximumPolicies],
    schedules: [enforceImagePlacement],
  },
)
