/** Owner and categories of VMs of every hypervisor are stored by the manager. Source: behaviour vmm.md 1.0 (categories), 1.1, 1.7, 1.16. */
import type { ValueOf } from '@hyperplane/contract'
import { User } from '@hyperplane/contract/iam/user'
import { Category } from '@hyperplane/contract/platform/category'
import type { AssociateVmCategoriesParams } from '@hyperplane/contract/vmm/vm/actions'
import { ApiError } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { rowWithId } from '../../core/standard.ts'
import type { Reader } from '../../store/store.ts'
import { defineTask, type RecordContext, type TaskDefinition, type TaskOptions, type WriteContext } from '../context.ts'
import { idsOf } from '../scheduling/policy-selection.ts'
import { fault } from '../virtual-machines/fault.ts'

const maximumCategories = 256

type CategoryBody = Pick<ValueOf<typeof AssociateVmCategoriesParams>, 'categories'>

export interface OwnerBody {
  /** `entityType`: for external VMs; users are the only one. */
  readonly owner?: { readonly extId?: string | undefined; readonly entityType?: 'USER' | undefined } | undefined
}

interface OwnedVm {
  readonly extId: string
  readonly categories?: CategoryBody['categories'] | undefined
}

export interface OfVm {
  readonly vmExtId: string
}

export interface Changing extends OfVm {
  readonly extIds: readonly string[]
  readonly entityType?: 'USER' | undefined
}

export type Changes =
  | { readonly ownerExtId: string; readonly entityType: 'USER' }
  | { readonly categories: readonly { readonly extId: string }[] | undefined }

export interface OwnedKind<V extends OwnedVm> {
  /** Stored tasks refer to these names. */
  readonly taskNames: { readonly assignOwner: string; readonly associate: string; readonly disassociate: string }
  readonly admit: (ctx: WriteContext, vm: V) => Promise<V>
  readonly taskOf: (operation: string, vm: V) => TaskOptions
  readonly present: (store: Reader, vmExtId: string) => Promise<V>
  readonly change: (ctx: RecordContext, vmExtId: string, changes: Changes) => Promise<void>
  readonly endUnchanged: (ctx: RecordContext, input: OfVm) => Promise<void>
}

export const ownerFaults = ({ owner }: OwnerBody): ApiError[] =>
  owner?.extId === undefined ? [fault('owner/extId', 'the id of a user', undefined)] : []

export const categoryFaults = ({ categories = [] }: CategoryBody): ApiError[] =>
  categories.length === 0
    ? [fault('categories', 'the ids of 1 to 256 categories', undefined)]
    : categories.flatMap(({ extId }, index) =>
        extId === undefined ? [fault(`categories[${index}]/extId`, 'the id of a category', undefined)] : [],
      )

export function ownershipOf<V extends OwnedVm>(kind: OwnedKind<V>) {
  const { admit, taskOf, taskNames } = kind
  const assignOwner = inOneStep(
    kind,
    taskNames.assignOwner,
    async ({ store }, _, [extId = ''], entityType = 'USER') => {
      await rowWithId(store, User, extId, 'owner/extId')
      return { ownerExtId: extId, entityType }
    },
  )
  const associate = inOneStep(kind, taskNames.associate, async ({ store }, vm, extIds) => {
    for (const extId of extIds) await rowWithId(store, Category, extId, 'categories/extId')
    return { categories: withCategories(vm, extIds) }
  })
  const disassociate = inOneStep(kind, taskNames.disassociate, async (_, vm, extIds) => {
    const kept = idsOf(vm.categories).filter((extId) => !extIds.includes(extId))
    return { categories: kept.length === 0 ? undefined : kept.map((extId) => ({ extId })) }
  })

  return {
    tasks: [assignOwner, associate, disassociate],
    handlers: {
      async assignVmOwner(ctx: WriteContext<V>, { body }: { readonly body: OwnerBody }): Promise<TaskStarted> {
        const vm = await admit(ctx, ctx.target)
        const { extId, entityType } = body.owner ?? {}
        const input = { vmExtId: vm.extId, extIds: [extId as string], entityType }
        return ctx.startTask(assignOwner, input, taskOf('AssignVmOwner', vm))
      },
      /** Skips ids that the VM has already. @throws ApiError 422 for more categories than a VM may have */
      async associateCategories(ctx: WriteContext<V>, { body }: { readonly body: CategoryBody }): Promise<TaskStarted> {
        const vm = await admit(ctx, ctx.target)
        const extIds = idsOf(body.categories)
        if (ctx.services.runner.queueAhead(vm.extId) === 0) withCategories(vm, extIds)
        const options = taskOf('UpdateCategoryAssociations_kOperationAttach', vm)
        return ctx.startTask(
          associate,
          { vmExtId: vm.extId, extIds },
          { ...options, description: 'Associate Category' },
        )
      },
      /** Skips ids that the VM does not have. */
      async disassociateCategories(
        ctx: WriteContext<V>,
        { body }: { readonly body: CategoryBody },
      ): Promise<TaskStarted> {
        const vm = await admit(ctx, ctx.target)
        const input = { vmExtId: vm.extId, extIds: idsOf(body.categories) }
        const options = taskOf('UpdateCategoryAssociations_kOperationDetach', vm)
        return ctx.startTask(disassociate, input, { ...options, description: 'Disassociate Category' })
      },
    },
  }
}

function inOneStep<V extends OwnedVm>(
  { present, change, endUnchanged }: OwnedKind<V>,
  name: string,
  changesOf: (ctx: RecordContext, vm: V, extIds: readonly string[], entityType?: 'USER') => Promise<Changes>,
): TaskDefinition<Changing> {
  return defineTask<Changing>({
    name,
    steps: [
      {
        name: 'apply',
        record: async (ctx, { vmExtId, extIds, entityType }) =>
          change(ctx, vmExtId, await changesOf(ctx, await present(ctx.store, vmExtId), extIds, entityType)),
      },
    ],
    onUndone: endUnchanged,
  })
}

function withCategories({ categories }: OwnedVm, extIds: readonly string[]): { readonly extId: string }[] {
  const all = [...new Set([...idsOf(categories), ...extIds])]
  if (all.length > maximumCategories)
    throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'categories', maximum: maximumCategories, found: all.length })
  return all.map((extId) => ({ extId }))
}
