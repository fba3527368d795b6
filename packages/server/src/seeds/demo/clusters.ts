/** Source: behaviour clustermgmt.md 4. */

import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ClusterProfile } from '@hyperplane/contract/clustermgmt/cluster-profile'
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { derivedId, seedId } from '../../core/ids/named-id.ts'
import { followRsyslog } from '../../domains/clustermgmt/rsyslog/follow.ts'
import { inClusterRow, sectionsOf } from '../../domains/clustermgmt/settings-sections.ts'
import { followSnmp } from '../../domains/clustermgmt/snmp/follow.ts'
import { accountId, SystemAccount } from '../../domains/clustermgmt/system-accounts/accounts.ts'
import { buildOf, softwareOf } from '../../domains/clustermgmt/topology/cluster-row.ts'
import { containerRow } from '../../domains/containers/first-containers.ts'
import { type ClusterSettings, withDigests } from '../../drivers/hardware.ts'
import type { ClusterFact, ContainerFact } from '../../drivers/simulated/hardware.ts'
import type { SeedContext } from '../context.ts'
import { hostClasses, ipv4, seedHosts, seedUnconfiguredNodes } from './hosts.ts'
import { seedVcenter } from './vcenters.ts'

const TiB = 1024 ** 4
const fqdn = (value: string) => ({ fqdn: { value } })

export async function seedBase(ctx: SeedContext): Promise<void> {
  const extId = ctx.managerExtId
  const name = 'PC_10.44.1.9'
  await ctx.store.insert(Cluster, {
    extId,
    tenantId: ctx.tenantId,
    name,
    config: {
      clusterFunction: ['PRISM_CENTRAL'],
      buildInfo: buildOf('2025.2'),
      clusterSoftwareMap: [{ softwareType: 'PRISM_CENTRAL', version: '2025.2' }],
      isLts: false,
      timezone: 'UTC',
      encryptionInTransitStatus: 'DISABLED',
      pulseStatus: { isEnabled: false, piiScrubbingLevel: 'DEFAULT' },
    },
    network: { externalAddress: ipv4('10.44.1.9') },
    upgradeStatus: 'SUCCEEDED',
  } as Cluster)
  await ctx.world
    .collection<ClusterFact>('hardware.clusters')
    .put(extId, { settings: { PULSE_CONFIG: { isEnabled: false, piiScrubbingLevel: 'DEFAULT' } } })
}

const smtpServer = {
  emailAddress: 'alerts@example.com',
  type: 'STARTTLS',
  server: { ipAddress: fqdn('mail.example.com'), port: 587 },
} as const
const ntpServerIpList = [ipv4('10.44.1.5'), fqdn('ntp.example.com')]
const nameServerIpList = [ipv4('10.44.1.6'), ipv4('10.44.1.7')]
/** No part of the simulated world: lines reach a real receiver at this address, if `--allow-address` opens it. */
const rsyslogServerList = [
  {
    ...{ serverName: 'logs', ipAddress: ipv4('10.44.1.8'), port: 514, networkProtocol: 'UDP' },
    modules: (['API_AUDIT', 'AUDIT', 'GENESIS', 'STARGATE'] as const).map((name) => ({
      ...({ name, logSeverityLevel: 'INFO', shouldLogMonitorFiles: true } as const),
    })),
  },
] satisfies ClusterSettings['RSYSLOG_SERVER_CONFIG']

/** The receiver is no part of the simulated world: traps reach a real one at this address. */
export const demoSnmp = {
  isEnabled: true,
  transports: [{ protocol: 'UDP', port: 161 }],
  users: [
    {
      ...{ username: 'monitor', authType: 'SHA', authKey: 'Simulated.Auth.1' },
      ...{ privType: 'AES', privKey: 'Simulated.Priv.1' },
    },
  ],
  traps: [
    {
      ...{ address: ipv4('10.44.1.8'), port: 162, protocol: 'UDP' },
      ...{ version: 'V3', username: 'monitor', recieverName: 'monitoring' },
    },
  ],
} satisfies ClusterSettings['SNMP_SERVER_CONFIG']

/** The demo inventory. Recreates the manager's entity after the clusters, so that lists show it last. */
export async function seedDemo(ctx: SeedContext): Promise<void> {
  await ctx.store.remove(Cluster, ctx.managerExtId)
  await seedNativeCluster(ctx)
  await seedExternCluster(ctx)
  await seedCloudCluster(ctx)
  await seedNodes(ctx)
  await seedBase(ctx)
}

