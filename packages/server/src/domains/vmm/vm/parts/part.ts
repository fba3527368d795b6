/** Entries of a list in the VM's document. A mutation is a task: it defines the domain, then stores. Source: vmm.md 1.0, 1.2-1.5, 1.16. */
import type { AnyResource } from '@hyperplane/contract'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { ListResult, TaskStarted } from '../../../../core/handlers.ts'
import type { RequestInput } from '../../../../core/input/request-input.ts'
import { itemWithId, listOf, notFound } from '../../../../core/standard.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { Reader } from '../../../../store/store.ts'
import {
  defineTask,
  type Invariant,
  parentOf,
  type ReadContext,
  type Step,
  type TaskDefinition,
  type WriteContext,
} from '../../../context.ts'
import { rowsOf } from '../../../invariants/rule.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { admitVm, affectedVm, endUnchanged, type OfVm, requireVm, taskOf } from '../admission.ts'
import { domainOf, restoreDefinition } from '../domain.ts'

type PartField = 'cdRoms' | 'disks' | 'gpus' | 'nics' | 'pcieDevices' | 'serialPorts'
export type Part<F extends PartField> = NonNullable<VmEntity[F]>[number]
type OfOneVm = ReadContext<unknown, 'vmExtId'>

type View = (ctx: ReadContext, vms: readonly VmEntity[]) => Promise<readonly VmEntity[]>

/** List and single read of the parts in one list. Without `view`, the stored list is shown. */
export function readsOf<F extends PartField>(resource: AnyResource, field: F, view: View = async (_, vms) => vms) {
  const partsOf = async (ctx: OfOneVm): Promise<readonly Part<F>[]> => {
    const [vm] = await view(ctx, [parentOf(ctx, 'vmExtId', Vm)])
    return (vm?.[field] ?? []) as readonly Part<F>[]
  }
  return {
    list: async (ctx: OfOneVm, request: Pick<RequestInput, 'query'>): Promise<ListResult<Part<F>>> =>
      listOf(await partsOf(ctx), request),
    get: async (ctx: OfOneVm, { path }: { readonly path: { readonly extId: string } }): Promise<Part<F>> =>
      itemWithId(await partsOf(ctx), resource, path.extId),
  }
}

export interface PartKind<F extends PartField> {
  readonly resource: AnyResource
  readonly field: F
  readonly maximum: number
  /** Addresses that the parts of a VM occupy, in words; no two may be equal. `path`: the field of a body that names one. */
  readonly addresses: { readonly path: string; readonly of: (vm: VmEntity) => readonly string[] }
  /** Changes that need a VM that is OFF, by field. Undefined: the part does not exist before or after. */
  readonly coldFields: (before: Part<F> | undefined, after: Part<F> | undefined) => readonly string[]
}

export interface PartChange<B> extends OfVm {
  readonly partExtId: string
  readonly body: B
}

interface Deciding {
  readonly store: Reader
  readonly drivers: Drivers
}

export interface Planning<F extends PartField, B> extends Deciding {
  readonly extId: string
  readonly body: B
  readonly before: Part<F> | undefined
  readonly rest: VmEntity
}

/** The part after the change, without its id; undefined: it is removed. */
type Next<F extends PartField, B> = (planning: Planning<F, B>) => Promise<Omit<Part<F>, 'extId'> | undefined>

export type PartTask<B> = TaskDefinition<PartChange<B>>

export interface PartRequest<B> {
  readonly path: { readonly vmExtId: string; readonly extId?: string }
  readonly body: B
  /** Entities that the task changes beside the VM, such as the source image. */
  readonly locks?: readonly string[]
}

/**
 * Handler and task of one operation. The task calls `next`, because earlier tasks may change the list; the handler too if no other task
 * comes first. @param verb first word of the task's name; only `Create` makes a part
 * @param complete adds further steps (files, leases) @param operation name of the operation in the task
 */
