/** Requests by which suites that cover every kind reach datastores. */
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import type { FactOwner } from '../kind.ts'

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.datastores': async ({ all }) =>
    new Set((await all(DataStore)).map(({ hostExtId, datastoreName }) => `${hostExtId}/${datastoreName}`)),
}
