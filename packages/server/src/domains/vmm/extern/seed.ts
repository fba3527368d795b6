/** The VMs of the demo's external cluster, as their management shows them, and their mirror. Source: behaviour vmm.md 4. */
import type { EntityOf } from '@hyperplane/contract'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import type { OutsideVm } from '../../../drivers/external-hypervisor.ts'
import { type OutsideVmFact, outsideVms } from '../../../drivers/simulated/external-hypervisor.ts'
import { type SeedContext, seedId } from '../../seed.ts'
import { mirror } from './inventory.ts'

const GiB = 1024 ** 3
const millisOfDay = 24 * 3600 * 1000

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
  const now = ctx.clock.now()
  await ctx.world.collection<object>('extern.clusters').put(cluster, {})
  for (const [index, described] of inventory.entries()) {
    const vm = outsideVm(described, index)
    const run = {
      startedAt: now - 9 * millisOfDay,
      hostExtId: seedId(`host/${described.host}`),
      clusterExtId: cluster,
      memoryBytes: described.memoryGiB * GiB,
      vcpus: described.cpus,
    }
    const fact: OutsideVmFact = {
      vm,
      areToolsRunning: described.powerState === 'ON',
      past: described.powerState === 'SUSPENDED' ? [{ ...run, from: run.startedAt, to: now - millisOfDay / 2 }] : [],
      ...(described.powerState === 'ON' ? { now: { from: run.startedAt, startedAt: run.startedAt } } : {}),
    }
    await outsideVms(ctx.world).put(vm.extId, fact)
    await mirror(ctx.store, undefined, vm, ctx.tenantId)
    const owner = { owner: { entityType: 'USER', extId: ctx.adminId } } as const
    await ctx.store.observe(ExternVm, vm.extId, { ownershipInfo: owner })
  }
}

function outsideVm(described: Described, index: number): OutsideVm {
  const { name, description, powerState, host, cpus, memoryGiB, disksGiB, guest } = described
  const storageContainer = { extId: seedId('container/hp-extern-01/extern-store') }
  const vm: EntityOf<typeof ExternVm> = {
    extId: seedId(`extern-vm/${name}`),
    name,
    description,
    powerState,
    cluster: { extId: cluster },
    host: { extId: seedId(`host/${host}`) },
    memorySizeBytes: memoryGiB * GiB,
    numCpus: cpus,
    numCoresPerSocket: cpus,
    guestOsName: guest,
    virtualHardwareVersion: 19,
    disks: disksGiB.map((size, at) => ({
      extId: seedId(`extern-disk/${name}/${at}`),
      diskAddress: { busType: 'SCSI', index: at },
      backingInfo: { diskSizeBytes: size * GiB, storageContainer },
    })),
    nics: [
      {
        extId: seedId(`extern-nic/${name}/0`),
        backingInfo: { adapterType: 'VMXNET3', macAddress: `00:50:56:00:00:0${index + 1}`, isConnected: true },
        networkInfo: {
          portGroupInfo: { name: 'VM Network' },
          ipAddressInfo: { ipv4Addresses: [{ value: `10.44.3.${index + 11}`, prefixLength: 24 }] },
        },
      },
    ],
  }
  return vm
}
