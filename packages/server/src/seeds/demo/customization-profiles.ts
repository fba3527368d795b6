/** Customisation profiles of the demo. Source: behaviour vmm.md 4. */
import { VmGuestCustomizationProfile } from '@hyperplane/contract/vmm/vm/guest/vm-guest-customization-profile'
import { seedId } from '../../core/ids/named-id.ts'
import type { SeedContext } from '../context.ts'

const type = (name: string): string => `vmm.v4.ahv.config.VmGcProfile${name}`

export async function seedProfiles(ctx: SeedContext): Promise<void> {
  const [at, by] = [ctx.ago(20 * 24 * 3600), { extId: ctx.adminId }]
  await ctx.store.insert(VmGuestCustomizationProfile, {
    extId: seedId('customization-profile/windows-default'),
    tenantId: ctx.tenantId,
    name: 'windows-default',
    description: 'Windows in a workgroup, named like its VM',
    config: {
      $objectType: type('SysprepConfig'),
      customization: {
        $objectType: type('SysprepParams'),
        generalSettings: { computerName: { $objectType: type('UseVmName') } },
        workgroupOrDomainInfo: { $objectType: type('Workgroup'), name: 'WORKGROUP' },
      },
    },
    createTime: at,
    updateTime: at,
    createdBy: by,
    updatedBy: by,
  })
}
