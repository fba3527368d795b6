/** vCenters of ESX clusters, with the extension of this manager. Source: behaviour clustermgmt.md 1.16, 4. */
import { VcenterExtension } from '@hyperplane/contract/clustermgmt/vcenter-extension'
import { derivedId } from '../../core/ids/named-id.ts'
import { vcenterDigest, vcenterFacts } from '../../drivers/simulated/management-extensions.ts'
import type { SeedContext } from '../context.ts'

/** For every simulated vCenter. */
export const vcenterLogin = { username: 'administrator@vsphere.local', password: 'Simulated.Vcenter.1', port: 443 }

export const vcenterExtensionId = (clusterExtId: string): string => derivedId('vcenter extension', clusterExtId)

export async function seedVcenter(ctx: SeedContext, clusterExtId: string, ipAddress: string): Promise<void> {
  await ctx.store.insert(VcenterExtension, {
    extId: vcenterExtensionId(clusterExtId),
    tenantId: ctx.tenantId,
    clusterExtId,
    ipAddress,
    isRegistered: true,
  } as VcenterExtension)
  const { username, password, port } = vcenterLogin
  const passwordDigest = vcenterDigest(clusterExtId, password)
  const fact = { address: ipAddress, port, username, passwordDigest, hasExtension: true }
  await vcenterFacts(ctx.world).put(clusterExtId, fact)
}
