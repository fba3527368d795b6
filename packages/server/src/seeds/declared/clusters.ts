import type { BodyOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ClusterProfile } from '@hyperplane/contract/clustermgmt/cluster-profile'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { formatAddress, parseAddress } from '../../core/ip-address.ts'
import { withSettingDefaults } from '../../domains/clustermgmt/settings-rules.ts'
import { sectionsOf } from '../../domains/clustermgmt/settings-sections.ts'
import type { ClusterSettings } from '../../drivers/hardware.ts'
import { nodeFacts } from '../../drivers/simulated/nodes.ts'
import { seedCluster, seedContainer } from '../demo/clusters.ts'
import { hostClasses, type SeedHost, seedHosts } from '../demo/hosts.ts'
import { seedCloudSubnet, seedVirtualSwitch } from '../demo/networks.ts'
import { seedHostingCluster } from '../demo/platform.ts'
import { seedRegistrationOf } from '../demo/registrations.ts'
import { seedVcenter } from '../demo/vcenters.ts'
import type { DeclaredCluster } from '../format.ts'
import { eachOf } from '../numbered.ts'
import { bodyOf } from '../readable.ts'
import { fillContainers } from './containers.ts'
import { drivesOf } from './drives.ts'
import type { Filling } from './filling.ts'

const defaultHosts = 3
/** Default networks of 256 addresses, one for each cluster, from 10.64.0.0/10. */
const firstNetwork = 0x0a400000n
const networks = 16_384
const hostParts = { cluster: 10, dataServices: 11, host: 21, cvm: 85, bmc: 149 } as const

export async function fillClusters(filling: Filling, clusters: readonly DeclaredCluster[] | undefined): Promise<void> {
  if (clusters === undefined) return
  const taken = await addressesIn(filling)
  await filling.each('clusters', clusters, (item, path) => fillCluster(filling, item, path, taken))
  filling.forget()
  for (const described of clusters) {
    if (described.hypervisorType === 'ESX' || described.cloudType !== undefined) continue
    if (described.isRegistered === false) continue
    for (const [{ name }] of eachOf(described)) {
      const [cluster] = await filling.ctx.store.findWhere(Cluster, { name })
      if (cluster !== undefined) return seedHostingCluster(filling.ctx, cluster.extId)
    }
  }
}

export async function fillUnregistered(
  filling: Filling,
  clusters: readonly DeclaredCluster[] | undefined,
): Promise<void> {
  for (const [index, described] of (clusters ?? []).entries()) {
    if (described.isRegistered !== false) continue
    const path = `clusters[${index}].isRegistered`
    for (const [{ name }] of eachOf(described))
      await filling.item(path, async () => {
        const { extId } = await filling.cluster(name, path)
        const removal = { called: `unregister/${name}`, path: { extId: filling.ctx.managerExtId }, body: { extId } }
        await filling.perform(path, 'platform.unregister', removal)
      })
  }
  filling.forget()
}

export type Taken = Map<string, string>

/** @throws SeedRefusal for an address that another machine has */
export function takeAddress(filling: Filling, taken: Taken, holder: string, address: string, at: string): string {
  if (parseAddress('IPV4', address) === undefined) filling.refuse(at, `expected an IPv4 address, found "${address}"`)
  const other = taken.get(address)
  if (other !== undefined) filling.refuse(at, `${address} is an address of ${other} already`)
  taken.set(address, holder)
  return address
}

export async function addressesIn({ ctx }: Filling): Promise<Taken> {
  const taken: Taken = new Map()
  for (const { name, network } of await ctx.store.find(Cluster)) {
    for (const address of [network?.externalAddress, network?.externalDataServiceIp])
      if (address?.ipv4 !== undefined) taken.set(address.ipv4.value, name)
  }
  for (const { hostName, hypervisor, controllerVm } of await ctx.store.find(Host)) {
    for (const address of [hypervisor?.externalAddress, controllerVm?.externalAddress])
      if (address?.ipv4 !== undefined) taken.set(address.ipv4.value, hostName)
  }
  for (const { addresses, serialNumber } of nodeFacts(ctx.world).all().values())
    for (const address of Object.values(addresses))
      if (!taken.has(address)) taken.set(address, `the node ${serialNumber}`)
  return taken
}

