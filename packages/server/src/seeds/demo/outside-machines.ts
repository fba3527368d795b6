/** VMs of the demo's external cluster: in its own management, and their mirror here. Source: behaviour vmm.md 4. */

import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { mirror } from '../../domains/vmm/extern/inventory.ts'
import type { OutsideVm } from '../../drivers/external-hypervisor.ts'
import type { OutsideVmFact } from '../../drivers/simulated/external-facts.ts'
import { outsideVms } from '../../drivers/simulated/external-hypervisor.ts'
import type { SeedContext } from '../context.ts'

const GiB = 1024 ** 3
const millisOfDay = 24 * 3600 * 1000

export interface SeedExternVm {
  readonly extId?: string
  readonly name: string
  readonly description?: string
  readonly powerState: 'OFF' | 'ON' | 'SUSPENDED'
  readonly clusterExtId: string
  readonly hostExtId: string
  readonly containerExtId: string
  readonly numCpus: number
  readonly numCoresPerSocket: number
  readonly memoryGiB: number
  readonly disksGiB: readonly number[]
  readonly guestOsName?: string
  readonly virtualHardwareVersion: number
  readonly nics: readonly { readonly portGroup: string; readonly macAddress: string; readonly ipAddress?: string }[]
  readonly hasGuestTools: boolean
  readonly ownerExtId: string
  readonly categoryExtIds: readonly string[]
}

interface Described {
  readonly name: string
  readonly description: string
  readonly powerState: 'OFF' | 'ON' | 'SUSPENDED'
  readonly host: string
  readonly cpus: number
  readonly memoryGiB: number
  readonly disksGiB: readonly number[]
  readonly guest: string
}

const inventory: readonly Described[] = [
  {
    name: 'legacy-erp',
    description: 'Enterprise resource planning',
    powerState: 'ON',
    host: 'hp-e01-a',
    cpus: 4,
    memoryGiB: 16,
    disksGiB: [60, 200],
    guest: 'Red Hat Enterprise Linux 8 (64-bit)',
  },
  {
    name: 'legacy-print',
    description: 'Print server',
    powerState: 'SUSPENDED',
    host: 'hp-e01-b',
    cpus: 2,
    memoryGiB: 4,
    disksGiB: [60],
    guest: 'Microsoft Windows Server 2019 (64-bit)',
  },
  {
    name: 'legacy-test',
    description: 'To be moved',
    powerState: 'OFF',
    host: 'hp-e01-c',
    cpus: 2,
    memoryGiB: 8,
    disksGiB: [40],
    guest: 'CentOS 7 (64-bit)',
  },
]

const cluster = seedId('cluster/hp-extern-01')

export async function seedExternVms(ctx: SeedContext): Promise<void> {
  await ctx.world.collection<object>('extern.clusters').put(cluster, {})
  for (const [index, { host, cpus, guest, ...described }] of inventory.entries())
    await seedExternVm(ctx, {
      ...described,
      clusterExtId: cluster,
      hostExtId: seedId(`host/${host}`),
      containerExtId: seedId('container/hp-extern-01/extern-store'),
      numCpus: cpus,
      numCoresPerSocket: cpus,
      guestOsName: guest,
      virtualHardwareVersion: 19,
      nics: [
        { portGroup: 'VM Network', macAddress: `00:50:56:00:00:0${index + 1}`, ipAddress: `10.44.3.${index + 11}` },
      ],
      hasGuestTools: true,
      ownerExtId: ctx.adminId,
      categoryExtIds: [],
    })
}

export async function seedExternVm(ctx: SeedContext, described: SeedExternVm): Promise<void> {
  const now = ctx.clock.now()
  const vm = outsideVm(described)
  const run = {
    startedAt: now - 9 * millisOfDay,
    hostExtId: described.hostExtId,
    clusterExtId: described.clusterExtId,
    memoryBytes: described.memoryGiB * GiB,
    vcpus: described.numCpus,
  }
  const { hostExtId, containerExtId } = described
  const { datastoreName } = (await ctx.store.findOne(DataStore, { hostExtId, containerExtId })) ?? {}
  const fact: OutsideVmFact = {
    vm,
    ...defined({ datastoreName }),
    hasOwnTools: described.hasGuestTools,
    past: described.powerState === 'SUSPENDED' ? [{ ...run, from: run.startedAt, to: now - millisOfDay / 2 }] : [],
    ...(described.powerState === 'ON' ? { now: { from: run.startedAt, startedAt: run.startedAt } } : {}),
  }
  await outsideVms(ctx.world).put(vm.extId, fact)
  await mirror(ctx.store, undefined, vm, ctx.tenantId)
  const { ownerExtId, categoryExtIds } = described
  await ctx.store.observe(ExternVm, vm.extId, {
    ownershipInfo: { owner: { entityType: 'USER', extId: ownerExtId } },
    ...(categoryExtIds.length === 0 ? {} : { categories: categoryExtIds.map((extId) => ({ extId })) }),
  })
}

function outsideVm(described: SeedExternVm): OutsideVm {
  const { name, extId = seedId(`extern-vm/${name}`), description, powerState, memoryGiB, disksGiB, nics } = described
  const { clusterExtId, hostExtId, containerExtId, numCpus, numCoresPerSocket, guestOsName } = described
  const vm: ExternVm = {
    extId,
    name,
    ...defined({ description }),
    powerState,
    cluster: { extId: clusterExtId },
    host: { extId: hostExtId },
    memorySizeBytes: memoryGiB * GiB,
    numCpus,
    numCoresPerSocket,
    ...defined({ guestOsName }),
    virtualHardwareVersion: described.virtualHardwareVersion,
    disks: disksGiB.map((size, at) => ({
      extId: seedId(`extern-disk/${name}/${at}`),
      diskAddress: { busType: 'SCSI', index: at },
      backingInfo: { diskSizeBytes: size * GiB, storageContainer: { extId: containerExtId } },
    })),
    nics: nics.map(({ portGroup, macAddress, ipAddress }, at) => ({
      extId: seedId(`extern-nic/${name}/${at}`),
      backingInfo: { adapterType: 'VMXNET3', macAddress, isConnected: true },
      networkInfo: {
        portGroupInfo: { name: portGroup },
        ...(ipAddress === undefined
          ? {}
          : { ipAddressInfo: { ipv4Addresses: [{ value: ipAddress, prefixLength: 24 }] } }),
      },
    })),
  }
  return vm
}
