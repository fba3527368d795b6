/** Backup locations as places of drivers, and their errors. Source: behaviour platform.md 0, 7, 9. */

import type { ValueOf } from '@hyperplane/contract'
import type { IPAddressOrFQDN } from '@hyperplane/contract/shapes'
import { ApiError } from '../core/api-error.ts'
import { DriverError } from '../core/tasks/define-task.ts'
import type { SecretReader } from '../core/world.ts'
import { ObjectStoreError, type ObjectStoreFault, type Place } from '../drivers/object-store.ts'
import type { Location } from './location-rules.ts'

type ClusterConfig = Extract<Location, { config: unknown }>['config']
type ProviderConfig = Extract<Location, { providerConfig: unknown }>['providerConfig']

interface Located {
  readonly extId: string
  readonly location: Location
}

/** Secrets may be sealed, as in the store, or plain, as in a request. */
export function placeOf(
  kind: 'BackupTarget' | 'RestoreSource',
  { extId, location }: Located,
  secrets: SecretReader,
): Place {
  // Credentials are sealed as one JSON text.
  const open: Open = (path, value) => {
    const json = secrets.open(kind, extId, `location/${path}`, value)
    return json === undefined ? value : JSON.parse(json)
  }
  return 'config' in location ? clusterPlace(location.config, open) : bucketPlace(location.providerConfig, open)
}

type Open = <T>(path: string, value: T) => T | undefined

function clusterPlace(config: ClusterConfig, open: Open): Place {
  if (!('address' in config)) return { kind: 'cluster', clusterExtId: config.extId }
  const login = open('config/credentials', config.credentials)?.authentication
  return {
    kind: 'remoteCluster',
    address: textOf(config.address),
    username: login?.username ?? '',
    password: login?.password ?? '',
  }
}

function bucketPlace(config: ProviderConfig, open: Open): Place {
  const { bucketName: bucket, region = 'us-east-1' } = config
  const connection = 'connectionConfig' in config ? config.connectionConfig : undefined
  const credentials = open('providerConfig/credentials', config.credentials)
  return {
    kind: 'bucket',
    endpoint: connection === undefined ? `s3.${region}.amazonaws.com` : textOf(connection.ipAddressOrHostname),
    port: connection?.port ?? 443,
    bucket,
    region,
    // A wildcard certificate does not cover a bucket name with a dot.
    style: connection === undefined && !bucket.includes('.') ? 'host' : 'path',
    skipsCertificateValidation: connection?.shouldSkipCertificateValidation ?? false,
    certificate: connection?.certificate,
    accessKeyId: credentials?.accessKeyId,
    secretAccessKey: credentials?.secretAccessKey,
  }
}

const textOf = ({ ipv4, ipv6, fqdn }: ValueOf<typeof IPAddressOrFQDN>): string =>
  ipv4?.value ?? ipv6?.value ?? fqdn?.value ?? ''

/** Returns other errors unchanged. */
export function translatePlaceFault(error: unknown, place: Place): unknown {
  if (!(error instanceof ObjectStoreError)) return error
  const endpoint =
    place.kind === 'bucket'
      ? place.endpoint
      : place.kind === 'cluster'
        ? `cluster ${place.clusterExtId}`
        : place.address
  const bucket = place.kind === 'bucket' ? place.bucket : ''
  const options = { cause: error }
  const refusals: { readonly [fault in ObjectStoreFault]: () => ApiError } = {
    unreachable: () => new ApiError('OBJECT_STORE_UNREACHABLE', { endpoint, cause: error.message }, options),
    accessDenied: () => new ApiError('OBJECT_STORE_ACCESS_DENIED', { endpoint, bucket }, options),
    noSuchBucket: () => new ApiError('OBJECT_STORE_BUCKET_NOT_FOUND', { endpoint, bucket }, options),
    tlsFailed: () => new ApiError('OBJECT_STORE_TLS_FAILED', { endpoint, cause: error.message }, options),
    full: () => new ApiError('BACKUP_SPACE_EXHAUSTED', { shortfall: error.message }, options),
    noSuchObject: () => new ApiError('BACKUP_CORRUPT', { part: error.message }, options),
  }
  return refusals[error.fault]()
}

/** A task step is tried again after a temporary error. */
export function translateForTask(error: unknown, place: Place): unknown {
  const translated = translatePlaceFault(error, place)
  if (!(error instanceof ObjectStoreError) || !(translated instanceof ApiError)) return translated
  const { message, retryable } = error
  return new DriverError(message, { retryable, cause: error, appMessage: translated.appMessage })
}
