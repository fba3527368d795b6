/** Converts a directory service into the settings of its driver. Source: behaviour iam.md 4. */

import type { EntityOf } from '@hyperplane/contract'
import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { ApiError } from '../../../core/api-error.ts'
import type { SecretReader } from '../../../core/world.ts'
import { type Directory, DirectoryError, type DirectoryServer } from '../../../drivers/directory.ts'

export type DirectoryRow = EntityOf<typeof DirectoryService>

type Settings = Pick<
  DirectoryRow,
  'url' | 'secondaryUrls' | 'directoryType' | 'domainName' | 'openLdapConfiguration' | 'serviceAccount'
>

export function serverWith(settings: Settings, password: string): DirectoryServer {
  const { url, secondaryUrls = [], directoryType, domainName, openLdapConfiguration: layout } = settings
  return {
    urls: [url, ...secondaryUrls],
    type: directoryType,
    domainName,
    account: { username: settings.serviceAccount?.username ?? '', password },
    ...(layout === undefined ? {} : { layout: { ...layout.userConfiguration, ...layout.userGroupConfiguration } }),
  }
}

export const storedPassword = (secrets: SecretReader, row: DirectoryRow): string =>
  secrets.open(DirectoryService.kind, row.extId, 'serviceAccount/password', row.serviceAccount?.password) ?? ''

export const serverOf = (secrets: SecretReader, row: DirectoryRow): DirectoryServer =>
  serverWith(row, storedPassword(secrets, row))

/** @throws ApiError 400 with the cause if the directory cannot be used */
export async function queryDirectory<T>(server: DirectoryServer, query: () => Promise<T>): Promise<T> {
  try {
    return await query()
  } catch (error) {
    if (!(error instanceof DirectoryError)) throw error
    throw unusable(server, error)
  }
}

export const unusable = (server: DirectoryServer, error: DirectoryError): ApiError =>
  new ApiError('DIRECTORY_CONNECTION_FAILED', { url: server.urls[0] as string, cause: error.message }, { cause: error })

export async function ifItAnswers<T>(
  directory: Directory,
  question: (directory: Directory) => Promise<T>,
): Promise<{ readonly answer: T } | { readonly cause: string }> {
  try {
    return { answer: await question(directory) }
  } catch (error) {
    if (!(error instanceof DirectoryError)) throw error
    return { cause: error.message }
  }
}
