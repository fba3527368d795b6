/**
 * Whether this instance is fresh: it holds what every empty world begins with, and nothing that anybody made. A restore
 * never overwrites a living manager. Source: behaviour platform.md 9.
 */
import { contract } from '@hyperplane/contract'
import { ApiError } from '../../../core/api-error.ts'
import type { Reader } from '../../../store/store.ts'

/** Kinds of which a fresh instance has rows, with the rows of a fresh instance; `any`, because a name selects the type of its rows. */
const begunWith: Readonly<Record<string, (row: any) => boolean>> = {
  AuthorizationPolicy: ({ isSystemDefined }) => isSystemDefined === true,
  Category: ({ type }) => type !== 'USER',
  // The manager's own, which runs no VMs.
  Cluster: ({ config }) => !config?.clusterFunction?.includes('AOS'),
  DomainManager: ({ isOwn }) => isOwn === true,
  Product: () => true,
  RestoreSource: () => true,
  Role: ({ isSystemDefined }) => isSystemDefined === true,
  Task: () => true,
  User: ({ creationType }) => creationType === 'PREDEFINED',
  WelcomeBanner: () => true,
}

const kinds = [...new Set(contract.flatMap(({ resources }) => resources))].filter(({ derived }) => derived !== true)

/** @throws ApiError 409 that says what is here already */
export async function requireFresh(store: Reader): Promise<void> {
  const found: string[] = []
  for (const kind of kinds) {
    const begins = begunWith[kind.kind]
    let count = await store.count(kind)
    if (count > 0 && begins !== undefined) count = (await store.find(kind)).filter((row) => !begins(row)).length
    if (count > 0) found.push(`${count} of the kind ${kind.title}`)
  }
  if (found.length > 0) throw new ApiError('INSTANCE_NOT_FRESH', { found: found.join(', ') })
}
