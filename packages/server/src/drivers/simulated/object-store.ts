/**
 * The simulated places of backups: real files below the world's folder, behind the doors of a cluster or of an S3 service
 * whose buckets, keys and faults are facts of the world.
 */
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { type BucketPlace, type ObjectStore, ObjectStoreError, type Place } from '../object-store.ts'
import type { SimulatedWorld } from './world.ts'

/** An S3 service of the world, by name. */
export interface S3Service {
  /** Host names and addresses under which it answers; `s3.*.amazonaws.com` stands for every region. */
  readonly addresses: readonly string[]
  /** `private`: its certificate comes from an authority that only the client's own certificate names. */
  readonly certificate: 'public' | 'private'
  readonly fault?: 'unreachable'
}

/** A bucket, by name. */
export interface Bucket {
  readonly service: string
  /** Access key id -> SHA-256 of the secret, in hex. */
  readonly keys: Readonly<Record<string, string>>
  readonly capacityBytes?: number
  readonly fault?: 'accessDenied'
}

/** How a cluster is reached from outside, by its id. */
export interface ClusterDoor {
  readonly address: string
  readonly username: string
  /** SHA-256, in hex. */
  readonly password: string
  readonly fault?: 'unreachable'
}

export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

export function createObjectStore(world: SimulatedWorld, settings: { readonly folder: string }): ObjectStore {
  const services = world.collection<S3Service>('objectStore.services')
  const buckets = world.collection<Bucket>('objectStore.buckets')
  const doors = world.collection<ClusterDoor>('objectStore.clusters')

  /** The folder of a place, once its door has opened. */
  function folderOf(place: Place): { folder: string; capacityBytes: number } {
    if (place.kind === 'bucket') return bucketFolder(place)
    const door =
      place.kind === 'cluster'
        ? [...doors.all()].find(([extId]) => extId === place.clusterExtId)
        : [...doors.all()].find(([, { address }]) => address === place.address)
    if (door === undefined || door[1].fault === 'unreachable')
      throw new ObjectStoreError('unreachable', 'no answer within 10 s')
    const [clusterExtId, { username, password }] = door
    if (place.kind === 'remoteCluster' && (place.username !== username || digestOf(place.password) !== password)) {
      throw new ObjectStoreError('accessDenied', 'the cluster refused the credentials')
    }
    return {
      folder: join(settings.folder, 'clusters', clusterExtId, 'backups'),
      capacityBytes: Number.POSITIVE_INFINITY,
    }
  }

  function bucketFolder(place: BucketPlace): { folder: string; capacityBytes: number } {
    const found = [...services.all()].find(([, service]) =>
      service.addresses.some((address) => answersAs(address, place.endpoint)),
    )
    if (found === undefined || found[1].fault === 'unreachable')
      throw new ObjectStoreError('unreachable', 'no answer within 10 s')
    const [name, service] = found
    if (service.certificate === 'private' && !place.skipsCertificateValidation && place.certificate === undefined) {
      throw new ObjectStoreError('tlsFailed', 'the certificate comes from an unknown authority')
    }
    const bucket = buckets.get(place.bucket)
    const known = [...buckets.all().values()].filter((each) => each.service === name).some((each) => isKey(each, place))
    if (!known) throw new ObjectStoreError('accessDenied', 'the access key is unknown, or its secret is wrong')
    if (bucket === undefined || bucket.service !== name)
      throw new ObjectStoreError('noSuchBucket', 'there is no such bucket')
    if (!isKey(bucket, place) || bucket.fault === 'accessDenied')
      throw new ObjectStoreError('accessDenied', 'the policy of the bucket refused access')
    return {
      folder: join(settings.folder, 'buckets', place.bucket),
      capacityBytes: bucket.capacityBytes ?? Number.POSITIVE_INFINITY,
    }
  }

  return {
    async list(place, prefix) {
      const { folder } = folderOf(place)
      const objects = []
      for (const file of await filesBelow(folder)) {
        const key = relative(folder, file).split(sep).join('/')
        if (key.startsWith(prefix)) objects.push({ key, sizeBytes: (await stat(file)).size })
      }
      return objects.sort((a, b) => (a.key < b.key ? -1 : 1))
    },
    async get(place, key) {
      const file = fileOf(folderOf(place).folder, key)
      try {
        return await readFile(file)
      } catch (cause) {
        throw new ObjectStoreError('noSuchObject', `there is no object ${key}`, cause)
      }
    },
    async put(place, key, content) {
      const { folder, capacityBytes } = folderOf(place)
      if (capacityBytes < Number.POSITIVE_INFINITY) {
        let used = content.byteLength
        for (const file of await filesBelow(folder)) used += (await stat(file)).size
        if (used > capacityBytes) throw new ObjectStoreError('full', `${used - capacityBytes} bytes are missing`)
      }
      const file = fileOf(folder, key)
      await mkdir(dirname(file), { recursive: true, mode: 0o700 })
      const handle = await open(`${file}.uploading`, 'w', 0o600)
      try {
        await handle.writeFile(content)
        await handle.sync()
      } finally {
        await handle.close()
      }
      // Whole or not at all, as an object store answers.
      await rename(`${file}.uploading`, file)
    },
    async remove(place, key) {
      await rm(fileOf(folderOf(place).folder, key), { force: true })
    },
  }
}

const answersAs = (address: string, endpoint: string): boolean =>
  address === endpoint || (address === 's3.*.amazonaws.com' && /^s3\.[a-z0-9-]+\.amazonaws\.com$/.test(endpoint))

const isKey = (bucket: Bucket, { accessKeyId, secretAccessKey }: BucketPlace): boolean =>
  accessKeyId !== undefined &&
  secretAccessKey !== undefined &&
  Object.hasOwn(bucket.keys, accessKeyId) &&
  bucket.keys[accessKeyId] === digestOf(secretAccessKey)

/** Keys are ours alone, but a path that leaves its folder would be a hole. */
function fileOf(folder: string, key: string): string {
  if (!/^[\w.-]+(?:\/[\w.-]+)*$/.test(key) || key.split('/').includes('..'))
    throw new Error(`no key of an object: ${key}`)
  return join(folder, key)
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.uploading'))
    .map((entry) => join(entry.parentPath, entry.name))
}
