/**
 * The images of the demo, as if they had been fetched; two more lie on the cluster that this manager does not know.
 * Source: behaviour vmm.md 4.
 */
import { Image } from '@hyperplane/contract/vmm/image'
import { digestsOf } from '../../drivers/simulated/content/bytes.ts'
import { type FileFact, fileKey, type UrlFact } from '../../drivers/simulated/content-source.ts'
import { type SeedContext, seedId } from '../seed.ts'

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
  for (const [index, described] of inventory.entries()) await seedImage(ctx, described, ctx.ago(20 * day - index * 60))
  for (const name of onClusterOnly) {
    await putFile(ctx, seedId(`image/${name}`), urlOf(name), (name.endsWith('.iso') ? 1 : 2) * GiB)
  }
}

async function seedImage(
  ctx: SeedContext,
  { name, description, type, sizeGiB, categories }: Described,
  at: string,
): Promise<void> {
  const extId = seedId(`image/${name}`)
  const url = urlOf(name)
  const content = await putFile(ctx, extId, url, sizeGiB * GiB)
  await ctx.world.collection<UrlFact>('content.urls').put(url, { content, isTold: true })
  await ctx.store.insert(Image, {
    extId,
    tenantId: ctx.tenantId,
    name,
    description,
    type,
    source: { $objectType: 'vmm.v4.content.UrlSource', url, shouldAllowInsecureUrl: false },
    checksum: { $objectType: 'vmm.v4.content.ImageSha256Checksum', hexDigest: digestsOf(content).sha256 as string },
    sizeBytes: content.sizeBytes,
    createTime: at,
    lastUpdateTime: at,
    ownerExtId: ctx.adminId,
    ownerName: 'admin',
    clusterLocationExtIds: [clusterExtId],
    ...(categories === undefined
      ? {}
      : { categoryExtIds: categories.map((category) => seedId(`category/${category}`)) }),
  })
}

async function putFile(
  ctx: SeedContext,
  imageExtId: string,
  url: string,
  sizeBytes: number,
): Promise<FileFact['content']> {
  const content = { seed: url, sizeBytes }
  await ctx.world.collection<FileFact>('content.files').put(fileKey({ imageExtId, clusterExtId }), { content, url })
  return content
}

const urlOf = (name: string): string => `https://images.example.com/${name}`
