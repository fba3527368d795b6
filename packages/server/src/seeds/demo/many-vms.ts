/** VMs without disks and NICs, powered off, spread evenly over the native clusters. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Category } from '@hyperplane/contract/platform/category'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../core/ids/named-id.ts'
import { isNative } from '../../domains/vmm/vm/create/clusters.ts'
import type { SeedContext } from '../context.ts'
import { seedDefaults } from './vm.ts'

const GiB = 1024 ** 3
const memoryGiB = [1, 2, 4, 8]
const sockets = [1, 2, 4]

/** Hosts need no fact of a VM that is off. @returns the number of created VMs */
export async function seedManyVms(ctx: SeedContext, count: number): Promise<number> {
  const clusters = (await ctx.store.find(Cluster)).filter(isNative).map(({ extId }) => extId)
  if (clusters.length === 0) return 0
  const draw = ctx.draws('vms')
  const oneOf = <T>(values: readonly T[]): T => values[Math.floor(draw() * values.length)] as T
  const inTurn = turnsOf(clusters, draw)
  const environments = (await ctx.store.findWhere(Category, { key: 'Environment' })).map(({ extId }) => ({ extId }))
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
      cluster: { extId: inTurn() },
      memorySizeBytes: oneOf(memoryGiB) * GiB,
      numSockets: oneOf(sockets),
      bootConfig: { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootOrder: ['CDROM', 'DISK', 'NETWORK'] },
      biosUuid: extId,
      generationUuid: seedId(`vm/${name}/generation`),
      ownershipInfo: { owner: { extId: ctx.adminId } },
      ...(environments.length === 0 ? {} : { categories: [oneOf(environments)] }),
    })
  }
  return count
}

/** Every item once per round, each round in a random order. */
export function turnsOf<T>(items: readonly T[], draw: () => number): () => T {
  let round: T[] = []
  return () => {
    if (round.length === 0) {
      round = [...items]
      for (let last = round.length - 1; last > 0; last--) {
        const other = Math.floor(draw() * (last + 1))
        ;[round[last], round[other]] = [round[other] as T, round[last] as T]
      }
    }
    return round.pop() as T
  }
}
