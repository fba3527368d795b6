/** Access to the simulated places of backups. Source: behaviour platform.md 8 (place), 12 (faults). */
import { createHash } from 'node:crypto'
import { type BucketPlace, ObjectStoreError, type Place } from '../object-store.ts'
import { isDown } from './hardware-faults.ts'
import type { SimulatedWorld } from './world.ts'

export interface S3Service {
  /** Host names and addresses under which it answers; `s3.*.amazonaws.com` covers every region. */
  readonly addresses: readonly string[]
  /** `private`: only the authority that the client configures vouches for it. */
  readonly certificate: 'public' | 'private'
  readonly fault?: 'unreachable'
}

/** `bitFlip`, `tornUpload`: stores changed or truncated objects. `losesComplete`: `COMPLETE` is never found. `slow`: 1 KiB/s. */
export type PlaceFault =
  | 'accessDenied'
  | 'bitFlip'
  | 'full'
  | 'losesComplete'
  | 'slow'
  | 'slowDown'
  | 'tornUpload'
  | 'unreachable'

interface Faulty {
  readonly fault?: PlaceFault
  /** Uploads that succeed before the fault begins. */
  readonly faultAfterUploads?: number
  readonly capacityBytes?: number
}

export interface Bucket extends Faulty {
  readonly service: string
  /** Access key id -> SHA-256 of the secret, in hex. */
  readonly keys: Readonly<Record<string, string>>
}

/** By cluster id. */
export interface ClusterDoor extends Faulty {
  readonly address: string
  readonly username: string
  /** SHA-256, in hex. */
  readonly password: string
}

export interface Room extends Faulty {
  /** Relative to the folder of the world's files. */
  readonly path: readonly string[]
}

export const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

interface PlaceDoors {
  knows(place: Place): boolean
  /** @throws ObjectStoreError when access is refused */
  open(place: Place): Room
}

export function createPlaceDoors(world: SimulatedWorld): PlaceDoors {
  const services = world.collection<S3Service>('objectStore.services')
  const buckets = world.collection<Bucket>('objectStore.buckets')
  const doors = world.collection<ClusterDoor>('objectStore.clusters')
  const clusters = world.collection<unknown>('hardware.clusters')

  function openCluster(place: Exclude<Place, BucketPlace>): Room {
    const found =
      place.kind === 'cluster'
        ? ([place.clusterExtId, doors.get(place.clusterExtId)] as const)
        : [...doors.all()].find(([, { address }]) => address === place.address)
    const [extId, door] = found ?? []
    const isThere = extId !== undefined && (door !== undefined || clusters.get(extId) !== undefined)
    if (!isThere || isDown(world, extId) || door?.fault === 'unreachable') throw silent()
    if (
      place.kind === 'remoteCluster' &&
      (place.username !== door?.username || digestOf(place.password) !== door.password)
    )
      throw new ObjectStoreError('accessDenied', 'the cluster refused the credentials')
    return { ...door, path: ['clusters', extId, 'backups'] }
  }

  const serviceOf = (place: BucketPlace): readonly [name: string, service: S3Service] | undefined =>
    [...services.all()].find(([, { addresses }]) => addresses.some((address) => answersAs(address, place.endpoint)))

  function openBucket(place: BucketPlace): Room {
    const [name, service] = serviceOf(place) ?? []
    if (service === undefined || service.fault === 'unreachable') throw silent()
    if (service.certificate === 'private' && !place.skipsCertificateValidation && place.certificate === undefined)
      throw new ObjectStoreError('tlsFailed', 'the certificate comes from an unknown authority')
    const bucket = buckets.get(place.bucket)
    const known = [...buckets.all().values()].filter((each) => each.service === name).some((each) => isKey(each, place))
    if (!known) throw new ObjectStoreError('accessDenied', 'the access key is unknown, or its secret is wrong')
    if (bucket === undefined || bucket.service !== name)
      throw new ObjectStoreError('noSuchBucket', 'there is no such bucket')
    if (!isKey(bucket, place)) throw new ObjectStoreError('accessDenied', 'the policy of the bucket refused access')
    if (bucket.fault === 'unreachable') throw silent()
    return { ...bucket, path: ['buckets', place.bucket] }
  }

  return {
    knows: (place) => place.kind !== 'bucket' || serviceOf(place) !== undefined,
    open: (place) => (place.kind === 'bucket' ? openBucket(place) : openCluster(place)),
  }
}

export const silent = (): ObjectStoreError => new ObjectStoreError('unreachable', 'no answer within 10 s')

const answersAs = (address: string, endpoint: string): boolean =>
  address === endpoint || (address === 's3.*.amazonaws.com' && /^s3\.[a-z0-9-]+\.amazonaws\.com$/.test(endpoint))

const isKey = (bucket: Bucket, { accessKeyId, secretAccessKey }: BucketPlace): boolean =>
  accessKeyId !== undefined &&
  secretAccessKey !== undefined &&
  Object.hasOwn(bucket.keys, accessKeyId) &&
  bucket.keys[accessKeyId] === digestOf(secretAccessKey)
