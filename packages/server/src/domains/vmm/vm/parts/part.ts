/** Parts of a VM that are entries of a list in its document. Source: behaviour vmm.md 1.0, 1.2 to 1.5. */
import type { AnyResource } from '@hyperplane/contract'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { ListResult } from '../../../../core/handlers.ts'
import type { RequestInput } from '../../../../core/input/request-input.ts'
import { listOf, notFound } from '../../../../core/standard.ts'
import { parentOf, type ReadContext } from '../../../context.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'

type PartField = 'cdRoms' | 'disks' | 'gpus' | 'nics' | 'pcieDevices' | 'serialPorts'
type Part<F extends PartField> = NonNullable<VmEntity[F]>[number]
type OfOneVm = ReadContext<unknown, 'vmExtId'>

/** The VMs with what is shown and not stored. */
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
    get: async (ctx: OfOneVm, { path }: { readonly path: { readonly extId: string } }): Promise<Part<F>> => {
      const found = (await partsOf(ctx)).find(({ extId }) => extId === path.extId)
      if (found === undefined) throw notFound(resource, resource.kind, path.extId, 'extId')
      return found
    },
  }
}
