/** Images as if downloaded; two more are on the cluster, but unknown to this manager. Source: behaviour vmm.md 4. */

import { Image } from '@hyperplane/contract/vmm/content/image'
import { ImageRateLimitPolicy } from '@hyperplane/contract/vmm/content/image-rate-limit-policy'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import type { UrlFact } from '../../drivers/simulated/content/urls.ts'
import { type FileFact, fileKey } from '../../drivers/simulated/content-source.ts'
import type { SeedContext } from '../context.ts'

const GiB = 1024 ** 3
const day = 24 * 3600

interface Described {
  readonly name: string
  readonly description: string
  readonly type: 'DISK_IMAGE' | 'ISO_IMAGE'
  readonly sizeGiB: number
  readonly categories?: readonly string[]
}

const inventory: readonly Described[] = [
  {
    name: 'ubuntu-24.04.qcow2',
    description: 'Ubuntu Server 24.04 LTS, cloud image',
    type: 'DISK_IMAGE',
    sizeGiB: 2,
    categories: ['Environment/Dev'],
  },
  { name: 'centos-9.qcow2', description: 'CentOS Stream 9, cloud image', type: 'DISK_IMAGE', sizeGiB: 2 },
  { name: 'windows-2022.qcow2', description: 'Windows Server 2022, generalised', type: 'DISK_IMAGE', sizeGiB: 10 },
  { name: 'ubuntu-24.04-live.iso', description: 'Ubuntu Server 24.04 LTS, installer', type: 'ISO_IMAGE', sizeGiB: 1 },
]
const onClusterOnly = ['golden-2019.qcow2', 'rescue.iso']

const clusterExtId = seedId('cluster/hp-native-01')

export async function seedImages(ctx: SeedContext): Promise<void> {
  for (const [index, described] of inventory.entries()) {
    const { name, sizeGiB, categories = [], ...more } = described
    await seedImage(ctx, {
      ...more,
      name: ctx.nameOf(name),
      key: name,
      sizeBytes: sizeGiB * GiB,
      clusterExtIds: [clusterExtId],
      categoryExtIds: categories.map((category) => seedId(`category/${category}`)),
      secondsSinceCreation: 20 * day - index * 60,
    })
  }
  for (const name of onClusterOnly) {
    const type = name.endsWith('.iso') ? 'ISO_IMAGE' : 'DISK_IMAGE'
    await putFile(ctx, seedId(`image/${name}`), clusterExtId, {
      content: contentOf(urlOf(name), (type === 'ISO_IMAGE' ? 1 : 2) * GiB),
      record: { name: ctx.nameOf(name), type },
    })
  }
}

/** No cluster of the demo carries its category. */
export async function seedRateLimit(ctx: SeedContext): Promise<void> {
  const at = ctx.ago(20 * day)
  await ctx.store.insert(ImageRateLimitPolicy, {
    extId: seedId('image-rate-limit-policy/branch-offices'),
    tenantId: ctx.tenantId,
    name: ctx.nameOf('branch-offices'),
    description: 'Slow links of branch offices',
    rateLimitKbps: 100_000,
    clusterEntityFilter: { type: 'CATEGORIES_MATCH_ALL', categoryExtIds: [seedId('category/Site/branch')] },
    createTime: at,
    lastUpdateTime: at,
    ownerExtId: ctx.adminId,
    ownerName: 'admin',
  })
}

export interface SeedImage {
  readonly name: string
  /** Key from which its URL and, by default, its id are derived. Default: the name. */
  readonly key?: string
  readonly extId?: string
  readonly url?: string
  readonly description?: string
  readonly type: 'DISK_IMAGE' | 'ISO_IMAGE'
  readonly sizeBytes: number
  readonly clusterExtIds: readonly string[]
  readonly categoryExtIds: readonly string[]
  readonly secondsSinceCreation: number
}

export async function seedImage(ctx: SeedContext, described: SeedImage): Promise<void> {
  const { name, key = name, extId = seedId(`image/${key}`), description, type, sizeBytes } = described
  const { url = urlOf(key) } = described
  const content = contentOf(url, sizeBytes)
  for (const cluster of described.clusterExtIds) await putFile(ctx, extId, cluster, { content })
  await ctx.world.collection<UrlFact>('content.urls').put(url, { content, isTold: true })
  const at = ctx.ago(described.secondsSinceCreation)
  await ctx.store.insert(Image, {
    extId,
    tenantId: ctx.tenantId,
    name,
    ...defined({ description }),
    type,
    source: { $objectType: 'vmm.v4.content.UrlSource', url, shouldAllowInsecureUrl: false },
    sizeBytes,
    createTime: at,
    lastUpdateTime: at,
    ownerExtId: ctx.adminId,
    ownerName: 'admin',
    clusterLocationExtIds: [...described.clusterExtIds],
    ...(described.categoryExtIds.length === 0 ? {} : { categoryExtIds: [...described.categoryExtIds] }),
  })
}

const contentOf = (url: string, sizeBytes: number): FileFact['content'] => ({ seed: url, sizeBytes })

const putFile = (ctx: SeedContext, imageExtId: string, cluster: string, file: FileFact): Promise<void> =>
  ctx.world
    .collection<FileFact>('content.files')
    .put(fileKey({ imageExtId, clusterExtId: cluster }), { url: file.content.seed, ...file })

const urlOf = (name: string): string => `https://images.example.com/${name}`
