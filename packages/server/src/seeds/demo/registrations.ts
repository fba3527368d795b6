/** Source: behaviour platform.md 13. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Registration } from '@hyperplane/contract/platform/registration'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { managerOfRemote } from '../../domains/platform/manager-of-remote.ts'
import { asAddress } from '../../domains/platform/registration-rules.ts'
import { detailsOf, newRegistration, type RegistrationRow } from '../../domains/registrations/registrations.ts'
import { hostsOf } from '../../domains/storage-space/capacity.ts'
import type { RemoteSide } from '../../drivers/remote-managers.ts'
import { factoryLogin } from '../../drivers/simulated/cluster-formation.ts'
import { remoteCertificate, remotePasswordDigest, remoteSides } from '../../drivers/simulated/remote-managers.ts'
import type { SeedContext } from '../context.ts'
import { drSite, seedRemoteNetworks } from './remote-networks.ts'

export const demoRemoteLogin = factoryLogin

export const lab = { name: 'lab-03', address: '10.44.5.10', version: '7.3', nodes: ['10.44.5.31'] } as const

export async function seedRegistrations(ctx: SeedContext): Promise<void> {
  for (const name of ['hp-native-01', 'hp-extern-01', 'cloud-1']) {
    const cluster = await ctx.store.get(Cluster, seedId(`cluster/${name}`))
    if (cluster === undefined) throw new Error(`the seed of registrations finds no cluster ${name}`)
    await seedRegistrationOf(ctx, cluster)
  }
  await seedRemoteManager(ctx, {
    extId: seedId('manager/dr-site'),
    name: 'dr-site',
    address: '10.46.1.9',
    nodeAddresses: ['10.46.1.10'],
    size: 'SMALL',
    isRegistered: true,
  })
  await seedRemoteNetworks(ctx, seedId('manager/dr-site'), drSite)
  await seedUnregisteredSide(ctx, lab)
}

interface SeedManager {
  readonly extId: string
  readonly name: string
  readonly address: string
  readonly nodeAddresses: readonly string[]
  readonly size: NonNullable<RemoteSide['manager']>['size']
  readonly isRegistered: boolean
}

/** Seeds another manager in the world and, if it is registered, its rows here. */
export async function seedRemoteManager(ctx: SeedContext, described: SeedManager): Promise<void> {
  const { extId, name, address, nodeAddresses, size, isRegistered } = described
  const manager = { size, isHighlyAvailable: false }
  const type = 'DOMAIN_MANAGER'
  if (!isRegistered) {
    await seedSide(ctx, extId, { name, type, address, version: ctx.version, nodeAddresses, trusts: [], manager })
    return
  }
  const remote: RemoteSide = { extId, name, type, version: ctx.version, nodeAddresses, objections: [], manager }
  await ctx.store.insert(DomainManager, {
    ...managerOfRemote(remote, address, ctx),
    createdTime: ctx.ago(8 * 24 * 3600),
  })
  await seedRegistration(
    ctx,
    {
      extId,
      name,
      clusterType: type,
      clusterVersion: ctx.version,
      externalAddress: asAddress(address),
      nodeIpAddresses: nodeAddresses.map(asAddress),
    },
    manager,
  )
}

interface UnregisteredSide {
  readonly name: string
  readonly extId?: string
  readonly address: string
  readonly version: string
  readonly nodes: readonly string[]
}

export const seedUnregisteredSide = (ctx: SeedContext, side: UnregisteredSide): Promise<void> =>
  seedSide(ctx, side.extId ?? seedId(`cluster/${side.name}`), {
    name: side.name,
    type: 'AOS',
    address: side.address,
    version: side.version,
    nodeAddresses: side.nodes,
    trusts: [],
  })

export async function seedRegistrationOf(ctx: SeedContext, cluster: Cluster): Promise<void> {
  await seedRegistration(ctx, detailsOf(cluster, await hostsOf(ctx.store, cluster.extId)))
}

async function seedRegistration(
  ctx: SeedContext,
  details: NonNullable<RegistrationRow['remoteClusterDetails']> & { readonly extId: string },
  manager?: RemoteSide['manager'],
): Promise<void> {
  const address = details.externalAddress.ipv4?.value ?? ''
  const trusted = {
    tenantId: ctx.tenantId,
    domainManagerExtId: ctx.managerExtId,
    address,
    certificate: remoteCertificate(details.extId),
  }
  await ctx.store.insert(Registration, { ...newRegistration(details, trusted), connectivityStatus: 'CONNECTED' })
  await seedSide(ctx, details.extId, {
    name: details.name ?? '',
    type: details.clusterType ?? 'AOS',
    address,
    version: details.clusterVersion ?? '',
    nodeAddresses: (details.nodeIpAddresses ?? []).flatMap(({ ipv4 }) => ipv4?.value ?? []),
    trusts: [ctx.managerExtId],
    ...defined({ manager }),
  })
}

type Side = Parameters<ReturnType<typeof remoteSides>['put']>[1]

async function seedSide(
  ctx: SeedContext,
  extId: string,
  side: Omit<Side, 'certificate' | 'passwordDigest' | 'username'>,
): Promise<void> {
  await remoteSides(ctx.world).put(extId, {
    ...side,
    username: demoRemoteLogin.username,
    passwordDigest: remotePasswordDigest(extId, demoRemoteLogin.password),
    certificate: remoteCertificate(extId),
  })
}
