/**
 * Backups that the demo can restore from: one of this manager on its hosting cluster, three of the remote manager
 * `dr-site` in a bucket. Real files in the real format; their parts hold no more than a word, since there is no state
 * behind them. Source: behaviour platform.md 8, 13.
 */
import { createHash } from 'node:crypto'
import type { EntityOf } from '@hyperplane/contract'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import type { BucketPlace, Place } from '../../drivers/object-store.ts'
import type { SeedContext } from '../seed.ts'
import { seedId } from '../seed.ts'
import { writeRestorePoint } from './backup/writer.ts'
import { describeOwn, ownManagerExtId, sizeOfTier } from './domain-manager.ts'

/** What the world's description tells about its object store. */
export const demoBucket = {
  bucket: 'hyperplane-demo',
  endpoint: 's3.simulated.example',
  address: '10.44.1.50',
  accessKeyId: 'HYPERPLANEDEMOKEY01',
  secretAccessKey: 'demo-secret-of-the-simulated-object-store',
} as const

/** How `hp-native-01` is reached by an instance that does not know it. */
export const demoClusterLogin = { address: '10.44.1.10', username: 'admin', password: 'Simulated.Cluster.1' } as const

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
/** The demo has no secrets to protect; a real installation makes its backup key at the first start. */
const demoBackupKey = createHash('sha256').update('hyperplane demo backup key').digest()

const hour = 3600

export async function seedBackups(ctx: SeedContext): Promise<void> {
  const cluster = seedId('cluster/hp-native-01')
  await ctx.world.collection('objectStore.clusters').put(cluster, {
    address: demoClusterLogin.address,
    username: demoClusterLogin.username,
    password: sha256(demoClusterLogin.password),
  })
  await ctx.world.collection('objectStore.services').put('demo', {
    addresses: [demoBucket.endpoint, demoBucket.address, 's3.*.amazonaws.com'],
    certificate: 'public',
  })
  await ctx.world.collection('objectStore.buckets').put(demoBucket.bucket, {
    service: 'demo',
    keys: { [demoBucket.accessKeyId]: sha256(demoBucket.secretAccessKey) },
  })
  const bucket: BucketPlace = {
    kind: 'bucket',
    endpoint: demoBucket.endpoint,
    port: 443,
    bucket: demoBucket.bucket,
    region: 'us-east-1',
    accessKeyId: demoBucket.accessKeyId,
    secretAccessKey: demoBucket.secretAccessKey,
    skipsCertificateValidation: false,
  }
  const own = (await ctx.store.get(DomainManager, ownManagerExtId)) as EntityOf<typeof DomainManager>
  await write(
    ctx,
    { kind: 'cluster', clusterExtId: cluster },
    describeOwn(own, sizeOfTier[ctx.tier], ctx.version),
    'own',
    ctx.ago(hour / 2),
  )
  for (const [name, hours] of [
    ['dr-site-1', 3],
    ['dr-site-2', 2],
    ['dr-site-3', 1],
  ] as const) {
    await write(ctx, bucket, remoteManager(ctx, own), name, ctx.ago(hours * hour))
  }
}

async function write(
  ctx: SeedContext,
  place: Place,
  domainManager: EntityOf<typeof DomainManager>,
  name: string,
  creationTime: string,
): Promise<void> {
  await writeRestorePoint(
    { store: ctx.drivers.objectStore, place },
    {
      restorePointExtId: seedId(`restore-point/${name}`),
      creationTime,
      productVersion: ctx.version,
      domainManager,
      backupKey: demoBackupKey,
      parts: [{ content: Buffer.from('A manager of the demo: nothing to restore.\n'), rows: {} }],
    },
  )
}

function remoteManager(ctx: SeedContext, own: EntityOf<typeof DomainManager>): EntityOf<typeof DomainManager> {
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
