/** Categories, managers, history and backups of a new world. Source: behaviour platform.md 13, conventions.md 24. */

import { Category } from '@hyperplane/contract/platform/category'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { ExternalStorage } from '@hyperplane/contract/platform/external-storage'
import { Product } from '@hyperplane/contract/platform/product'
import { defined } from '../../core/defined.ts'
import { derivedId, seedId } from '../../core/ids/named-id.ts'
import { newProducts, sizeOfTier } from '../../domains/platform/manager-size.ts'
import { ownManager } from '../../domains/platform/own-manager.ts'
import type { SeedContext } from '../context.ts'
import { seedBackups } from './backups.ts'
import { seedRegistrations } from './registrations.ts'
import { seedTasks } from './tasks.ts'

const demoCategories = [
  ['CostCenter', 'Research', 'Costs of the research department'],
  ['Environment', 'Dev'],
  ['Environment', 'Test'],
  ['Environment', 'Production'],
  ['AppTier', 'Web'],
  ['AppTier', 'Database'],
  ['Backup', 'Gold'],
  ['Backup', 'Silver'],
  ['Site', 'branch'],
  ['KubernetesCluster', 'dev'],
] as const
const systemCategories = [
  ['OSType', 'Linux'],
  ['OSType', 'Windows'],
] as const

export async function seedCategories(ctx: SeedContext, inventory: 'demo' | 'empty'): Promise<void> {
  if (inventory === 'demo')
    for (const [key, value, description] of demoCategories) await seedCategory(ctx, { key, value, description })
  for (const [key, value] of systemCategories) await seedCategory(ctx, { key, value, type: 'SYSTEM' })
}

/** System categories must be last in lists: clients often use the first one. */
export async function moveSystemCategories(ctx: SeedContext): Promise<void> {
  for (const [key, value] of systemCategories) {
    await ctx.store.remove(Category, seedId(`category/${key}/${value}`))
    await seedCategory(ctx, { key, value, type: 'SYSTEM' })
  }
}

interface SeedCategory {
  readonly extId?: string | undefined
  readonly key: string
  readonly value: string
  readonly description?: string | undefined
  readonly type?: 'USER' | 'SYSTEM'
}

export async function seedCategory(ctx: SeedContext, described: SeedCategory): Promise<void> {
  const { key, value, extId = seedId(`category/${key}/${value}`), description, type = 'USER' } = described
  await ctx.store.insert(Category, {
    extId,
    tenantId: ctx.tenantId,
    key,
    value,
    type,
    ...defined({ description }),
    ownerUuid: ctx.adminId,
  })
}

export async function seedBase(ctx: SeedContext): Promise<void> {
  await ctx.store.insert(DomainManager, {
    ...managerBase(ctx, `hyperplane-${ctx.managerExtId.slice(0, 8)}`),
    network: baseNetwork,
    isRegisteredWithHostingCluster: false,
  })
  const manager = { extId: ctx.managerExtId, tenantId: ctx.tenantId }
  const idOf = (name: string): string => derivedId('product', ctx.managerExtId, name)
  for (const row of newProducts(manager, ctx.version, ctx.ago(0), idOf)) await ctx.store.insert(Product, row)
}

export async function nameOwnManager(ctx: SeedContext, name: string): Promise<void> {
  // Found by `isOwn`: an imported world has the manager id of the exported one.
  const manager = await ownManager(ctx.store)
  await ctx.store.replace(DomainManager, { ...manager, config: { ...manager.config, name } })
}

export async function seedDemo(ctx: SeedContext): Promise<void> {
  const base = managerBase(ctx, 'PC_10.44.1.9')
  await ctx.store.replace(DomainManager, {
    ...base,
    config: { ...base.config, resourceConfig: { containerExtIds: [seedId('container/hp-native-01/default')] } },
    network: demoNetwork,
    hostingClusterExtId: seedId('cluster/hp-native-01'),
    isRegisteredWithHostingCluster: true,
  })
  for (const storage of externalStorages)
    await ctx.store.insert(ExternalStorage, { ...storage, tenantId: ctx.tenantId })
  await seedTasks(ctx)
  await seedBackups(ctx)
  await seedRegistrations(ctx)
}

export async function seedHostingCluster(ctx: SeedContext, clusterExtId: string): Promise<void> {
  const manager = await ctx.store.get(DomainManager, ctx.managerExtId)
  if (manager === undefined || manager.hostingClusterExtId !== undefined) return
  await ctx.store.update(DomainManager, ctx.managerExtId, {
    hostingClusterExtId: clusterExtId,
    isRegisteredWithHostingCluster: true,
  })
}

function managerBase(ctx: SeedContext, name: string): Omit<DomainManager, 'network'> {
  return {
    extId: ctx.managerExtId,
    isOwn: true,
    tenantId: ctx.tenantId,
    config: {
      name,
      size: sizeOfTier[ctx.tier],
      buildInfo: { version: ctx.version },
      shouldEnableLockdownMode: false,
      bootstrapConfig: { environmentInfo: { type: 'ONPREM', providerType: 'NTNX', provisioningType: 'NATIVE' } },
    },
    nodeExtIds: [seedId('manager/node-1')],
    shouldEnableHighAvailability: false,
    createdTime: ctx.ago(9 * 24 * 3600),
  }
}

const ipv4 = (value: string) => ({ ipv4: { value, prefixLength: 32 } })

const TiB = 1024 ** 4

const externalStorages: readonly ExternalStorage[] = [
  {
    extId: seedId('external-storage/flash-01'),
    name: 'flash-01',
    providerType: 'PURE_STORAGE_FLASHARRAY',
    config: {
      $objectType: 'platform.v4.config.PureStorageFlashArrayConfig',
      address: ipv4('10.44.1.61'),
      id: seedId('external-storage/flash-01/array'),
      pod: { name: 'pod-01', podId: seedId('external-storage/flash-01/pod'), realm: 'default' },
    },
    totalCapacityBytes: 100 * TiB,
  },
  {
    extId: seedId('external-storage/flex-01'),
    name: 'flex-01',
    providerType: 'DELL_POWERFLEX',
    config: {
      $objectType: 'platform.v4.config.DellPowerflexConfig',
      address: ipv4('10.44.1.71'),
      storagePool: {
        name: 'pool-01',
        protectionDomainName: 'domain-01',
        storagePoolId: seedId('external-storage/flex-01/pool'),
      },
      systemId: seedId('external-storage/flex-01/system'),
    },
    totalCapacityBytes: 50 * TiB,
  },
]

const baseNetwork = {
  externalAddress: ipv4('10.44.1.9'),
  fqdn: 'manager.example.com',
  nameServers: [ipv4('10.44.1.2'), ipv4('10.44.1.3')],
  ntpServers: [{ fqdn: { value: 'ntp.example.com' } }],
  externalNetworks: [],
}

const demoNetwork = {
  ...baseNetwork,
  externalNetworks: [
    {
      defaultGateway: ipv4('10.44.1.1'),
      subnetMask: ipv4('255.255.255.0'),
      ipRanges: [{ begin: ipv4('10.44.1.9'), end: ipv4('10.44.1.9') }],
      networkExtId: seedId('subnet/vlan-200-static'),
    },
  ],
}
