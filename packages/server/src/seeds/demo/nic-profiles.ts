/** Source: behaviour networking.md 4. */
import { NicProfile } from '@hyperplane/contract/networking/nic-profile'
import { seedId } from '../../core/ids/named-id.ts'
import type { SeedContext } from '../context.ts'

/** For eth5 of the hosts; no NIC is associated. */
export async function seedDemo(ctx: SeedContext): Promise<void> {
  await ctx.store.insert(NicProfile, {
    tenantId: ctx.tenantId,
    extId: seedId('nic-profile/sriov-cx5'),
    name: 'sriov-cx5',
    description: 'Virtual functions of ConnectX-5',
    nicFamily: '15b3:1017',
    capabilityConfig: { capabilityType: 'SRIOV' },
    metadata: { ownerReferenceId: ctx.adminId, ownerUserName: 'admin' },
  })
}
