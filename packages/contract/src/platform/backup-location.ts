/** Source: catalogue platform.json; behaviour platform.md 7, 9. */
import * as s from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { ClusterReference, RemoteClusterSpec } from './remote-cluster.ts'

const AccessKeyCredentials = s.object('platform.v4.management.AccessKeyCredentials', {
  accessKeyId: s.text({ minLength: 16, maxLength: 128 }),
  secretAccessKey: s.text({ minLength: 1, maxLength: 1024, secret: true }),
})

const ConnectionConfig = s.object('platform.v4.management.ConnectionConfig', {
  ipAddressOrHostname: IPAddressOrFQDN,
  port: s.withDefault(s.integer({ minimum: 1, maximum: 65535 }), 443),
  shouldSkipCertificateValidation: s.withDefault(s.boolean(), false),
  certificate: s.optional(s.text({ multiline: true })),
  hasCustomCertificate: s.optional(s.boolean()),
})

const bucket = {
  bucketName: s.text({ minLength: 3, maxLength: 63 }),
  region: s.withDefault(s.text({ maxLength: 63 }), 'us-east-1'),
} as const

const addressedBucket = {
  ...bucket,
  connectionConfig: s.optional(ConnectionConfig),
  credentials: s.secret(s.oneOf(AccessKeyCredentials)),
} as const

const ObjectStoreLocation = s.object('platform.v4.management.ObjectStoreLocation', {
  providerConfig: s.oneOf(
    s.object('platform.v4.management.AWSS3Config', { ...bucket, credentials: s.secret(AccessKeyCredentials) }),
    s.object('platform.v4.management.GenericS3Config', addressedBucket),
    s.object('platform.v4.management.NutanixObjectsConfig', addressedBucket),
  ),
  backupPolicy: s.optionalObject('platform.v4.management.BackupPolicy', {
    rpoInMinutes: s.integer({ minimum: 60, maximum: 1440 }),
  }),
})

export const BackupLocation = s.oneOf(
  s.object('platform.v4.management.ClusterLocation', { config: s.oneOf(ClusterReference, RemoteClusterSpec) }),
  ObjectStoreLocation,
)
