/**
 * The demo's cluster that nobody has registered yet: one host, two VMs. It is made like any other, and then leaves the way
 * a cluster leaves when it is unregistered. Source: behaviour platform.md 13.
 */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vm } from '@hyperplane/contract/vmm/vm'
import { diskFacts, domainFacts } from '../drivers/simulated/hypervisor.ts'
import { fabricFacts } from '../drivers/simulated/network-fabric.ts'
import { remoteInventories } from '../drivers/simulated/remote-managers.ts'
import { planOf, type SubnetEntity } from './address-plan.ts'
import { leaseAddress, syncOwnLeases } from './addresses.ts'
import { takeOut } from './cluster-inventory.ts'
import { seedCluster, seedContainer } from './clustermgmt/seed.ts'
import { hostClasses, seedHosts } from './clustermgmt/seed-hosts.ts'
import { formatAddress } from './ip-address.ts'
import { programmingOf } from './networking/subnet-tasks.ts'
import { lab } from './platform/seed-registrations.ts'
import { type SeedContext, seedId } from './seed.ts'
import { notePower } from './vmm/power-journal.ts'
import { MacLease } from './vmm/records.ts'
import { place } from './vmm/scheduler.ts'
import { domainOf } from './vmm/vm/domain.ts'
import type { VmEntity } from './vmm/vm/entity.ts'
import { nicOf } from './vmm/vm/nics.ts'
import { seedDefaults } from './vmm/vm/seed.ts'

const GiB = 1024 ** 3
const daysOn = 5
const clusterExtId = seedId(`cluster/${lab.name}`)
const containerExtId = seedId(`container/${lab.name}/default`)
const hostExtId = seedId('host/hp-l03-a')

export async function seedLab(ctx: SeedContext): Promise<void> {
  const cluster = await seedCluster(ctx, lab.name, { address: lab.address, hypervisor: 'AHV', settings: {} })
  await ctx.store.update(Cluster, clusterExtId, {
    config: { ...cluster.config, clusterFunction: ['AOS', 'ONE_NODE'], redundancyFactor: 1 },
  })
  await seedHosts(ctx, cluster, hostClasses.cloud, [
    { hostName: 'hp-l03-a', address: '10.44.5.21', cvmAddress: '10.44.5.31', bmcAddress: '10.44.5.41' },
  ])
  await seedContainer(ctx, cluster, 'default', { name: 'default-container-20617733490218', replicationFactor: 1 })
  const subnet = await seedNetwork(ctx)
  for (const [index, name] of ['lab-web', 'lab-db'].entries()) await seedVm(ctx, subnet, name, index)
  await remoteInventories(ctx.world).put(clusterExtId, await takeOut(ctx.store, clusterExtId))
}

async function seedNetwork(ctx: SeedContext): Promise<SubnetEntity> {
  const virtualSwitchReference = seedId(`virtual-switch/${lab.name}/vs0`)
  await ctx.store.insert(VirtualSwitch, {
    extId: virtualSwitchReference,
    tenantId: ctx.tenantId,
    name: 'vs0',
    bondMode: 'ACTIVE_BACKUP',
    clusters: [
      {
        extId: clusterExtId,
        hosts: [{ extId: hostExtId, internalBridgeName: 'br0', hostNics: ['eth0', 'eth1'], activeUplink: 'eth0' }],
      },
    ],
    clusterExtId,
    mtu: 1500,
    igmpSpec: { isSnoopingEnabled: false, snoopingTimeout: 300 },
    isQuickMode: false,
    isDefault: true,
    ownerType: 'PC',
    hasUpdateInProgress: false,
    hasDeleteInProgress: false,
    hasDeploymentError: false,
  })
  const address = (value: string) => ({ value, prefixLength: 32 })
  const subnet: SubnetEntity = {
    extId: seedId('subnet/lab-net'),
    tenantId: ctx.tenantId,
    name: 'lab-net',
    subnetType: 'VLAN',
    networkId: 50,
    isExternal: false,
    clusterReference: clusterExtId,
    virtualSwitchReference,
    ipConfig: [
      {
        ipv4: {
          ipSubnet: { ip: address('10.50.3.0'), prefixLength: 24 },
          defaultGatewayIp: address('10.50.3.1'),
          poolList: [{ startIp: address('10.50.3.50'), endIp: address('10.50.3.99') }],
        },
      },
    ],
  }
  await ctx.store.insert(Subnet, subnet)
  await syncOwnLeases(ctx, subnet, planOf(subnet.ipConfig))
  const { program, dhcp } = await programmingOf(ctx.store, subnet)
  const facts = fabricFacts(ctx.world)
  await facts.subnets.put(subnet.extId, program)
  if (dhcp !== undefined) await facts.dhcp.put(subnet.extId, dhcp)
  return subnet
}

