/**
 * Each is a task with one step, which stores; compliance and enforcement follow from the stored policies.
 * Source: behaviour vmm.md 1.0 (names), 1.9, 1.10, 1.12, 1.13, 1.16, 3.9.
 */
import type { AnyResource, BodyOf, EntityOf } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import { ApiError } from '../../../core/api-error.ts'
import type { Caller } from '../../../core/caller.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { notFound, rowWithId } from '../../../core/standard.ts'
import { created, replaced } from '../../../core/updates.ts'
import type { Services } from '../../../core/world.ts'
import type { Reader } from '../../../store/store.ts'
import { defineTask, type WriteContext } from '../../context.ts'
import { type Limit, limitOf } from '../../limits.ts'
import { fault } from '../../virtual-machines/fault.ts'
import { nameFaults } from '../vm/rules.ts'

export interface PolicySort<R extends AnyResource> {
  readonly kind: R
  readonly maximum: Limit
  readonly createdBy: (caller: Caller) => object
  readonly changedBy: (caller: Caller) => object
  readonly timeOfChange: 'lastUpdateTime' | 'updateTime'
  /** Only tasks of other operations change these. */
  readonly keeps?: readonly string[]
  /** Every category that the policy names, by its path in the body. */
  readonly categoriesIn: (policy: BodyOf<R>) => readonly CategoryAt[]
}

type Policy = EntityOf<AnyResource> & Named
type Body = Pick<Named, 'name'>

type Named = {
  readonly extId: string
  readonly name: string
}

export interface CategoryAt {
  readonly path: string
  readonly extId: string | undefined
}

export const categoriesAt = (
  path: string,
  references: readonly { readonly extId?: string | undefined }[],
): CategoryAt[] => references.map(({ extId }, index) => ({ path: `${path}[${index}]/extId`, extId }))

/** For policies whose fields `createdBy` and `field` are references to users. */
export const authoredIn = (field: 'lastUpdatedBy' | 'updatedBy') => ({
  createdBy: ({ extId }: Caller) => ({ createdBy: { extId }, [field]: { extId } }),
  changedBy: ({ extId }: Caller) => ({ [field]: { extId } }),
  timeOfChange: 'updateTime' as const,
})

/** Does not count policies in creation, so their tasks check again. @throws ApiError VMM_LIMIT_EXCEEDED */
async function requirePlace(
  ctx: { readonly store: Reader; readonly services: Pick<Services, 'limits'> },
  { kind, maximum }: Pick<PolicySort<AnyResource>, 'kind' | 'maximum'>,
): Promise<void> {
  const [found, most] = [(await ctx.store.count(kind)) + 1, limitOf(ctx, maximum)]
  if (found > most)
    throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: kind.title.replace(/y$/, 'ies'), maximum: most, found })
}

function tasksOf(sort: PolicySort<AnyResource>) {
  const { kind, timeOfChange, keeps = [], categoriesIn } = sort
  const stem = kind.title.toLowerCase().replaceAll(' ', '-')
  const createPolicy = defineTask<{ readonly extId: string }>({
    name: `vmm.create-${stem}`,
    cancelableUntil: 'store',
    steps: [
      {
        name: 'store',
        record: async (ctx, { extId }) => {
          await requirePlace(ctx, sort)
          await ctx.store.publish(kind, extId)
        },
      },
    ],
    onUndone: (ctx, { extId }) => ctx.store.remove(kind, extId),
  })
  const updatePolicy = defineTask<{ readonly policy: Policy }>({
    name: `vmm.update-${stem}`,
    cancelableUntil: 'store',
    steps: [
      {
        name: 'store',
        record: async (ctx, { policy }) => {
          const stored = await rowWithId(ctx.store, kind, policy.extId)
          // A category may have been deleted while the task was queued.
          const wanted = categoriesIn(policy)
          const ids = wanted.map(({ extId }) => extId as string)
          const existing = new Set((await ctx.store.getMany(Category, ids)).map(({ extId }) => extId))
          const missing = wanted.find(({ extId }) => !existing.has(extId as string))
          if (missing !== undefined) throw notFound(Category, missing.extId as string, missing.path)
          const kept = Object.fromEntries(keeps.map((field) => [field, stored[field]]))
          await ctx.store.replace(kind, { ...policy, ...kept, [timeOfChange]: ctx.clock.iso() })
        },
      },
    ],
  })
  const deletePolicy = defineTask<{ readonly extId: string }>({
    name: `vmm.delete-${stem}`,
    cancelableUntil: 'store',
    steps: [
      {
        name: 'store',
        record: async (ctx, { extId }) => {
          await rowWithId(ctx.store, kind, extId)
          await ctx.store.remove(kind, extId)
        },
      },
    ],
  })
  return { createPolicy, updatePolicy, deletePolicy }
}

export function lifecycleOf<R extends AnyResource>(options: PolicySort<R>) {
  // Its functions are called with bodies and entities of the kind only: the pipeline has checked them.
  const sort = options as unknown as PolicySort<AnyResource>
  const { kind, createdBy, changedBy, timeOfChange, categoriesIn } = sort
  const { createPolicy, updatePolicy, deletePolicy } = tasksOf(sort)

  return {
    tasks: [createPolicy, updatePolicy, deletePolicy],

    async create(ctx: WriteContext<undefined>, body: Body): Promise<TaskStarted> {
      await requirePlace(ctx, sort)
      const now = ctx.clock.iso()
      const written = { createTime: now, [timeOfChange]: now, ...createdBy(ctx.caller) }
      const policy: Policy = { name: body.name, ...created(ctx, kind, body, written) }
      await ctx.store.insert(kind, policy, { pending: true })
      const task = await ctx.startTask(createPolicy, { extId: policy.extId }, policyTask('Create', kind, policy))
      return { ...task, created: policy.extId }
    },

    async update(ctx: WriteContext<Named>, body: Body): Promise<TaskStarted> {
      const policy: Policy = {
        ...replaced(kind, ctx.target, body, ctx.version),
        name: body.name,
        ...changedBy(ctx.caller),
      }
      const isNamesake = ({ extId, name }: EntityOf<AnyResource>): boolean =>
        extId !== policy.extId && String(name).toLowerCase() === policy.name.toLowerCase()
      if ((await ctx.store.find(kind)).some(isNamesake))
        throw new ApiError('NAME_IN_USE', { kind: kind.title, fields: 'name' })
      await ctx.store.touch(kind, policy.extId)
      return ctx.startTask(updatePolicy, { policy }, policyTask('Update', kind, policy))
    },

    async remove(ctx: WriteContext<Named>): Promise<TaskStarted> {
      await ctx.store.touch(kind, ctx.target.extId)
      return ctx.startTask(deletePolicy, { extId: ctx.target.extId }, policyTask('Delete', kind, ctx.target))
    },

    bodyFaults: (body: Body): ApiError[] => [
      ...nameFaults(body),
      ...categoriesIn(body).flatMap(({ path, extId }) =>
        extId === undefined ? [fault(path, 'the id of a category', extId)] : [],
      ),
    ],
  }
}

export const policyTask = (verb: string, kind: AnyResource, { extId, name }: Named) => ({
  operation: verb.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase()) + kind.objectType.replace(/.*\./, ''),
  description: `${verb} ${kind.title}`,
  affected: [{ extId, name, rel: kind.rel }],
})