async function seedNativeCluster(ctx: SeedContext): Promise<void> {
  const native = await seedCluster(ctx, 'hp-native-01', {
    address: '10.44.1.10',
    dataServices: '10.44.1.11',
    hypervisor: 'AHV',
    settings: sectionsOf({
      ntpServerIpList,
      nameServerIpList,
      smtpServer,
      nfsSubnetWhitelist: ['10.44.1.0/255.255.255.0'],
      rsyslogServerList,
      snmpConfig: demoSnmp,
    }),
  })
  await seedHosts(ctx, native, hostClasses.native, [
    { hostName: 'hp-n01-a', address: '10.44.1.21', cvmAddress: '10.44.1.31', bmcAddress: '10.44.1.41' },
    { hostName: 'hp-n01-b', address: '10.44.1.22', cvmAddress: '10.44.1.32', bmcAddress: '10.44.1.42' },
    {
      hostName: 'hp-n01-c',
      address: '10.44.1.23',
      cvmAddress: '10.44.1.33',
      bmcAddress: '10.44.1.43',
      gpuList: ['Compute GPU 24 GiB'],
    },
    {
      hostName: 'hp-n01-d',
      address: '10.44.1.24',
      cvmAddress: '10.44.1.34',
      bmcAddress: '10.44.1.44',
      gpuList: ['Virtual GPU card 16 GiB'],
      pcieDevices: ['Encryption accelerator', 'Encryption accelerator'],
    },
  ])
  await seedContainer(ctx, native, 'default', { name: 'default-container-48105320771234' })
  await seedContainer(ctx, native, 'SelfServiceContainer', {})
  await seedContainer(ctx, native, 'ManagementShare', { isInternal: true })
  await seedContainer(ctx, native, 'db-gold', {
    isCompressionEnabled: true,
    compressionDelaySecs: 0,
    logicalExplicitReservedCapacityBytes: TiB,
  })
  await seedContainer(ctx, native, 'archive-ec', {
    erasureCode: 'ON',
    erasureCodeDelaySecs: 604_800,
    logicalAdvertisedCapacityBytes: 10 * TiB,
  })
}

/** Three nodes that wait for a cluster; the last one has to be imaged first. */
async function seedNodes(ctx: SeedContext): Promise<void> {
  await seedUnconfiguredNodes(
    ctx,
    hostClasses.native,
    'unconfigured',
    ['a', 'b', 'c'].map((letter, index) => ({
      name: `hp-u01-${letter}`,
      cvmAddress: `10.44.1.6${index + 1}`,
      address: `10.44.1.6${index + 4}`,
      bmcAddress: `10.44.1.6${index + 7}`,
      ...(letter === 'c' && { hypervisorVersion: '10.0' }),
    })),
  )
}

async function seedExternCluster(ctx: SeedContext): Promise<void> {
  const baseline = await seedBaseline(ctx)
  const extern = await seedCluster(ctx, 'hp-extern-01', {
    address: '10.44.2.10',
    hypervisor: 'ESX',
    // The mail server was changed after the profile was applied: the demo shows drift.
    settings: sectionsOf({
      ntpServerIpList,
      nameServerIpList,
      smtpServer: {
        emailAddress: 'old@example.com',
        type: 'PLAIN',
        server: { ipAddress: ipv4('10.44.2.6'), port: 25 },
      },
    }),
    more: {
      categories: [seedId('category/Environment/Test')],
      clusterProfileExtId: baseline,
      compliance: { isCompliant: false, lastSyncedTime: ctx.ago(600), configDrifts: ['SMTP_SERVER_CONFIG'] },
    },
  })
  const externHosts = ['a', 'b', 'c'].map((letter, index) => ({
    hostName: `hp-e01-${letter}`,
    address: `10.44.2.2${index + 1}`,
    cvmAddress: `10.44.2.3${index + 1}`,
    bmcAddress: `10.44.2.4${index + 1}`,
  }))
  await seedHosts(ctx, extern, hostClasses.extern, externHosts)
  const store = await seedContainer(ctx, extern, 'extern-store', {})
  for (const host of externHosts) await seedDatastore(ctx, extern, store, host)
  await seedVcenter(ctx, extern.extId, '10.44.2.5')
}

async function seedCloudCluster(ctx: SeedContext): Promise<void> {
  const cloud = await seedCluster(ctx, 'cloud-1', { address: '10.45.1.10', hypervisor: 'AHV', settings: {} })
  await seedHosts(
    ctx,
    cloud,
    hostClasses.cloud,
    ['a', 'b', 'c'].map((letter, index) => ({
      hostName: `hp-c01-${letter}`,
      address: `10.45.1.2${index + 1}`,
      cvmAddress: `10.45.1.3${index + 1}`,
    })),
  )
  await seedContainer(ctx, cloud, 'default', { name: 'default-container-70931546208817' })
}

interface SeedCluster {
  readonly extId?: string
  readonly address: string
  readonly hosts?: number
  readonly dataServices?: string
  readonly hypervisor: 'AHV' | 'ESX'
  readonly settings: ClusterSettings
  readonly network?: object
  readonly more?: object
}

