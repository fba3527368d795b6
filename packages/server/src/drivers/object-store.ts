/**
 * Places that hold backups: the storage of a cluster, or a bucket of an S3-compatible service.
 * Source: behaviour platform.md 8 (place), 9.
 */
import { DriverError } from '../core/tasks/define-task.ts'

export type Place =
  | { readonly kind: 'cluster'; readonly clusterExtId: string }
  /** A cluster that is not registered here. */
  | { readonly kind: 'remoteCluster'; readonly address: string; readonly username: string; readonly password: string }
  | BucketPlace

export interface BucketPlace {
  readonly kind: 'bucket'
  /** Host name or address of the service. */
  readonly endpoint: string
  readonly port: number
  readonly bucket: string
  readonly region: string
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
  /** Where the bucket name goes: before the host, or first in the path, which every service but Amazon's accepts. */
  readonly style: 'path' | 'host'
  /** PEM of a further authority that may have issued the service's certificate. */
  readonly certificate?: string
  readonly skipsCertificateValidation: boolean
}

export interface StoredObject {
  readonly key: string
  readonly sizeBytes: number
  /** By the clock of the place, in milliseconds since 1970. */
  readonly modifiedTime: number
}

/** Each call contacts the place and fails after 10 s without an answer. */
export interface ObjectStore {
  /** Objects whose key begins with `prefix`, ordered by key. @throws ObjectStoreError */
  list(place: Place, prefix: string): Promise<readonly StoredObject[]>
  /** @throws ObjectStoreError `noSuchObject` when it does not exist */
  get(place: Place, key: string): Promise<Uint8Array>
  /** Resolves when the object is durable there; one with the same key is replaced. @throws ObjectStoreError */
  put(place: Place, key: string, content: Uint8Array): Promise<void>
  /** Succeeds for an object that does not exist. @throws ObjectStoreError */
  remove(place: Place, key: string): Promise<void>
}

export type ObjectStoreFault = 'unreachable' | 'accessDenied' | 'noSuchBucket' | 'tlsFailed' | 'full' | 'noSuchObject'

export class ObjectStoreError extends DriverError {
  readonly fault: ObjectStoreFault
  constructor(fault: ObjectStoreFault, message: string, cause?: unknown) {
    super(message, { retryable: fault === 'unreachable', cause })
    this.fault = fault
  }
}
