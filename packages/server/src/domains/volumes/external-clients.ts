/**
 * What clients outside the cluster have in common, whatever protocol they speak: one comes into being by its first attach.
 * Source: behaviour volumes-storage.md 1.1, 1.5, 1.6.
 */
import type { EntityOf } from '@hyperplane/contract'
import type { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import type { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { ApiError } from '../../core/api-error.ts'
import { type Reader, type Transaction, UniqueViolation } from '../../store/store.ts'
import type { Group } from '../block-volumes/attachments.ts'

type ClientKind = typeof IscsiClient | typeof NvmfClient

/** More than a cluster has. */
const everyClient = 1_000_000

/**
 * Holds a new client, not shown before its attach succeeds. One that is `isSame`, seen or made by another attach, is the
 * same client.
 */
export async function heldClient<K extends ClientKind>(
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

/** Whom the store knows by this identity already, seen or not. */
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

/** @throws ApiError 409 */
export function requireOneCluster(group: Group, client: { readonly clusterReference?: string }, called: string): void {
  if (client.clusterReference === group.clusterReference) return
  throw new ApiError('CONFLICT', { fault: `${called} belongs to another cluster than "${group.name}".` })
}

/** How a task that attaches a group, or detaches it, is told. */
export const toldOf = (verb: 'attach' | 'detach', protocol: 'iSCSI' | 'NVMe-TCP') =>
  verb === 'attach'
    ? { operation: 'VolumeGroupAttachExternal', description: `Volume group attach to ${protocol} Client` }
    : { operation: 'VolumeGroupDetachExternal', description: `Volume group detach from ${protocol} Client` }
