/**
 * Short ids by which older clients identify hosts and containers: `<cluster id>::<n>`. `n` is the sequence number of
 * the row in order of creation, so it stays the same when other rows are added or removed.
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

/** @param number with or without the cluster id in front */
export async function hostWithNumber(store: Reader, clusterExtId: string, number: string): Promise<string | undefined> {
  const whole = number.includes('::') ? number.toLowerCase() : `${clusterExtId}::${number}`
  for (const { extId } of await hostsOf(store, clusterExtId)) {
    if ((await hostNumber(store, extId)) === whole) return extId
  }
  return undefined
}
