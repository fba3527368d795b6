/** Source: behaviour networking.md 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import type { RoutingPolicy } from '@hyperplane/contract/networking/routing-policy'
import type { PolicyProgram } from '../../drivers/virtual-routing.ts'

export type PolicyEntity = EntityOf<typeof RoutingPolicy>

/** Priorities from 10 on belong to users' policies. */
const defaultPriority = 1

export function policyProgramOf({ extId, vpcExtId, priority, policies }: PolicyEntity): PolicyProgram {
  return { extId, vpcExtId, priority, rule: policies[0] as PolicyProgram['rule'] }
}

/** Permits packets that match no other policy. */
export function defaultPolicyOf(
  vpc: { readonly extId: string; readonly tenantId?: string },
  extId: string,
  metadata: PolicyEntity['metadata'] & {},
): PolicyEntity {
  const any = { addressType: 'ANY' as const }
  return {
    extId,
    ...(vpc.tenantId === undefined ? {} : { tenantId: vpc.tenantId }),
    name: 'default-policy',
    priority: defaultPriority,
    vpcExtId: vpc.extId,
    policies: [
      {
        policyMatch: { source: any, destination: any, protocolType: 'ANY' },
        policyAction: { actionType: 'PERMIT' },
        isBidirectional: false,
      },
    ],
    metadata,
  }
}
