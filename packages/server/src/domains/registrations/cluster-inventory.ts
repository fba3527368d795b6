/** Rows of a cluster that come and go with its registration (`ofCluster`). Source: behaviour platform.md 4. */

import type { AnyResource, EntityOf, OfCluster } from '@hyperplane/contract'
import { pathOf } from '../../core/standard.ts'
import type { InventoryRow } from '../../drivers/remote-managers.ts'
import { equals } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'

interface Part extends OfCluster {
  readonly resource: AnyResource
}

interface Parts {
  /** Owners before their parts. */
  readonly owned: readonly Part[]
  /** On several clusters, such as images: removed only with their last cluster. */
  readonly shared: readonly Part[]
}

export function clusterPartsOf(kinds: readonly AnyResource[]): Parts {
  const parts = new Map<string, Part>()
  for (const resource of kinds) {
    const { ofCluster } = resource
    if (ofCluster !== undefined && 'by' in ofCluster) parts.set(resource.kind, { resource, ...ofCluster })
  }
  const depth = ({ resource, partOf }: Part): number => {
    if (resource.kind === 'Cluster') return 0
    if (partOf === undefined) return 1
    const owner = parts.get(partOf)
    if (owner === undefined) throw new Error(`${resource.kind} is part of ${partOf}, which belongs to no cluster`)
    return depth(owner) + 1
  }
  const isShared = ({ resource, by }: Part): boolean => resource.schema.fields[by]?.type === 'list'
  const sorted = [...parts.values()].sort((a, b) => depth(a) - depth(b))
  return { owned: sorted.filter((part) => !isShared(part)), shared: sorted.filter(isShared) }
}

interface Found {
  readonly part: Part
  readonly entity: { readonly extId: string; readonly [field: string]: unknown }
}

export async function rowsOfCluster(store: Reader, clusterExtId: string): Promise<readonly Found[]> {
  const found: Found[] = []
  for (const part of clusterPartsOf(store.kinds).owned) {
    const owners =
      part.partOf === undefined
        ? [clusterExtId]
        : found.filter((one) => one.part.resource.kind === part.partOf).map(({ entity }) => entity.extId)
    for (const owner of owners) {
      for (const entity of await rowsBy(store, part, owner)) found.push({ part, entity: entity as Found['entity'] })
    }
  }
  return found
}

async function rowsBy(store: Reader, { resource, by }: Part, owner: string): Promise<EntityOf<AnyResource>[]> {
  if (by === 'extId') {
    const entity = await store.get(resource, owner)
    return entity === undefined ? [] : [entity]
  }
  return store.find(resource, { filter: equals(pathOf(resource, by), owner) })
}

/** Removes the rows of a cluster from the store. @returns the inventory that stays with the cluster */
export async function removeInventory(store: Transaction, clusterExtId: string): Promise<readonly InventoryRow[]> {
  const rows = await rowsOfCluster(store, clusterExtId)
  const inventory = rows.map(({ part, entity }) => ({ kind: part.resource.kind, entity: exported(part, entity) }))
  for (const part of clusterPartsOf(store.kinds).shared) {
    const { resource, by } = part
    for (const entity of await rowsBy(store, part, clusterExtId)) {
      const remaining = locationsOf(entity, by).filter((location) => location !== clusterExtId)
      if (remaining.length === 0) await store.remove(resource, entity.extId)
      else await store.update(resource, entity.extId, { [by]: remaining })
      inventory.push({ kind: resource.kind, entity: exported(part, { ...entity, [by]: [clusterExtId] }) })
    }
  }
  for (const { part, entity } of rows.toReversed()) await store.remove(part.resource, entity.extId)
  return inventory
}

const locationsOf = (entity: object, path: string): readonly string[] =>
  (entity as Record<string, readonly string[] | undefined>)[path] ?? []

export async function insertInventory(
  store: Transaction,
  rows: readonly InventoryRow[],
  { tenantId, ownerExtId }: { readonly tenantId: string; readonly ownerExtId: string },
): Promise<void> {
  const { owned, shared } = clusterPartsOf(store.kinds)
  const parts = new Map([...owned, ...shared].map((part) => [part.resource.kind, part]))
  for (const { kind, entity } of rows) {
    const part = parts.get(kind)
    if (part === undefined) throw new Error(`no cluster brings rows of ${kind}`)
    const { resource, by, keptByManager = [] } = part
    const stored = shared.includes(part) ? await store.get(resource, entity.extId) : undefined
    if (stored !== undefined) {
      const locations = [...locationsOf(stored, by), ...locationsOf(entity, by)]
      await store.update(resource, entity.extId, { [by]: [...new Set(locations)] })
      continue
    }
    const ownership = keptByManager.includes('ownershipInfo') ? { ownershipInfo: { owner: { extId: ownerExtId } } } : {}
    await store.insert(resource, { ...entity, tenantId, ...ownership })
  }
}

function exported({ keptByManager = [] }: Part, entity: Found['entity']): InventoryRow['entity'] {
  const dropped = new Set([...keptByManager, 'tenantId'])
  const fields = Object.entries(entity).filter(([name]) => !dropped.has(name))
  return Object.fromEntries(fields) as InventoryRow['entity']
}
