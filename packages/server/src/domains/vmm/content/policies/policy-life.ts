/**
 * Creation, change and deletion of policies that select entities by category.
 * Source: behaviour vmm.md 1.0, 1.9, 1.10 (TemplatePlacementPolicy), 1.16.
 */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { notFound, rowWithId } from '../../../../core/standard.ts'
import { created, replaced } from '../../../../core/updates.ts'
import type { Services } from '../../../../core/world.ts'
import type { Reader } from '../../../../store/store.ts'
import { defineTask, type WriteContext } from '../../../context.ts'
import { type Limit, limitOf } from '../../../limits.ts'
import type { CategoryFilter } from '../category-filter.ts'

type StoredPolicy = EntityOf<AnyResource> & { readonly name: string }

interface Named {
  readonly extId: string
  readonly name: string
}

interface PolicyKind {
  readonly kind: AnyResource
  /** In the names of its operations: `RateLimitPolicy`. */
  readonly noun: string
  readonly filters: readonly string[]
  readonly timeOfChange: 'lastUpdateTime' | 'updateTime'
  /** Fields that only tasks of other operations change. */
  readonly keeps?: readonly string[]
  readonly limit: Limit
}

export function policyLife(policyKind: PolicyKind) {
  const { kind, noun, timeOfChange } = policyKind
  const { createPolicy, updatePolicy, deletePolicy } = tasksOf(policyKind)
  const taskOf = (verb: 'Create' | 'Update' | 'Delete', { extId, name }: Named) => ({
    operation: `${verb}${noun}`,
    description: `${verb} ${kind.title}`,
    affected: [{ extId, name, rel: kind.rel as string }],
  })

  return {
    tasks: [createPolicy, updatePolicy, deletePolicy],

    /** `written`: further fields that the service writes. */
    async create(ctx: WriteContext, body: Omit<Named, 'extId'>, written: object): Promise<TaskStarted> {
      await requirePlace(ctx, policyKind)
      const now = ctx.clock.iso()
      const times = { createTime: now, [timeOfChange]: now }
      const policy = created(ctx, kind, body as StoredPolicy, { ...written, ...times, name: body.name })
      await ctx.store.insert(kind, policy, { pending: true })
      return {
        ...(await ctx.startTask(createPolicy, { extId: policy.extId }, taskOf('Create', policy))),
        created: policy.extId,
      }
    },

    async update(
      ctx: WriteContext,
      stored: Named,
      body: Omit<Named, 'extId'>,
      written: object = {},
    ): Promise<TaskStarted> {
      const policy = { ...replaced(kind, stored as StoredPolicy, body, ctx.version), ...written, name: body.name }
      const others = (await ctx.store.find(kind)) as StoredPolicy[]
      if (others.some(({ extId, name }) => extId !== policy.extId && name.toLowerCase() === policy.name.toLowerCase()))
        throw new ApiError('NAME_IN_USE', { kind: kind.title, fields: 'name' })
      await ctx.store.touch(kind, policy.extId)
      return ctx.startTask(updatePolicy, { policy }, taskOf('Update', policy))
    },

    async remove(ctx: WriteContext, policy: Named): Promise<TaskStarted> {
      await ctx.store.touch(kind, policy.extId)
      return ctx.startTask(deletePolicy, { extId: policy.extId }, taskOf('Delete', policy))
    },
  }
}

/** Policies that are still being created do not count, so their tasks ask again. @throws ApiError VMM_LIMIT_EXCEEDED */
async function requirePlace(
  ctx: { readonly store: Reader; readonly services: Pick<Services, 'limits'> },
  { kind, limit }: PolicyKind,
): Promise<void> {
  const [found, maximum] = [(await ctx.store.count(kind)) + 1, limitOf(ctx, limit)]
  if (found <= maximum) return
  throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: kind.title.replace(/y$/, 'ies'), maximum, found })
}

function tasksOf(policyKind: PolicyKind) {
  const { kind, filters, timeOfChange, keeps = [] } = policyKind
  const stem = kind.title.replaceAll(' ', '-')
  const createPolicy = defineTask<{ readonly extId: string }>({
    name: `vmm.create-${stem}`,
    cancelableUntil: 'store',
    steps: [
      {
        name: 'store',
        progress: 100,
        record: async (ctx, { extId }) => {
          await requirePlace(ctx, policyKind)
          await ctx.store.publish(kind, extId)
        },
      },
    ],
    onUndone: (ctx, { extId }) => ctx.store.remove(kind, extId),
  })
  const updatePolicy = defineTask<{ readonly policy: StoredPolicy }>({
    name: `vmm.update-${stem}`,
    cancelableUntil: 'store',
    steps: [
      {
        name: 'store',
        progress: 100,
        record: async (ctx, { policy }) => {
          const stored = await storedPolicy(ctx.store, kind, policy.extId)
          await requireCategories(ctx.store, policy, filters)
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
        progress: 100,
        record: async (ctx, { extId }) => {
          await storedPolicy(ctx.store, kind, extId)
          await ctx.store.remove(kind, extId)
        },
      },
    ],
  })
  return { createPolicy, updatePolicy, deletePolicy }
}

async function storedPolicy(store: Reader, kind: AnyResource, extId: string): Promise<StoredPolicy> {
  const stored = await rowWithId(store, kind, extId)
  return stored as StoredPolicy
}

/** @throws ApiError 404 for a category that was deleted while the task was queued */
async function requireCategories(store: Reader, policy: StoredPolicy, filters: readonly string[]): Promise<void> {
  for (const filter of filters) {
    const { categoryExtIds } = policy[filter] as CategoryFilter
    const present = new Set((await store.getMany(Category, categoryExtIds)).map(({ extId }) => extId))
    const index = categoryExtIds.findIndex((extId) => !present.has(extId))
    if (index < 0) continue
    throw notFound(Category, categoryExtIds[index] as string, `${filter}/categoryExtIds[${index}]`)
  }
}