export function changeOf<F extends PartField, B>(
  kind: PartKind<F>,
  verb: string,
  next: Next<F, B>,
  complete: (task: PartTask<B>) => PartTask<B> = (task) => task,
  operation = verb + kind.resource.objectType.slice(kind.resource.objectType.lastIndexOf('.') + 1),
) {
  const { resource, field } = kind
  const changed = async (
    { store, drivers }: Deciding,
    vm: VmEntity,
    { partExtId, body }: PartChange<B>,
  ): Promise<VmEntity> => {
    const parts = (vm[field] ?? []) as readonly Part<F>[]
    const before = parts.find(({ extId }) => extId === partExtId)
    if (before === undefined && verb !== 'Create') throw notFound(resource, partExtId, 'extId')
    const rest = { ...vm, [field]: parts.filter((part) => part !== before) }
    const planned = await next({ extId: partExtId, body, before, rest, store, drivers })
    const after = planned && ({ ...planned, extId: partExtId } as Part<F>)
    const list =
      before === undefined ? [...parts, after] : parts.flatMap((part) => (part === before ? (after ?? []) : part))
    const changedVm = { ...vm, [field]: list.length === 0 ? undefined : list }
    requireHotChange(kind, vm, before, after)
    if (after !== undefined) requireFreeAddress(kind, changedVm)
    if (before === undefined && list.length > kind.maximum)
      throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: field, maximum: kind.maximum, found: list.length })
    return changedVm
  }
  const task = complete(
    defineTask({
      name: `vmm.${operation.replace(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase()}`,
      steps: stepsOf(field, changed),
      onUndone: endUnchanged,
    }),
  )
  const handle = async (
    ctx: WriteContext<unknown, 'vmExtId'>,
    { path, body, locks = [] }: PartRequest<B>,
  ): Promise<TaskStarted> => {
    const vm = await admitVm(ctx, parentOf(ctx, 'vmExtId', Vm), 'update')
    const input = { vmExtId: vm.extId, partExtId: path.extId ?? ctx.ids.uuid(), body }
    if (ctx.services.runner.queueAhead(vm.extId) === 0) await changed(ctx, vm, input)
    const affected = [{ extId: input.partExtId, rel: resource.rel }, affectedVm(vm)]
    const locked = [...affected.map(({ extId }) => extId), ...locks]
    return ctx.startTask(task, input, { ...taskOf(operation, vm), affected, locks: locked })
  }
  return { task, handle }
}

function stepsOf<I extends OfVm>(
  field: PartField,
  changed: (ctx: Deciding, vm: VmEntity, input: I) => Promise<VmEntity>,
): readonly Step<I>[] {
  return [
    {
      name: 'define',
      progress: 80,
      seconds: [0.5, 1],
      run: async (ctx, input) => {
        const vm = await changed(ctx, await requireVm(ctx.store, input.vmExtId, 'update'), input)
        await ctx.drivers.hypervisor.defineVm(await domainOf(ctx.store, vm))
      },
      undo: async (ctx, { vmExtId }) => {
        const vm = await ctx.store.get(Vm, vmExtId)
        if (vm !== undefined) await restoreDefinition(ctx, vm)
      },
    },
    {
      name: 'store',
      record: async (ctx, input) => {
        const vm = await changed(ctx, await requireVm(ctx.store, input.vmExtId), input)
        await ctx.store.update(Vm, vm.extId, { [field]: vm[field], updateTime: ctx.clock.iso() })
      },
    },
  ]
}

function requireHotChange<F extends PartField>(
  { coldFields, field }: PartKind<F>,
  { name, powerState }: VmEntity,
  before: Part<F> | undefined,
  after: Part<F> | undefined,
): void {
  const fields = powerState === 'OFF' ? [] : coldFields(before, after)
  if (fields.length === 0) return
  const isListChanged = before === undefined || after === undefined
  throw new ApiError('HOT_CHANGE_NOT_ALLOWED', { name, fields: isListChanged ? field : fields.join(', ') })
}

function requireFreeAddress<F extends PartField>({ addresses, resource }: PartKind<F>, vm: VmEntity): void {
  const fields = sharedAddress(addresses.of(vm))
  if (fields === undefined) return
  throw new ApiError('ADDRESS_IN_USE', { kind: resource.title, fields }, { extra: { attributePath: addresses.path } })
}

const sharedAddress = (addresses: readonly string[]): string | undefined =>
  addresses.find((address, index) => addresses.indexOf(address) < index)

export const distinctAddresses = <F extends PartField>({ addresses, resource }: PartKind<F>): Invariant => ({
  promise: `No two ${resource.title}s of a VM have the same address`,
  async *look(store) {
    for await (const vm of rowsOf(store, Vm)) {
      const shared = sharedAddress(addresses.of(vm))
      const fault = `the VM "${vm.name}" has two ${resource.title}s at ${shared}`
      if (shared !== undefined) yield { about: [vm.extId], fault }
    }
  },
})
