/** Rows that follow a list in the settings of a cluster, which has no ids there. */

import type { AnyResource, EntityOf } from '@hyperplane/contract'
import type { Ids } from '../../core/caller.ts'
import { type Reader, type Transaction, UniqueViolation } from '../../store/store.ts'

export interface Following {
  readonly store: Reader
  readonly ids: Pick<Ids, 'uuid'>
  readonly idOf?: (key: string) => string
  readonly tenantId: string
}

export type Write = (store: Transaction) => Promise<unknown>

interface Entries<Row, Entry> {
  readonly rows: readonly Row[]
  readonly actual: readonly Entry[]
  readonly keyOf: (entry: Entry) => string
  /** Undefined: the row is up to date. */
  readonly next: (entry: Entry, row: Row | undefined) => Entry | undefined
}

/** The writes after which the rows agree with the list. */
export function writesOf<R extends AnyResource, Entry>(
  kind: R,
  { ids, tenantId, idOf = () => ids.uuid() }: Following,
  clusterExtId: string,
  { rows, actual, keyOf, next }: Entries<EntityOf<R> & Entry, Entry>,
): Write[] {
  const byKey = new Map(rows.map((row) => [keyOf(row), row]))
  const present = new Set(actual.map(keyOf))
  const obsolete = rows.filter((row) => !present.has(keyOf(row)))
  return [
    ...obsolete.map(
      ({ extId }): Write =>
        (store) =>
          store.remove(kind, extId),
    ),
    ...actual.flatMap((entry): Write[] => {
      const key = keyOf(entry)
      const row = byKey.get(key)
      const fields = next(entry, row)
      if (fields === undefined) return []
      const entity = { ...fields, extId: row?.extId ?? idOf(key), tenantId, clusterExtId } as EntityOf<R>
      return [(store) => (row === undefined ? insertUnlessReserved(store, kind, entity) : store.replace(kind, entity))]
    }),
  ]
}

/** A request that waits for its task may have reserved the name: then that task fails, and the monitor inserts the row. */
async function insertUnlessReserved<R extends AnyResource>(
  store: Transaction,
  kind: R,
  entity: EntityOf<R>,
): Promise<void> {
  try {
    await store.insert(kind, entity)
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error
  }
}
