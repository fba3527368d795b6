/**
 * Creation, update and deletion of policies: each is a task with one step, which stores. Compliance and enforcement
 * follow from the stored policies. Source: behaviour vmm.md 1.0 (names), 1.12, 1.13, 1.16, 3.9.
 */
import type { AnyResource, BodyOf, EntityOf } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import { ApiError } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { notFound } from '../../../core/standard.ts'
import { created, replaced } from '../../../core/updates.ts'
import type { Services } from '../../../core/world.ts'
import type { Reader } from '../../../store/store.ts'
import { defineTask, type WriteContext } from '../../context.ts'
import { type Limit, limitOf } from '../../limits.ts'
import { fault } from '../../virtual-machines/fault.ts'
import { nameFaults } from '../vm/rules.ts'

export interface PolicySort<R extends AnyResource> {
  readonly kind: R
  /** Ends the names of the tasks: `vm-anti-affinity-policy`. */
  readonly stem: string
  readonly maximum: Limit
  /** The field that names the user of the last change. */
  readonly changedBy: 'lastUpdatedBy' | 'updatedBy'
  /** Every category that the policy names, by its path in the body. */
  readonly categoriesIn: (policy: BodyOf<R>) => readonly CategoryAt[]
}

type AnySort = Pick<PolicySort<AnyResource>, 'kind' | 'maximum' | 'stem'>
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

/** Policies that are still being created do not count, so their tasks ask again. @throws ApiError VMM_LIMIT_EXCEEDED */
async function requirePlace(
  ctx: { readonly store: Reader; readonly services: Pick<Services, 'limits'> },
  kind: AnyResource,
  maximum: Limit,
): Promise<void> {
  const [found, most] = [(await ctx.store.count(kind)) + 1, limitOf(ctx, maximum)]
  if (found > most) throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: plural(kind.title), maximum: most, found })
}

function tasksOf({ kind, stem, maximum }: AnySort, categoriesIn: (policy: object) => readonly CategoryAt[]) {
  const createPolicy = defineTask<{ readonly extId: string }>({
    name: `vmm.create-${stem}`,
    cancelableUntil: 'store',
    steps: [
      {
        name: 'store',
        progress: 100,
        record: async (ctx, { extId }) => {
          await requirePlace(ctx, kind, maximum)
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
        progress: 100,
        record: async (ctx, { policy }) => {
          // A category may have been deleted while the task was queued.
          const wanted = categoriesIn(policy)
          const present = await ctx.store.getMany(
            Category,
            wanted.map(({ extId }) => extId as string),
          )
          const known = new Set(present.map(({ extId }) => extId))
          const missing = wanted.find(({ extId }) => !known.has(extId as string))
          if (missing !== undefined) throw notFound(Category, missing.extId as string, missing.path)
          await ctx.store.replace(kind, { ...policy, updateTime: ctx.clock.iso() })
        },
      },
    ],
  })
  const deletePolicy = defineTask<{ readonly extId: string }>({
    name: `vmm.delete-${stem}`,
    cancelableUntil: 'store',
    steps: [{ name: 'store', progress: 100, record: (ctx, { extId }) => ctx.store.remove(kind, extId) }],
  })
  return { createPolicy, updatePolicy, deletePolicy }
}

export function lifecycleOf<R extends AnyResource>(sort: PolicySort<R>) {
  const { stem, maximum, changedBy } = sort
  const kind: AnyResource = sort.kind
  // Called with bodies and entities of the kind only: the pipeline has checked them.
  const categoriesIn = sort.categoriesIn as (policy: object) => readonly CategoryAt[]

  const { createPolicy, updatePolicy, deletePolicy } = tasksOf({ kind, stem, maximum }, categoriesIn)

  return {
    tasks: [createPolicy, updatePolicy, deletePolicy],

    async create(ctx: WriteContext<undefined>, body: Body): Promise<TaskStarted> {
      await requirePlace(ctx, kind, maximum)
      const [now, by] = [ctx.clock.iso(), { extId: ctx.caller.extId }]
      const written = { createTime: now, updateTime: now, createdBy: by, [changedBy]: by }
      const policy: Policy = { name: body.name, ...created(ctx, kind, body, written) }
      await ctx.store.insert(kind, policy, { pending: true })
      const task = await ctx.startTask(createPolicy, { extId: policy.extId }, taskOf('Create', kind, policy))
      return { ...task, created: policy.extId }
    },

    async update(ctx: WriteContext<Named>, body: Body): Promise<TaskStarted> {
      const policy: Policy = {
        ...replaced(kind, ctx.target, body, ctx.version),
        name: body.name,
        [changedBy]: { extId: ctx.caller.extId },
      }
      const isNamesake = ({ extId, name }: EntityOf<AnyResource>): boolean =>
        extId !== policy.extId && String(name).toLowerCase() === policy.name.toLowerCase()
      if ((await ctx.store.find(kind)).some(isNamesake))
        throw new ApiError('NAME_IN_USE', { kind: kind.title, fields: 'name' })
      await ctx.store.touch(kind, policy.extId)
      return ctx.startTask(updatePolicy, { policy }, taskOf('Update', kind, policy))
    },

    async remove(ctx: WriteContext<Named>): Promise<TaskStarted> {
      await ctx.store.touch(kind, ctx.target.extId)
      return ctx.startTask(deletePolicy, { extId: ctx.target.extId }, taskOf('Delete', kind, ctx.target))
    },

    bodyFaults: (body: Body): ApiError[] => [
      ...nameFaults(body),
      ...categoriesIn(body).flatMap(({ path, extId }) =>
        extId === undefined ? [fault(path, 'the id of a category', extId)] : [],
      ),
    ],
  }
}

const plural = (title: string): string => title.replace(/y$/, 'ies')

/** Options of a task of one policy. `verb`: `Create`, `Re-enforce`. */
export const taskOf = (verb: string, kind: AnyResource, { extId, name }: Named) => ({
  operation: `${verb.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())}${kind.kind}`,
  description: `${verb} ${kind.title}`,
  affected: [{ extId, name, rel: kind.rel as string }],
})