async function seedVm(ctx: SeedContext, subnet: SubnetEntity, name: string, index: number): Promise<void> {
  const extId = seedId(`vm/${name}`)
  const created = ctx.ago(daysOn * 24 * 3600 - index * 60)
  const nicExtId = seedId(`nic/${name}/0`)
  const macAddress = `50:6b:8d:00:03:0${index + 1}`
  const subnetExtId = subnet.extId
  await ctx.store.insert(MacLease, { extId: nicExtId, macAddress, nicExtId, vmExtId: extId, subnetExtId })
  const value = formatAddress(await leaseAddress(ctx, subnet, { kind: 'ASSIGNED', holder: nicExtId, family: 'IPV4' }))
  const disk = { extId: seedId(`disk/${name}/0`), sizeBytes: 40 * GiB }
  const vm: VmEntity = {
    ...seedDefaults,
    extId,
    tenantId: ctx.tenantId,
    name,
    description: 'In the laboratory',
    createTime: created,
    updateTime: created,
    powerState: 'OFF',
    cluster: { extId: clusterExtId },
    memorySizeBytes: 4 * GiB,
    numSockets: 2,
    bootConfig: { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootOrder: ['CDROM', 'DISK', 'NETWORK'] } as never,
    biosUuid: extId,
    generationUuid: seedId(`vm/${name}/generation`),
    disks: [
      {
        extId: disk.extId,
        backingInfo: {
          $objectType: 'vmm.v4.ahv.config.VmDisk',
          diskExtId: disk.extId,
          diskSizeBytes: disk.sizeBytes,
          storageContainer: { extId: containerExtId },
        },
        diskAddress: { busType: 'SCSI', index: 0 },
      } as never,
    ],
    nics: [
      nicOf(
        nicExtId,
        { isConnected: true, macAddress, model: 'VIRTIO', numQueues: 1 },
        {
          nicType: 'NORMAL_NIC',
          subnet: { extId: subnetExtId },
          vlanMode: 'ACCESS',
          shouldAllowUnknownMacs: false,
          ipv4Config: { shouldAssignIp: true, ipAddress: { value, prefixLength: 32 } },
        },
      ),
    ],
  }
  await ctx.store.insert(Vm, vm)
  await diskFacts(ctx.world).put(disk.extId, {
    containerExtId,
    sizeBytes: disk.sizeBytes,
    os: 'linux',
    createdAt: ctx.clock.now() - daysOn * 24 * 3600 * 1000,
  })
  const host = await place(ctx, vm)
  const on = { powerState: 'ON', host: { extId: host }, lastHostExtId: host, isLiveMigrateCapable: true } as const
  const stored = await ctx.store.observe(Vm, extId, on)
  await notePower(ctx.store, { uuid: () => seedId(`power/${name}`) }, stored, 'ON', created)
  await domainFacts(ctx.world).put(extId, {
    domain: await domainOf(ctx.store, vm),
    state: 'ON',
    hostExtId: host,
    startedAt: ctx.clock.now() - daysOn * 24 * 3600 * 1000,
  })
}
