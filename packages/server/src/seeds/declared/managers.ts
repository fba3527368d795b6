import type { ValueOf } from '@hyperplane/contract'
import { IPConfig } from '@hyperplane/contract/networking/shapes'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { validateBody } from '../../core/input/validate.ts'
import { formatAddress } from '../../core/ip-address.ts'
import { formatTime } from '../../core/time/clock.ts'
import {
  checkTargetLocation,
  minutesBetween,
  refuseTooMany,
  requireEligible,
} from '../../domains/platform/backup/target-rules.ts'
import { ownManager } from '../../domains/platform/own-manager.ts'
import { demoBucket, seedBucket, seedClusterLogin, seedOwnBackup } from '../demo/backups.ts'
import { nameOwnManager } from '../demo/platform.ts'
import { seedRemoteManager } from '../demo/registrations.ts'
import { seedRemoteNetworks } from '../demo/remote-networks.ts'
import type { Declared, DeclaredOf } from '../format.ts'
import { addressIn, prefixIn } from '../readable.ts'
import type { Filling } from './filling.ts'
import { familyOf } from './networks.ts'

type IpConfig = ValueOf<typeof IPConfig>
type Location = BackupTarget['location']

const minute = 60_000

export async function fillManagers(filling: Filling, declared: Declared): Promise<void> {
  const { manager } = declared
  if (manager !== undefined) await filling.item('manager', () => nameOwnManager(filling.ctx, manager.name))
  await fillOthers(filling, declared.domainManagers)
  await filling.each('buckets', declared.buckets, ({ name, endpoint = demoBucket.endpoint, address }) =>
    seedBucket(filling.ctx, { bucket: name, endpoint, ...defined({ address }) }),
  )
  await fillBackupTargets(filling, declared.backupTargets)
}

const fillOthers = (filling: Filling, managers: Declared['domainManagers']): Promise<void> =>
  filling.each('domainManagers', managers, async (item, path) => {
    const { name, extId = seedId(`manager/${name}`), size = 'SMALL', isRegistered = true } = item
    const own = addressIn(item.address, `${path}.address`, filling, 'IPV4')
    const nodes = item.nodeAddresses?.map((text, index) =>
      addressIn(text, `${path}.nodeAddresses[${index}]`, filling, 'IPV4'),
    ) ?? [{ ...own, value: own.value + 1n }]
    await seedRemoteManager(filling.ctx, {
      extId,
      name,
      address: formatAddress(own),
      nodeAddresses: nodes.map(formatAddress),
      size,
      isRegistered,
    })
    await fillSite(filling, item, extId, path)
  })

async function fillSite(
  filling: Filling,
  item: DeclaredOf<'domainManagers'>,
  extId: string,
  path: string,
): Promise<void> {
  const { name, subnets = [], vtepGateways = [], vpnConnections = [] } = item
  if (subnets.length + vtepGateways.length + vpnConnections.length === 0) return
  await seedRemoteNetworks(filling.ctx, extId, {
    cluster: `${name}-01`,
    vpc: name,
    subnets: subnets.map((subnet, index) => {
      const where = `${path}.subnets[${index}]`
      const { family } = prefixIn(subnet.ipSubnet, `${where}.ipSubnet`, filling)
      const config = { [family === 'IPV4' ? 'ipv4' : 'ipv6']: familyOf(filling, subnet, where, 0n, family) }
      return { name: subnet.name, guests: subnet.guests ?? 0, ipConfig: completed(config) }
    }),
    vtepGateways: vtepGateways.map((gateway, index) => ({
      name: gateway.name,
      address: formatAddress(addressIn(gateway.address, `${path}.vtepGateways[${index}].address`, filling)),
    })),
    vpnConnections,
  })
}

function completed(config: object): IpConfig {
  const options = { unknown: 'refuse', version: '', sparse: false, defaults: true } as const
  return validateBody(IPConfig, config, options).value as IpConfig
}

/** By default the target has no backup yet; its next run creates the first one. */
async function fillBackupTargets(filling: Filling, targets: Declared['backupTargets']): Promise<void> {
  const { ctx } = filling
  for (const [index, item] of (targets ?? []).entries()) {
    const path = `backupTargets[${index}]`
    await filling.item(path, async () => {
      const { cluster: name, bucket, rpoInMinutes = 60 } = item
      if ((name === undefined) === (bucket === undefined)) filling.refuse(path, 'expected either cluster or bucket')
      const cluster = name === undefined ? undefined : await filling.cluster(name, `${path}.cluster`)
      const location =
        cluster === undefined
          ? bucketLocation(filling, bucket as string, rpoInMinutes, path)
          : clusterLocation(cluster.extId)
      if (cluster === undefined && item.hasBackup === true)
        filling.refuse(`${path}.hasBackup`, 'expected only with a cluster')
      if (cluster !== undefined && item.rpoInMinutes !== undefined)
        filling.refuse(`${path}.rpoInMinutes`, 'expected only with a bucket: a cluster is backed up to every 30 min')
      checkTargetLocation(location)
      await requireEligible(ctx, location)
      await refuseTooMany(ctx.store, location)
      if (cluster !== undefined)
        await seedClusterLogin(ctx, cluster.extId, cluster.network?.externalAddress?.ipv4?.value ?? '')
      const manager = await ownManager(ctx.store)
      await ctx.store.insert(BackupTarget, {
        extId: cluster?.extId ?? seedId(`backup-target/${bucket}`),
        tenantId: ctx.tenantId,
        domainManagerExtId: manager.extId,
        location,
        isBackupPaused: false,
        backupPauseReason: '',
        nextRunTime: formatTime(ctx.clock.now() + minutesBetween(location) * minute),
      })
    })
  }
}

export async function fillBackups(filling: Filling, targets: Declared['backupTargets']): Promise<void> {
  const { ctx } = filling
  for (const [index, { cluster: name, hasBackup }] of (targets ?? []).entries()) {
    if (name === undefined || hasBackup !== true) continue
    const path = `backupTargets[${index}]`
    await filling.item(path, async () => {
      const { extId } = await filling.cluster(name, `${path}.cluster`)
      await ctx.store.update(BackupTarget, extId, await seedOwnBackup(ctx, extId, `${name}/1`))
    })
  }
}

const clusterLocation = (extId: string): Location => ({
  $objectType: 'platform.v4.management.ClusterLocation',
  config: { $objectType: 'platform.v4.management.ClusterReference', extId },
})

function bucketLocation(filling: Filling, bucket: string, rpoInMinutes: number, path: string): Location {
  const { ctx } = filling
  const found = ctx.world.collection<{ readonly service: string }>('objectStore.buckets').get(bucket)
  const service = ctx.world
    .collection<{ readonly addresses: readonly string[] }>('objectStore.services')
    .get(found?.service ?? '')
  const [endpoint] = service?.addresses ?? []
  if (endpoint === undefined)
    return filling.refuse(`${path}.bucket`, `"${bucket}" is none of the buckets that there are`)
  return {
    $objectType: 'platform.v4.management.ObjectStoreLocation',
    providerConfig: {
      $objectType: 'platform.v4.management.GenericS3Config',
      bucketName: bucket,
      region: 'us-east-1',
      connectionConfig: { ipAddressOrHostname: { fqdn: { value: endpoint } }, port: 443 },
      credentials: {
        $objectType: 'platform.v4.management.AccessKeyCredentials',
        accessKeyId: demoBucket.accessKeyId,
        secretAccessKey: demoBucket.secretAccessKey,
      },
    },
    backupPolicy: { rpoInMinutes },
  }
}