export async function seedCluster(ctx: SeedContext, name: string, given: SeedCluster): Promise<Cluster> {
  const { extId = seedId(`cluster/${name}`), hosts } = given
  const settings: ClusterSettings = {
    SNMP_SERVER_CONFIG: { isEnabled: false, transports: [{ protocol: 'UDP', port: 161 }] },
    PULSE_CONFIG: { isEnabled: false, piiScrubbingLevel: 'DEFAULT' },
    ...given.settings,
  }
  const shown = inClusterRow(settings)
  const cluster = {
    extId,
    tenantId: ctx.tenantId,
    name,
    config: {
      clusterFunction: hosts === 1 ? ['AOS', 'ONE_NODE'] : ['AOS'],
      ...softwareOf(extId, '7.3'),
      hypervisorTypes: [given.hypervisor],
      redundancyFactor: hosts === 1 ? 1 : 2,
      faultToleranceState: { domainAwarenessLevel: 'NODE' },
      encryptionInTransitStatus: 'DISABLED',
      ...shown.config,
    },
    network: {
      externalAddress: ipv4(given.address),
      ...(given.dataServices === undefined ? {} : { externalDataServiceIp: ipv4(given.dataServices) }),
      externalSubnet: `${given.address.replace(/\d+$/, '0')}/255.255.255.0`,
      internalSubnet: '192.168.5.0/255.255.255.128',
      keyManagementServerType: 'LOCAL',
      ...shown.network,
      ...given.network,
    },
    upgradeStatus: 'SUCCEEDED',
    ...given.more,
  } as unknown as Cluster
  await ctx.store.insert(Cluster, cluster)
  await placeSettings(ctx, extId, settings)
  await ctx.store.insert(SystemAccount, {
    extId: accountId('AOS', extId, 'admin'),
    tenantId: ctx.tenantId,
    clusterExtId: extId,
    passwordHash: ctx.adminPasswordHash,
    formerPasswordHashes: [ctx.adminPasswordHash],
    lastUpdateTime: ctx.ago(0),
  } as EntityOf<typeof SystemAccount>)
  return cluster
}

/** @param settings with plain secrets: clusters keep digests, rows sealed texts @param occasion another one gives new rows other ids */
export async function placeSettings(
  ctx: SeedContext,
  clusterExtId: string,
  settings: ClusterSettings,
  occasion = 'new cluster',
): Promise<void> {
  const actual = withDigests(clusterExtId, settings)
  const facts = ctx.world.collection<ClusterFact>('hardware.clusters')
  await facts.put(clusterExtId, { ...facts.get(clusterExtId), settings: actual })
  let count = 0
  const ids = { uuid: () => derivedId(clusterExtId, 'snmp', occasion, count++) }
  const following = { store: ctx.store, secrets: ctx.machinery.secrets, ids, tenantId: ctx.tenantId }
  const idOf = (serverName: string): string => derivedId(clusterExtId, 'rsyslog', serverName)
  await followRsyslog({ ...ctx, idOf }, clusterExtId, actual)
  await followSnmp(following, clusterExtId, actual, settings.SNMP_SERVER_CONFIG?.users)
}

export async function seedContainer(
  ctx: SeedContext,
  cluster: Cluster,
  key: string,
  more: Partial<StorageContainer>,
): Promise<StorageContainer> {
  const { extId = seedId(`container/${cluster.name}/${key}`) } = more
  const container = {
    ...containerRow(cluster, { extId, name: key, ownerExtId: ctx.adminId }),
    ...more,
  } as StorageContainer
  await ctx.store.insert(StorageContainer, container)
  await ctx.world.collection<ContainerFact>('hardware.containers').put(extId, {
    extId,
    clusterExtId: cluster.extId,
    name: container.name,
    policy: {},
  })
  return container
}

async function seedDatastore(
  ctx: SeedContext,
  cluster: Cluster,
  container: StorageContainer,
  host: { readonly hostName: string; readonly address: string },
): Promise<void> {
  const hostExtId = seedId(`host/${host.hostName}`)
  const spec = {
    clusterExtId: cluster.extId,
    hostExtId,
    containerExtId: container.extId,
    datastoreName: container.name,
    isReadOnly: false,
  }
  await ctx.store.insert(DataStore, {
    ...spec,
    extId: seedId(`datastore/${host.hostName}/${container.name}`),
    tenantId: ctx.tenantId,
    containerName: container.name,
    hostIpAddress: host.address,
  } as DataStore)
  await ctx.world.collection('hardware.datastores').put(`${hostExtId}/${container.name}`, spec)
}

async function seedBaseline(ctx: SeedContext): Promise<string> {
  const extId = seedId('cluster-profile/baseline')
  await ctx.store.insert(ClusterProfile, {
    extId,
    tenantId: ctx.tenantId,
    name: 'baseline',
    description: 'Time, names and mail for every cluster',
    createTime: ctx.ago(40 * 24 * 3600),
    lastUpdateTime: ctx.ago(40 * 24 * 3600),
    createdBy: ctx.adminId,
    lastUpdatedBy: ctx.adminId,
    allowedOverrides: ['NTP_SERVER_CONFIG'],
    ntpServerIpList,
    nameServerIpList,
    smtpServer,
  } as ClusterProfile)
  return extId
}
