/** Source: behaviour platform.md 7, 9. */
import type { ValueOf } from '@hyperplane/contract'
import type { BackupLocation } from '@hyperplane/contract/platform/backup-location'
import { type ApiError, invalid } from '../core/api-error.ts'

export type Location = ValueOf<typeof BackupLocation>

/** The names that every S3 service accepts. */
export const bucketForm = /^[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]$/

/** The region becomes part of a host name and of a header. */
export const regionForm = /^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$/

export function locationFaults(location: Location): ApiError[] {
  if ('config' in location) return []
  const faults: ApiError[] = []
  const { providerConfig } = location
  if (!bucketForm.test(providerConfig.bucketName)) {
    const form = 'expected lower-case letters, digits, dots and hyphens, with a letter or digit at both ends'
    faults.push(invalid('location/providerConfig/bucketName', form))
  }
  if (providerConfig.region !== undefined && !regionForm.test(providerConfig.region)) {
    const form = 'expected letters, digits, hyphens and underscores, such as us-east-1'
    faults.push(invalid('location/providerConfig/region', form))
  }
  const needsAddress = providerConfig.$objectType !== 'platform.v4.management.AWSS3Config'
  if (needsAddress && !('connectionConfig' in providerConfig)) {
    const path = 'location/providerConfig/connectionConfig'
    faults.push(invalid(path, 'is required: the address of the object store'))
  }
  return faults
}