async function fillCluster(filling: Filling, item: DeclaredCluster, path: string, taken: Taken): Promise<void> {
  const { ctx } = filling
  const { name, extId, hypervisorType = 'AHV', containers = [] } = item
  if ((await ctx.store.findWhere(Cluster, { name })).length > 0)
    filling.refuse(`${path}.name`, `there is a cluster ${name} already`)
  const take = (address: string, at: string): string => takeAddress(filling, taken, name, address, at)
  const network = networkOf(filling, item, path, taken)
  const at = (place: number): string => formatAddress({ family: 'IPV4', value: network + BigInt(place) })
  const described = hostsOf(item)
  const categories = await filling.categories(item.categories, `${path}.categories`)
  const settings = await settingsOf(filling, item, path)
  const { vcenterAddress } = item
  const cluster = await seedCluster(ctx, name, {
    ...defined({ extId }),
    address: take(item.address ?? at(hostParts.cluster), `${path}.address`),
    dataServices: take(item.dataServicesAddress ?? at(hostParts.dataServices), `${path}.dataServicesAddress`),
    hosts: described.length,
    hypervisor: hypervisorType,
    settings,
    ...(vcenterAddress === undefined
      ? {}
      : { network: { managementServer: managementServer(take(vcenterAddress, `${path}.vcenterAddress`)) } }),
    ...(categories.length === 0 ? {} : { more: { categories } }),
  })
  if (item.settings !== undefined) filling.settings.set(cluster.extId, settings)
  const { drives } = drivesOf(filling, item.hostDrives, `${path}.hostDrives`)
  const hosts: (SeedHost & { readonly extId: string })[] = []
  for (const [index, host] of described.entries()) {
    const hostPath = `${path}.hosts[${index}]`
    const memoryGiB = host.memoryGiB ?? item.hostMemoryGiB
    const hostCategories = await filling.categories(host.categories, `${hostPath}.categories`)
    hosts.push({
      extId: host.extId ?? seedId(`host/${host.name}`),
      hostName: host.name,
      address: take(host.address ?? at(hostParts.host + index), `${hostPath}.address`),
      cvmAddress: take(host.cvmAddress ?? at(hostParts.cvm + index), `${hostPath}.cvmAddress`),
      // Hosts in a cloud have no BMC address.
      ...(item.cloudType === undefined
        ? { bmcAddress: take(host.bmcAddress ?? at(hostParts.bmc + index), `${hostPath}.bmcAddress`) }
        : {}),
      ...defined({ gpuList: host.gpuList, pcieDevices: host.pcieDevices, nics: host.nics, memoryGiB }),
      ...drivesOf(filling, host.drives, `${hostPath}.drives`, drives),
      ...(hostCategories.length === 0 ? {} : { categoryExtIds: hostCategories }),
    })
  }
  await seedHosts(ctx, cluster, hostClassOf(item), hosts)
  const number = Number.parseInt(cluster.extId.slice(0, 12).replace('-', ''), 16)
  await seedContainer(ctx, cluster, 'default', { name: `default-container-${number}` })
  await seedContainer(ctx, cluster, 'SelfServiceContainer', {})
  if (hypervisorType === 'AHV') {
    await seedVirtualSwitch(ctx, {
      extId: switchOf(cluster.name),
      clusterExtId: cluster.extId,
      hostExtIds: hosts.map((host) => host.extId),
      name: 'vs0',
      bondMode: 'ACTIVE_BACKUP',
      bridge: 'br0',
      nics: ['eth0', 'eth1'],
    })
  }
  if (hypervisorType === 'ESX') await ctx.world.collection<object>('extern.clusters').put(cluster.extId, {})
  for (const [index, subnet] of (item.cloudSubnets ?? []).entries())
    await seedCloudSubnet(ctx, { clusterExtId: cluster.extId, cloudType: item.cloudType ?? 'AWS', index, ...subnet })
  if (vcenterAddress !== undefined) await seedVcenter(ctx, cluster.extId, vcenterAddress)
  await seedRegistrationOf(ctx, cluster)
  filling.forget()
  await fillContainers(filling, cluster, containers, path)
}

function hostClassOf({ hypervisorType = 'AHV', cloudType }: DeclaredCluster) {
  if (cloudType !== undefined) return hostClasses.cloud
  return hypervisorType === 'AHV' ? hostClasses.native : hostClasses.extern
}

const managementServer = (value: string) => ({
  ip: { ipv4: { value, prefixLength: 32 } },
  type: 'VCENTER',
  isRegistered: true,
  isInUse: true,
  isDrsEnabled: false,
})

async function settingsOf(filling: Filling, item: DeclaredCluster, path: string): Promise<ClusterSettings> {
  if (item.settings === undefined) return {}
  const at = `${path}.settings`
  const written = await bodyOf(ClusterProfile.schema.fields, item.settings, at, filling)
  const body = filling.judge(at, 'clustermgmt.createClusterProfile', {
    name: 'settings',
    ...withRandomKeys(written, filling),
  }) as object
  return sectionsOf(withSettingDefaults(body))
}

/** SNMP users need keys, which seeds do not contain. */
export function withRandomKeys(settings: object, { ctx }: Filling): object {
  const { snmpConfig } = settings as Partial<BodyOf<typeof ClusterProfile>>
  if (snmpConfig?.users === undefined) return settings
  const randomKey = (): string => ctx.ids.secretBytes(18).toString('base64url')
  const users = snmpConfig.users.map((user) => ({
    ...user,
    authKey: randomKey(),
    ...defined({ privKey: user.privType && randomKey() }),
  }))
  return { ...settings, snmpConfig: { ...snmpConfig, users } }
}

const switchOf = (clusterName: string): string => seedId(`virtual-switch/${clusterName}/vs0`)

type DeclaredHost = Extract<NonNullable<DeclaredCluster['hosts']>, readonly unknown[]>[number]

function hostsOf({ name, hosts = defaultHosts }: DeclaredCluster): readonly DeclaredHost[] {
  if (typeof hosts !== 'number') return hosts
  return Array.from({ length: hosts }, (_, index) => ({ name: `${name}-${index + 1}` }))
}

/** A cluster with an address uses the network around it. */
function networkOf(filling: Filling, { address }: DeclaredCluster, path: string, taken: Taken): bigint {
  if (address !== undefined) {
    const given = parseAddress('IPV4', address)
    if (given === undefined) filling.refuse(`${path}.address`, `expected an IPv4 address, found "${address}"`)
    return (given.value >> 8n) << 8n
  }
  for (let number = 0; number < networks; number++) {
    const network = firstNetwork + BigInt(number * 256)
    if (!taken.has(formatAddress({ family: 'IPV4', value: network + BigInt(hostParts.cluster) }))) return network
  }
  return filling.refuse(path, 'address is missing: all networks of 10.64.0.0/10 are taken')
}
