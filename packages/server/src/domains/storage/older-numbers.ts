/**
 * Ids `<cluster id>::<n>` for older clients; `n` is the row's sequence number, which never changes.
 * Source: behaviour volumes-storage.md 1.8 (nodeIds, containerId, hostId).
 */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import type { Reader } from '../../store/store.ts'
import { hostsOf } from '../storage-space/capacity.ts'

export async function containerNumber(store: Reader, containerExtId: string): Promise<string | undefined> {
  const row = await store.row(StorageContainer, containerExtId)
  return row === undefined ? undefined : `${row.entity.clusterExtId}::${row.sequence}`
}

export async function hostNumber(store: Reader, hostExtId: string): Promise<string | undefined> {
  const row = await store.row(Host, hostExtId)
  return row === undefined ? undefined : `${row.entity.cluster?.uuid}::${row.sequence}`
}

/** @param number with or without the cluster id */
export async function hostWithNumber(store: Reader, clusterExtId: string, number: string): Promise<string | undefined> {
  const qualified = number.includes('::') ? number.toLowerCase() : `${clusterExtId}::${number}`
  for (const { extId } of await hostsOf(store, clusterExtId)) {
    if ((await hostNumber(store, extId)) === qualified) return extId
  }
  return undefined
}
