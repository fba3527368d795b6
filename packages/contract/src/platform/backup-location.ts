/**
 * Storage of a manager's backups: a cluster, or a bucket of an object store.
 * Source: catalogue platform.json; behaviour platform.md 7, 9.
 */
import { boolean, integer, object, oneOf, optional, secret, text, withDefault } from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { ClusterReference, RemoteClusterSpec } from './remote-cluster.ts'

const AccessKeyCredentials = object('platform.v4.management.AccessKeyCredentials', {
  accessKeyId: text({ minLength: 16, maxLength: 128 }),
  secretAccessKey: text({ minLength: 1, maxLength: 1024, secret: true }),
})

const ConnectionConfig = object('platform.v4.management.ConnectionConfig', {
  ipAddressOrHostname: IPAddressOrFQDN,
  port: withDefault(integer({ minimum: 1, maximum: 65535 }), 443),
  shouldSkipCertificateValidation: withDefault(boolean(), false),
  /** PEM. */
  certificate: optional(text({ multiline: true })),
  hasCustomCertificate: optional(boolean()),
})

const bucket = {
  bucketName: text({ minLength: 3, maxLength: 63 }),
  region: withDefault(text({ maxLength: 63 }), 'us-east-1'),
} as const

/** A bucket of an S3-compatible service that is named by its address. */
const addressedBucket = {
  ...bucket,
  connectionConfig: optional(ConnectionConfig),
  credentials: secret(oneOf(AccessKeyCredentials)),
} as const

const ObjectStoreLocation = object('platform.v4.management.ObjectStoreLocation', {
  providerConfig: oneOf(
    object('platform.v4.management.AWSS3Config', { ...bucket, credentials: secret(AccessKeyCredentials) }),
    object('platform.v4.management.GenericS3Config', addressedBucket),
    object('platform.v4.management.NutanixObjectsConfig', addressedBucket),
  ),
  backupPolicy: optional(
    object('platform.v4.management.BackupPolicy', { rpoInMinutes: integer({ minimum: 60, maximum: 1440 }) }),
  ),
})

export const BackupLocation = oneOf(
  object('platform.v4.management.ClusterLocation', { config: oneOf(ClusterReference, RemoteClusterSpec) }),
  ObjectStoreLocation,
)
