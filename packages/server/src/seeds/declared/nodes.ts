import { defined } from '../../core/defined.ts'
import { hostClasses, type SeedNode, seedUnconfiguredNodes } from '../demo/hosts.ts'
import type { Declared, DeclaredNode } from '../format.ts'
import { addressesIn, type Taken, takeAddress } from './clusters.ts'
import { drivesOf } from './drives.ts'
import type { Filling } from './filling.ts'

export async function fillNodes(filling: Filling, nodes: Declared['unconfiguredNodes']): Promise<void> {
  if (nodes === undefined) return
  const taken = await addressesIn(filling)
  const slots = new Map<string, number>()
  await filling.each('unconfiguredNodes', nodes, async (item, path) => {
    const { block = 'unconfigured', hypervisorType = 'AHV' } = item
    const slot = slots.get(block) ?? 0
    slots.set(block, slot + 1)
    const hostClass = hypervisorType === 'AHV' ? hostClasses.native : hostClasses.extern
    await seedUnconfiguredNodes(filling.ctx, hostClass, block, [nodeOf(filling, item, path, taken)], slot)
  })
}

function nodeOf(filling: Filling, item: DeclaredNode, path: string, taken: Taken): SeedNode {
  const { name, extId, hypervisorVersion, softwareVersion, memoryGiB, rackName, gpuList, pcieDevices, nics } = item
  const { address, cvmAddress, bmcAddress } = item
  for (const [field, value] of Object.entries(defined({ address, cvmAddress, bmcAddress })))
    takeAddress(filling, taken, `the node ${name}`, value, `${path}.${field}`)
  return {
    name,
    address,
    cvmAddress,
    ...defined({ bmcAddress, extId, hypervisorVersion, softwareVersion, memoryGiB, rackName }),
    ...defined({ gpuList, pcieDevices, nics }),
    ...drivesOf(filling, item.drives, `${path}.drives`),
  }
}
