/** Further virtual machines that a seed file asks for: powered off, without parts, spread over the native clusters. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Vm } from '@hyperplane/contract/vmm/vm'
import { type SeedContext, seedId } from '../../seed.ts'
import { isNative } from './clusters.ts'
import { seedDefaults } from './seed.ts'

const GiB = 1024 ** 3
const memoryGiB = [1, 2, 4, 8]
const sockets = [1, 2, 4]
const environments = ['Dev', 'Test', 'Production'].map((value) => ({ extId: seedId(`category/Environment/${value}`) }))

/** Hosts hear of a VM when it is switched on: one that is off needs no fact. @returns how many were made: none where there is no native cluster */
export async function seedManyVms(ctx: SeedContext, count: number): Promise<number> {
  const clusters = (await ctx.store.find(Cluster)).filter(isNative)
  if (clusters.length === 0) return 0
  const created = ctx.ago(0)
  for (let index = 0; index < count; index++) {
    const name = `vm-${String(index + 1).padStart(7, '0')}`
    const extId = seedId(`vm/${name}`)
    await ctx.store.insert(Vm, {
      ...seedDefaults,
      extId,
      tenantId: ctx.tenantId,
      name,
      createTime: created,
      updateTime: created,
      powerState: 'OFF',
      cluster: { extId: clusters[index % clusters.length]?.extId as string },
      memorySizeBytes: (memoryGiB[index % memoryGiB.length] as number) * GiB,
      numSockets: sockets[index % sockets.length] as number,
      bootConfig: { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootOrder: ['CDROM', 'DISK', 'NETWORK'] },
      biosUuid: extId,
      generationUuid: seedId(`vm/${name}/generation`),
      ownershipInfo: { owner: { extId: ctx.adminId } },
      categories: [environments[index % environments.length] as { extId: string }],
    })
  }
  return count
}
