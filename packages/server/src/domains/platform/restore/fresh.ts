/** A restore never overwrites a manager in use: only an empty world is fresh. Source: behaviour platform.md 9. */
import { contract } from '@hyperplane/contract'
import { ApiError } from '../../../core/api-error.ts'
import type { Reader } from '../../../store/store.ts'

// `any`: the key selects the type of the row.
const isInNewWorld: Readonly<Record<string, (row: any) => boolean>> = {
  AuthorizationPolicy: ({ isSystemDefined }) => isSystemDefined === true,
  Category: ({ type }) => type !== 'USER',
  // The cluster of the manager itself, which runs no VMs.
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

/** @throws ApiError 409 that lists the other rows */
export async function requireFresh(store: Reader): Promise<void> {
  const found: string[] = []
  for (const kind of kinds) {
    const isInitial = isInNewWorld[kind.kind]
    let count = await store.count(kind)
    if (count > 0 && isInitial !== undefined) count = (await store.find(kind)).filter((row) => !isInitial(row)).length
    if (count > 0) found.push(`${count} of the kind ${kind.title}`)
  }
  if (found.length > 0) throw new ApiError('INSTANCE_NOT_FRESH', { found: found.join(', ') })
}
