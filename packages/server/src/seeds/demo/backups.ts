/** Real backups, encrypted with the backup key of this instance: one of this manager, three of `dr-site`. Source: platform.md 8, 13. */

import { createHash } from 'node:crypto'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { newDataKey } from '../../archive/cipher.ts'
import type { Manifest } from '../../archive/format.ts'
import { type Line, packParts } from '../../archive/pack.ts'
import { backupSealer, reseal } from '../../archive/reseal.ts'
import { entityLine, metaLine } from '../../archive/rows.ts'
import { writeRestorePoint } from '../../archive/writer.ts'
import { seedId } from '../../core/ids/named-id.ts'
import type { Snapshots } from '../../core/ports.ts'
import { sizeOfBackup } from '../../domains/platform/backup/copy.ts'
import { describeOwn, sizeOfTier } from '../../domains/platform/manager-size.ts'
import { ownManager } from '../../domains/platform/own-manager.ts'
import type { BucketPlace, Place } from '../../drivers/object-store.ts'
import { Fact } from '../../drivers/simulated/world.ts'
import type { SeedContext } from '../context.ts'
import { demoRemoteLogin } from './registrations.ts'

export const demoBucket = {
  bucket: 'hyperplane-demo',
  endpoint: 's3.simulated.example',
  address: '10.44.1.50',
  accessKeyId: 'HYPERPLANEDEMOKEY01',
  secretAccessKey: 'demo-secret-of-the-simulated-object-store',
} as const

/** Address and login of `hp-native-01` for instances where it is not registered. */
export const demoClusterLogin = { address: '10.44.1.10', ...demoRemoteLogin } as const

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

const minute = 60
const hour = 60 * minute

export async function seedBackups(ctx: SeedContext): Promise<void> {
  const cluster = seedId('cluster/hp-native-01')
  await seedClusterLogin(ctx, cluster, demoClusterLogin.address)
  await seedBucket(ctx, demoBucket)
  const bucket: BucketPlace = {
    kind: 'bucket',
    endpoint: demoBucket.endpoint,
    port: 443,
    bucket: demoBucket.bucket,
    region: 'us-east-1',
    style: 'path',
    accessKeyId: demoBucket.accessKeyId,
    secretAccessKey: demoBucket.secretAccessKey,
    skipsCertificateValidation: false,
  }
  const own = await ownManager(ctx.store)
  const lastRun = await seedOwnBackup(ctx, cluster, 'own')
  await ctx.store.insert(BackupTarget, {
    extId: cluster,
    tenantId: ctx.tenantId,
    domainManagerExtId: own.extId,
    location: {
      $objectType: 'platform.v4.management.ClusterLocation',
      config: { $objectType: 'platform.v4.management.ClusterReference', extId: cluster },
    },
    isBackupPaused: false,
    backupPauseReason: '',
    ...lastRun,
  })
  for (const [name, hours] of [
    ['dr-site-1', 3],
    ['dr-site-2', 2],
    ['dr-site-3', 1],
  ] as const) {
    await write(ctx, bucket, remoteManager(ctx, own), name, ctx.ago(hours * hour))
  }
}

/** One minute old, with everything seeded so far. @param name the id of the restore point derives from it */
export async function seedOwnBackup(ctx: SeedContext, clusterExtId: string, name: string) {
  const described = describeOwn(await ownManager(ctx.store), sizeOfTier[ctx.tier], ctx.version)
  const lastSyncTime = ctx.ago(minute)
  const manifest = await write(ctx, { kind: 'cluster', clusterExtId }, described, name, lastSyncTime)
  return { lastSyncTime, lastSizeBytes: sizeOfBackup(manifest), nextRunTime: ctx.ago(minute - 30 * minute) }
}

export const seedClusterLogin = (ctx: SeedContext, clusterExtId: string, address: string): Promise<void> =>
  ctx.world.collection('objectStore.clusters').put(clusterExtId, {
    address,
    username: demoClusterLogin.username,
    password: sha256(demoClusterLogin.password),
  })

interface SeedBucket {
  readonly bucket: string
  readonly endpoint: string
  readonly address?: string
}

export async function seedBucket(ctx: SeedContext, { bucket, endpoint, address }: SeedBucket): Promise<void> {
  const service = endpoint === demoBucket.endpoint ? 'demo' : endpoint
  const services = ctx.world.collection<object>('objectStore.services')
  const regional = service === 'demo' ? ['s3.*.amazonaws.com'] : []
  if (services.get(service) === undefined)
    await services.put(service, {
      addresses: [endpoint, ...(address === undefined ? [] : [address]), ...regional],
      certificate: 'public',
    })
  await ctx.world.collection('objectStore.buckets').put(bucket, {
    service,
    keys: { [demoBucket.accessKeyId]: sha256(demoBucket.secretAccessKey) },
  })
}

async function write(
  ctx: SeedContext,
  place: Place,
  domainManager: DomainManager,
  name: string,
  creationTime: string,
): Promise<Manifest> {
  const restorePointExtId = seedId(`restore-point/${name}`)
  const dataKey = newDataKey()
  return writeRestorePoint(
    { store: ctx.drivers.objectStore, place },
    {
      restorePointExtId,
      creationTime,
      productVersion: ctx.version,
      domainManager,
      backupKey: ctx.backup.key,
      dataKey,
      parts: packParts(await linesOf(ctx, domainManager, dataKey), dataKey, restorePointExtId),
    },
  )
}

/** Backups of the unfinished world, whose transaction has not reached the file yet. */
export const seedSnapshots = (ctx: SeedContext): Snapshots => ({
  backupKey: ctx.backup.key,
  async *take(restorePointExtId, dataKey) {
    yield* packParts(await linesOf(ctx, await ownManager(ctx.store), dataKey), dataKey, restorePointExtId)
  },
  // Trial restores find damage at a real location.
  check: async () => undefined,
  rehearse: async () => undefined,
})

/** A preset is small enough to be read at once. */
async function linesOf(ctx: SeedContext, domainManager: DomainManager, dataKey: Buffer): Promise<Line[]> {
  const inBackup = backupSealer(dataKey)
  const lines: Line[] = [{ section: 'manager', kind: 'meta', pieces: metaLine('tenant', ctx.tenantId) }]
  const facts: Line[] = []
  for (const { resource, secrets } of ctx.backup.tables.values()) {
    const { kind } = resource
    const isFact = kind === Fact.kind
    for (const found of await ctx.store.find(resource)) {
      const isOwn = kind === DomainManager.kind && (found as DomainManager).isOwn === true
      const entity = structuredClone(isOwn ? domainManager : found)
      reseal({ kind, secrets }, entity, ctx.backup, inBackup)
      const pieces = entityLine(kind, 1, false, JSON.stringify(entity))
      if (isFact) facts.push({ section: 'world', kind, pieces })
      else lines.push({ section: 'manager', kind, pieces })
    }
  }
  return [...lines, ...facts]
}

function remoteManager(ctx: SeedContext, own: DomainManager): DomainManager {
  const { hostingClusterExtId: _, ...rest } = describeOwn(own, 'SMALL', ctx.version)
  return {
    ...rest,
    extId: seedId('manager/dr-site'),
    config: { ...rest.config, name: 'dr-site' },
    network: {
      ...rest.network,
      externalAddress: { ipv4: { value: '10.46.1.9', prefixLength: 32 } },
      fqdn: 'dr-site.example.com',
    },
    nodeExtIds: [seedId('manager/dr-site/node-1')],
    createdTime: ctx.ago(90 * 24 * hour),
  }
}
