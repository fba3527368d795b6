/** Seeded like any other cluster, then its rows are removed as by unregistering. Source: behaviour platform.md 13. */
import { seedId } from '../../core/ids/named-id.ts'
import { removeInventory } from '../../domains/registrations/cluster-inventory.ts'
import { remoteInventories } from '../../drivers/simulated/remote-managers.ts'
import type { SeedContext } from '../context.ts'
import { seedCluster, seedContainer } from './clusters.ts'
import { hostClasses, seedHosts } from './hosts.ts'
import { seedSubnet, seedVirtualSwitch } from './networks.ts'
import { lab } from './registrations.ts'
import { seedVm } from './vm.ts'

const GiB = 1024 ** 3
const secondsOn = 5 * 24 * 3600
const clusterExtId = seedId(`cluster/${lab.name}`)
const containerExtId = seedId(`container/${lab.name}/default`)
const hostExtId = seedId('host/hp-l03-a')

export async function seedUnregistered(ctx: SeedContext): Promise<void> {
  const cluster = await seedCluster(ctx, lab.name, { address: lab.address, hosts: 1, hypervisor: 'AHV', settings: {} })
  await seedHosts(ctx, cluster, hostClasses.cloud, [
    { hostName: 'hp-l03-a', address: '10.44.5.21', cvmAddress: '10.44.5.31', bmcAddress: '10.44.5.41' },
  ])
  await seedContainer(ctx, cluster, 'default', { name: 'default-container-20617733490218' })
  const virtualSwitchReference = seedId(`virtual-switch/${lab.name}/vs0`)
  await seedVirtualSwitch(ctx, {
    extId: virtualSwitchReference,
    clusterExtId,
    hostExtIds: [hostExtId],
    name: 'vs0',
    bondMode: 'ACTIVE_BACKUP',
    bridge: 'br0',
    nics: ['eth0', 'eth1'],
  })
  const address = (value: string) => ({ value, prefixLength: 32 })
  const ipv4 = {
    ipSubnet: { ip: address('10.50.3.0'), prefixLength: 24 },
    defaultGatewayIp: address('10.50.3.1'),
    poolList: [{ startIp: address('10.50.3.50'), endIp: address('10.50.3.99') }],
  }
  const described = { name: 'lab-net', networkId: 50, ipConfig: [{ ipv4 }] }
  const subnet = await seedSubnet(ctx, described, { clusterReference: clusterExtId, virtualSwitchReference })
  for (const [index, name] of ['lab-web', 'lab-db'].entries()) {
    await seedVm(ctx, {
      name,
      description: 'In the laboratory',
      clusterExtId,
      vcpus: 2,
      memoryGiB: 4,
      disks: [{ sizeBytes: 40 * GiB, containerExtId, os: 'linux' }],
      nics: [{ subnet, macAddress: `50:6b:8d:00:03:0${index + 1}` }],
      isOn: true,
      secondsSinceCreation: secondsOn - index * 60,
      secondsSinceStart: secondsOn - index * 60,
    })
  }
  await remoteInventories(ctx.world).put(clusterExtId, await removeInventory(ctx.store, clusterExtId))
}
