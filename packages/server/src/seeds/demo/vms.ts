/** Source: behaviour vmm.md 4; platform.md 13 (the manager's own node). */

import { Subnet } from '@hyperplane/contract/networking/subnet'
import { seedId } from '../../core/ids/named-id.ts'
import { HostAllocation } from '../../domains/scheduling/host-allocation.ts'
import type { SeedContext } from '../context.ts'
import { osOf, seedVm, workingTools } from './vm.ts'

const GiB = 1024 ** 3
const day = 24 * 3600
const daysOn = 9

interface Described {
  readonly name: string
  readonly vcpus: number
  readonly memoryGiB: number
  readonly disksGiB: readonly number[]
  readonly container?: string
  readonly image: string
  readonly subnet: string
  readonly categories: readonly string[]
  readonly isUefi?: true
  readonly hasTools?: true
  readonly isOff?: true
  /** A second NIC, for copies of other traffic: the VM analyses them. */
  readonly hasSpanNic?: true
  readonly description: string
}

const inventory: readonly Described[] = [
  {
    name: 'web-01',
    description: 'Front end, first of two',
    vcpus: 2,
    memoryGiB: 4,
    disksGiB: [40],
    image: 'ubuntu-24.04.qcow2',
    subnet: 'web',
    categories: ['Environment/Production', 'AppTier/Web'],
  },
  {
    name: 'web-02',
    description: 'Front end, second of two',
    vcpus: 2,
    memoryGiB: 4,
    disksGiB: [40],
    image: 'ubuntu-24.04.qcow2',
    subnet: 'web',
    categories: ['Environment/Production', 'AppTier/Web'],
  },
  {
    name: 'db-01',
    description: 'Orders database',
    vcpus: 8,
    memoryGiB: 32,
    disksGiB: [200, 200],
    container: 'db-gold',
    image: 'centos-9.qcow2',
    subnet: 'db',
    categories: ['Environment/Production', 'AppTier/Database', 'Backup/Gold'],
  },
  {
    name: 'batch-01',
    description: 'Nightly reports',
    vcpus: 4,
    memoryGiB: 8,
    disksGiB: [80],
    image: 'centos-9.qcow2',
    subnet: 'vlan-100-app',
    categories: ['Environment/Test'],
  },
  {
    name: 'desktop-01',
    description: 'Windows desktop',
    vcpus: 4,
    memoryGiB: 16,
    disksGiB: [100],
    image: 'windows-2022.qcow2',
    subnet: 'vlan-100-app',
    categories: ['Environment/Dev', 'OSType/Windows'],
    isUefi: true,
    hasTools: true,
    hasSpanNic: true,
  },
  {
    name: 'template-source',
    description: 'Prepared to be cloned',
    vcpus: 2,
    memoryGiB: 4,
    disksGiB: [40],
    image: 'ubuntu-24.04.qcow2',
    subnet: 'vlan-100-app',
    categories: ['Environment/Dev'],
    hasTools: true,
    isOff: true,
  },
  {
    name: 'floating-01',
    description: 'Behind the network address translation of ext-nat',
    vcpus: 1,
    memoryGiB: 2,
    disksGiB: [20],
    image: 'ubuntu-24.04.qcow2',
    subnet: 'web',
    categories: ['Environment/Dev'],
  },
]

/** Resources of a manager's node: vCPUs, GiB. */
const managerSizes = { xsmall: [4, 18], small: [10, 35], large: [18, 70], xlarge: [24, 134] } as const

const clusterExtId = seedId('cluster/hp-native-01')

export async function seedDemoVms(ctx: SeedContext): Promise<void> {
  await seedManagerNode(ctx)
  for (const [index, described] of inventory.entries()) await seedDemoVm(ctx, described, index)
}

async function seedDemoVm(ctx: SeedContext, described: Described, index: number): Promise<void> {
  const { name, vcpus, memoryGiB, disksGiB, container = 'default', image, subnet: subnetName, categories } = described
  const containerOf = (key: string): string => seedId(`container/hp-native-01/${key}`)
  const subnet = await ctx.store.get(Subnet, seedId(`subnet/${subnetName}`))
  if (subnet === undefined) throw new Error(`the seed of ${name} finds no subnet ${subnetName}`)
  const os = osOf(image)
  await seedVm(ctx, {
    name: ctx.nameOf(name),
    key: name,
    description: described.description,
    clusterExtId,
    vcpus,
    memoryGiB,
    disks: disksGiB.map((sizeGiB, at) => ({
      sizeBytes: sizeGiB * GiB,
      containerExtId: containerOf(container),
      ...(at === 0 ? { imageExtId: seedId(`image/${image}`), os } : {}),
    })),
    nics: [
      { subnet, macAddress: `50:6b:8d:00:00:${(index + 1).toString(16).padStart(2, '0')}` },
      ...(described.hasSpanNic === true
        ? [{ macAddress: `50:6b:8d:00:01:${(index + 1).toString(16).padStart(2, '0')}` }]
        : []),
    ],
    ...(described.isUefi === true ? { uefiContainerExtId: containerOf('default') } : {}),
    ...(described.hasTools === true ? { guestTools: workingTools(os) } : {}),
    categoryExtIds: categories.map((category) => seedId(`category/${category}`)),
    ownerExtId: ctx.adminId,
    isOn: described.isOff !== true,
    secondsSinceCreation: daysOn * day + 3600 - index * 60,
    secondsSinceStart: daysOn * day,
  })
}

/** The manager's node is a system VM: lists and counts omit it, but its host reserves its resources. */
async function seedManagerNode(ctx: SeedContext): Promise<void> {
  const vmExtId = seedId('manager/node-1')
  const hostExtId = seedId('host/hp-n01-a')
  const [vcpus, memoryGiB] = managerSizes[ctx.tier]
  const memoryBytes = memoryGiB * GiB
  await ctx.store.insert(HostAllocation, {
    extId: `${vmExtId}/${hostExtId}`,
    vmExtId,
    hostExtId,
    clusterExtId,
    memoryBytes,
    vcpus,
    isPinned: false,
  })
}
