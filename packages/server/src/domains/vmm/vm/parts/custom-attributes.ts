/** Custom attributes of VMs and of their disks, `key:value`. Source: behaviour vmm.md 1.1 (custom attributes), 1.16. */
import { Disk } from '@hyperplane/contract/vmm/vm/parts/disk'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { notFound } from '../../../../core/standard.ts'
import { defineTask, parentOf, type WriteContext } from '../../../context.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { admitVm, affectedVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'
import { attributeFaults, maximumCustomAttributes } from '../rules.ts'

interface Change extends OfVm {
  /** Absent: the attributes of the VM. */
  readonly diskExtId?: string
  readonly attributes: readonly string[]
}

interface Body {
  readonly customAttributes: readonly string[]
}

type Apply = (before: readonly string[], given: readonly string[]) => readonly string[]

const keyOf = (attribute: string): string => attribute.slice(0, attribute.indexOf(':'))

const added: Apply = (before, given) => {
  const keys = new Set(given.map(keyOf))
  const attributes = [...before.filter((attribute) => !keys.has(keyOf(attribute))), ...given]
  if (attributes.length <= maximumCustomAttributes) return attributes
  const [maximum, found] = [maximumCustomAttributes, attributes.length]
  throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'customAttributes', maximum, found })
}

const removed: Apply = (before, given) => before.filter((attribute) => !given.includes(attribute))

function changedFields(vm: VmEntity, { diskExtId, attributes }: Change, apply: Apply): Partial<VmEntity> {
  const next = (before: readonly string[] = []): string[] | undefined => {
    const list = [...apply(before, attributes)]
    return list.length === 0 ? undefined : list
  }
  if (diskExtId === undefined) return { customAttributes: next(vm.customAttributes) } as Partial<VmEntity>
  if (vm.disks?.some(({ extId }) => extId === diskExtId) !== true) throw notFound(Disk, diskExtId, 'extId')
  const disks = vm.disks.map((disk) => {
    if (disk.extId !== diskExtId) return disk
    const { customAttributes, ...rest } = disk
    const after = next(customAttributes)
    return after === undefined ? rest : { ...rest, customAttributes: after }
  })
  return { disks }
}

function attributeChange(name: string, operation: string, apply: Apply) {
  const task = defineTask<Change>({
    name,
    steps: [
      {
        name: 'apply',
        record: async (ctx, input) => {
          const vm = await requireVm(ctx.store, input.vmExtId)
          await ctx.store.update(Vm, vm.extId, { ...changedFields(vm, input, apply), updateTime: ctx.clock.iso() })
        },
      },
    ],
    onUndone: endUnchanged,
  })
  const start = async (ctx: WriteContext, vm: VmEntity, body: Body, diskExtId?: string): Promise<TaskStarted> => {
    await admitVm(ctx, vm)
    const input = {
      vmExtId: vm.extId,
      attributes: body.customAttributes,
      ...(diskExtId === undefined ? {} : { diskExtId }),
    }
    if (ctx.services.runner.queueAhead(vm.extId) === 0) changedFields(vm, input, apply)
    const disks = diskExtId === undefined ? [] : [{ extId: diskExtId, rel: Disk.rel }]
    return ctx.startTask(task, input, { ...taskOf(operation, vm), affected: [...disks, affectedVm(vm)] })
  }
  return { task, start }
}

const faults = ({ body }: { readonly body: Body }): ApiError[] =>
  attributeFaults('customAttributes', body.customAttributes)

const addToVm = attributeChange('vmm.add-vm-custom-attributes', 'AddVmCustomAttributes', added)
const removeFromVm = attributeChange('vmm.remove-vm-custom-attributes', 'RemoveVmCustomAttributes', removed)
const addToDisk = attributeChange('vmm.add-vm-disk-custom-attributes', 'AddVmDiskCustomAttributes', added)
const removeFromDisk = attributeChange('vmm.remove-vm-disk-custom-attributes', 'RemoveVmDiskCustomAttributes', removed)

export const attributesOfVm = {
  add: (ctx: WriteContext<VmEntity>, { body }: { readonly body: Body }) => addToVm.start(ctx, ctx.target, body),
  remove: (ctx: WriteContext<VmEntity>, { body }: { readonly body: Body }) => removeFromVm.start(ctx, ctx.target, body),
  faults,
  tasks: [addToVm.task, removeFromVm.task],
}

interface OfDisk {
  readonly path: { readonly extId: string }
  readonly body: Body
}

const onDisk =
  ({ start }: typeof addToDisk) =>
  async (ctx: WriteContext<unknown, 'vmExtId'>, { path, body }: OfDisk): Promise<TaskStarted> => {
    const vm = parentOf(ctx, 'vmExtId', Vm)
    if (vm.disks?.some(({ extId }) => extId === path.extId) !== true)
      throw new ApiError('CONFLICT', { fault: 'The disk is a volume group, which has no custom attributes.' })
    return start(ctx, vm, body, path.extId)
  }

export const attributesOfDisk = {
  add: onDisk(addToDisk),
  remove: onDisk(removeFromDisk),
  faults,
  tasks: [addToDisk.task, removeFromDisk.task],
}
