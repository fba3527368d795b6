/** Routing policies as the fabric is told about them. Source: behaviour networking.md 1.7. */
import type { EntityOf } from '@hyperplane/contract'
import type { RoutingPolicy } from '@hyperplane/contract/networking/routing-policy'
import type { PolicyProgram } from '../../drivers/virtual-routing.ts'

export type PolicyEntity = EntityOf<typeof RoutingPolicy>

/** Of the policy that every VPC has; users have those from 10 on. */
const defaultPriority = 1

export function policyProgramOf({ extId, vpcExtId, priority, policies }: PolicyEntity): PolicyProgram {
  return { extId, vpcExtId, priority, rule: policies[0] as PolicyProgram['rule'] }
}

/** What becomes of packets that no other policy of the VPC speaks of. */
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
