/** assignVmOwner, associateCategories, disassociateCategories. Source: behaviour vmm.md 1.0 (categories), 1.1, 1.16. */
import type { ValueOf } from '@hyperplane/contract'
import { User } from '@hyperplane/contract/iam/user'
import { Category } from '@hyperplane/contract/platform/category'
import type { AssociateVmCategoriesParams } from '@hyperplane/contract/vmm/vm/actions'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { notFound } from '../../../core/standard.ts'
import type { RecordContext, TaskDefinition } from '../../../core/tasks/define-task.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { defineTask, type WriteContext } from '../../context.ts'
import { idsOf } from '../../scheduling/policy-selection.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { fault } from '../../virtual-machines/fault.ts'
import { admit, endUnchanged, type OfVm, present, taskOf } from './admission.ts'

const maximumCategories = 256

type CategoryBody = ValueOf<typeof AssociateVmCategoriesParams>
type OwnerBody = NonNullable<VmEntity['ownershipInfo']>

interface Changing extends OfVm {
  readonly extIds: readonly string[]
}

export const ownerFaults = ({ owner }: OwnerBody): ApiError[] =>
  owner?.extId === undefined ? [fault('owner/extId', 'the id of a user', undefined)] : []

export const categoryFaults = ({ categories = [] }: CategoryBody): ApiError[] =>
  categories.length === 0
    ? [fault('categories', 'the ids of 1 to 256 categories', undefined)]
    : categories.flatMap(({ extId }, index) =>
        extId === undefined ? [fault(`categories[${index}]/extId`, 'the id of a category', undefined)] : [],
      )

/** One step that changes the row, in the transaction that ends the task. */
const inOneStep = (
  name: string,
  changesOf: (ctx: RecordContext<Drivers>, vm: VmEntity, extIds: readonly string[]) => Promise<Partial<VmEntity>>,
): TaskDefinition<Drivers, Changing> =>
  defineTask<Changing>({
    name,
    steps: [
      {
        name: 'apply',
        progress: 100,
        record: async (ctx, { vmExtId, extIds }) => {
          const vm = await present(ctx.store, vmExtId)
          const changes = await changesOf(ctx, vm, extIds)
          await ctx.store.update(Vm, vmExtId, { ...changes, updateTime: ctx.clock.iso() })
        },
      },
    ],
    onUndone: endUnchanged,
  })

const assignOwner = inOneStep('vmm.assign-vm-owner', async (ctx, _, [extId]) => {
  if ((await ctx.store.get(User, extId as string)) === undefined)
    throw notFound(User, User.kind, extId as string, 'owner/extId')
  return { ownershipInfo: { owner: { extId } } }
})

const associate = inOneStep('vmm.associate-vm-categories', async (ctx, vm, extIds) => {
  for (const extId of extIds)
    if ((await ctx.store.get(Category, extId)) === undefined)
      throw notFound(Category, Category.kind, extId, 'categories/extId')
  return { categories: withCategories(vm, extIds) }
})

const disassociate = inOneStep('vmm.disassociate-vm-categories', async (_, { categories = [] }, extIds) => {
  const kept = categories.filter(({ extId }) => !extIds.includes(extId as string))
  return { categories: kept.length === 0 ? undefined : kept } as Partial<VmEntity>
})

export const ownerTasks = [assignOwner, associate, disassociate]

export async function assignVmOwner(ctx: WriteContext<VmEntity>, { owner }: OwnerBody): Promise<TaskStarted> {
  const vm = await admit(ctx, ctx.target)
  const input = { vmExtId: vm.extId, extIds: [owner?.extId as string] }
  return ctx.startTask(assignOwner, input, taskOf('AssignVmOwner', vm))
}

/** Ids that the VM has already are skipped. @throws ApiError 422 for more categories than a VM may have */
export async function associateCategories(ctx: WriteContext<VmEntity>, body: CategoryBody): Promise<TaskStarted> {
  const vm = await admit(ctx, ctx.target)
  const extIds = idsOf(body.categories)
  if (ctx.services.runner.queueAhead(vm.extId) === 0) withCategories(vm, extIds)
  const options = { ...taskOf('UpdateCategoryAssociations_kOperationAttach', vm), description: 'Associate Category' }
  return ctx.startTask(associate, { vmExtId: vm.extId, extIds }, options)
}

/** Ids that the VM does not have are skipped. */
export async function disassociateCategories(ctx: WriteContext<VmEntity>, body: CategoryBody): Promise<TaskStarted> {
  const vm = await admit(ctx, ctx.target)
  const options = { ...taskOf('UpdateCategoryAssociations_kOperationDetach', vm), description: 'Disassociate Category' }
  return ctx.startTask(disassociate, { vmExtId: vm.extId, extIds: idsOf(body.categories) }, options)
}

function withCategories({ categories = [] }: VmEntity, extIds: readonly string[]): NonNullable<VmEntity['categories']> {
  const all = [...new Set([...idsOf(categories), ...extIds])]
  if (all.length > maximumCategories)
    throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'categories', maximum: maximumCategories, found: all.length })
  return all.map((extId) => ({ extId }))
}
