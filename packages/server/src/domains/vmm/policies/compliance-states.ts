/** The list of compliance states of a policy's VMs. Source: behaviour vmm.md 1.12, 1.13. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { isInScope } from '../../../core/access/scope.ts'
import type { ListResult } from '../../../core/handlers.ts'
import { listOf } from '../../../core/standard.ts'
import type { ReadContext } from '../../context.ts'
import { idsOf } from '../../scheduling/policy-selection.ts'
import type { VmEntity } from '../../virtual-machines/entity.ts'
import { complianceOf, type PolicyRules, type VmState } from './compliance.ts'

interface State<Reason> {
  readonly extId: string
  readonly cluster: { readonly extId: string | undefined }
  readonly host?: { readonly extId: string | undefined }
  readonly associatedCategories: { readonly extId: string }[]
  readonly complianceStatus: { readonly $objectType: string; readonly nonComplianceReason?: Reason }
}

/** Only VMs that the caller may see. */
export async function listStates<R extends AnyResource, Reason>(
  ctx: ReadContext,
  rules: PolicyRules<R, Reason>,
  policy: EntityOf<R>,
  request: Parameters<typeof listOf>[1],
): Promise<ListResult<State<Reason>>> {
  const states = (await complianceOf(ctx, rules, [policy])).get(policy.extId) ?? []
  const isVisible = await visibleVms(ctx)
  const named = new Set(rules.categoriesOf(policy))
  const shown = states.filter(({ vm }) => isVisible(vm)).map((state) => stateOf(rules, named, state))
  return listOf(shown, request)
}

export async function visibleVms(ctx: ReadContext): Promise<(vm: VmEntity) => boolean> {
  const scope = await ctx.services.access.referScope(ctx.caller, ctx.operation, Vm)
  return (vm) => isInScope(scope, vm)
}

function stateOf<R extends AnyResource, Reason>(
  { statusTypes }: PolicyRules<R, Reason>,
  named: ReadonlySet<string>,
  { vm, verdict }: VmState<Reason>,
): State<Reason> {
  return {
    extId: vm.extId,
    cluster: { extId: vm.cluster?.extId },
    ...(vm.host === undefined ? {} : { host: { extId: vm.host.extId } }),
    associatedCategories: idsOf(vm.categories)
      .filter((extId) => named.has(extId))
      .map((extId) => ({ extId })),
    complianceStatus:
      typeof verdict === 'string'
        ? { $objectType: statusTypes[verdict] }
        : { $objectType: statusTypes.nonCompliant, nonComplianceReason: verdict.reason },
  }
}
