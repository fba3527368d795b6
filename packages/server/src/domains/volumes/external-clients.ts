/** Clients outside the cluster; their first attach creates them. Source: behaviour volumes-storage.md 1.1, 1.5, 1.6. */
import type { EntityOf } from '@hyperplane/contract'
import type { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import type { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { ApiError } from '../../core/api-error.ts'
import { type Reader, type Transaction, UniqueViolation } from '../../store/store.ts'
import type { Group } from '../block-volumes/attachments.ts'

type ClientKind = typeof IscsiClient | typeof NvmfClient

const everyClient = 1_000_000

/** Pending until its attach succeeds. If the identity is in use: the published or pending client for which `isSame` holds. */
export async function claimClient<K extends ClientKind>(
  store: Transaction,
  kind: K,
  client: EntityOf<K>,
  isSame: (other: EntityOf<K>) => boolean,
): Promise<{ readonly client: EntityOf<K>; readonly isNew: boolean }> {
  try {
    return { client: await store.insert(kind, client, { pending: true }), isNew: true }
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
  }
  return { client: await namesake(store, kind, client.clusterReference as string, isSame), isNew: false }
}

async function namesake<K extends ClientKind>(
  store: Reader,
  kind: K,
  clusterExtId: string,
  isSame: (other: EntityOf<K>) => boolean,
): Promise<EntityOf<K>> {
  for (const { extId } of await store.referrers('Cluster', clusterExtId, everyClient, { from: kind.kind })) {
    const client = await store.pending(kind, extId)
    if (client !== undefined && isSame(client)) return client
  }
  throw new Error('a client whose identity is taken has a namesake')
}

/** @throws ApiError 409 when the client and the group are on different clusters */
export function requireOneCluster(group: Group, client: { readonly clusterReference?: string }, called: string): void {
  if (client.clusterReference === group.clusterReference) return
  throw new ApiError('CONFLICT', { fault: `${called} belongs to another cluster than "${group.name}".` })
}
