/** Whether a startup policy can decide when a VM starts. Source: behaviour vmm.md 1.13. */
import type { EntityOf, ValueOf } from '@hyperplane/contract'
import { type VmStartupNonCompliance, VmStartupPolicy } from '@hyperplane/contract/vmm/policies/vm-startup-policy'
import { idsOf } from '../../../scheduling/policy-selection.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { bindingsOf } from '../../vm/high-availability/bindings.ts'
import type { PolicyRules, Violation } from '../compliance.ts'
import { hasTools } from './guest-tools.ts'
import { conditionsOf } from './startup-order.ts'

type Policy = EntityOf<typeof VmStartupPolicy>
type Reason = ValueOf<typeof VmStartupNonCompliance>

const type = (name: string): string => `vmm.v4.ahv.policies.VmStartupPolicy${name}`

export const startup: PolicyRules<typeof VmStartupPolicy, Reason> = {
  kind: VmStartupPolicy,
  categoriesOf: ({ groups }) => groups.flatMap(({ categories }) => idsOf(categories)),
  clusterNotSupported: { $objectType: type('ClusterNotSupported') },
  violationsOf,
  judgesVmsAlone: true,
  statusTypes: { pending: type('PendingVm'), compliant: type('CompliantVm'), nonCompliant: type('NonCompliantVm') },
}

async function violationsOf(
  _: unknown,
  __: string,
  vms: readonly VmEntity[],
  policy: Policy,
): Promise<ReadonlyMap<string, Violation<Reason>>> {
  const awaited = new Set(
    conditionsOf(policy).flatMap(({ bootTimeoutSeconds }, index) =>
      bootTimeoutSeconds === undefined ? [] : idsOf(policy.groups[index]?.categories),
    ),
  )
  const found = new Map<string, Violation<Reason>>()
  for (const vm of vms) {
    const haNotSupportedReasons = bindingsOf(vm).map((binding) => haReasons[binding])
    if (haNotSupportedReasons.length > 0)
      found.set(vm.extId, { reason: { $objectType: type('HaNotSupported'), haNotSupportedReasons } })
    else if (!hasTools(vm) && idsOf(vm.categories).some((extId) => awaited.has(extId)))
      found.set(vm.extId, { reason: { $objectType: type('NgtNotEnabled') } })
  }
  return found
}

const haReasons = {
  agent: 'HA_NOT_SUPPORTED_REASON_AGENT_VM',
  device: 'HA_NOT_SUPPORTED_REASON_PASSTHROUGH_SINGLE_AFFINED_HOST',
  gpu: 'HA_NOT_SUPPORTED_REASON_PASSTHROUGH_GPU',
} as const
