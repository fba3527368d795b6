/** Places of backups: clusters, and buckets of S3-compatible services. Source: behaviour platform.md 8 (place), 9. */
import { names } from '@hyperplane/contract/names'
import { DriverError } from '../core/tasks/define-task.ts'

export type Place =
  | { readonly kind: 'cluster'; readonly clusterExtId: string }
  /** A cluster that is not registered here. */
  | { readonly kind: 'remoteCluster'; readonly address: string; readonly username: string; readonly password: string }
  | BucketPlace

export interface BucketPlace {
  readonly kind: 'bucket'
  readonly endpoint: string
  readonly port: number
  readonly bucket: string
  readonly region: string
  readonly accessKeyId?: string
  readonly secretAccessKey?: string
  /** Bucket name in the host, or first in the path, which every service but Amazon's accepts. */
  readonly style: 'path' | 'host'
  /** PEM of a further authority for the service's certificate. */
  readonly certificate?: string
  readonly skipsCertificateValidation: boolean
  readonly isPlain?: true
}

export interface StoredObject {
  readonly key: string
  readonly sizeBytes: number
  /** By the clock of the place. */
  readonly modifiedTime: number
}

/** Calls fail after 10 s without an answer. @throws ObjectStoreError, every call */
export interface ObjectStore {
  /** By prefix of the key, ordered by key. */
  list(place: Place, prefix: string): Promise<readonly StoredObject[]>
  /** @throws ObjectStoreError `noSuchObject` */
  get(place: Place, key: string): Promise<Uint8Array>
  /** Resolves when durable; replaces an object with the same key. */
  put(place: Place, key: string, content: Uint8Array): Promise<void>
  /** Succeeds for an object that does not exist. */
  remove(place: Place, key: string): Promise<void>
}

export const objectStoreFaults = names('accessDenied, full, noSuchBucket, noSuchObject, tlsFailed, unreachable')
export type ObjectStoreFault = (typeof objectStoreFaults)[number]

export class ObjectStoreError extends DriverError {
  readonly fault: ObjectStoreFault
  constructor(fault: ObjectStoreFault, message: string, cause?: unknown) {
    super(message, { retryable: fault === 'unreachable', cause })
    this.fault = fault
  }
}
