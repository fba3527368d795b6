/** Whether a loaded store holds together: references, counts, secrets, and what kinds promise of each other. */

import { holdsSecrets, reseal } from '../archive/reseal.ts'
import type { Sealer } from '../core/access/secrets.ts'
import { brokenInvariants, invariants, maximumFaults } from '../domains/invariants/invariants.ts'
import type { SqliteLoader } from '../store/sqlite/loader.ts'
import type { Table } from '../store/tables.ts'

/** What is looked at, as sentences. */
export const promises: readonly string[] = [
  'Every reference leads to an entity',
  'As many associations are counted as there are',
  'Every secret opens',
  ...invariants.map(({ promise }) => promise),
]

/** Sentences without their full stops; none, when all holds. */
export async function faultsOf(
  loader: SqliteLoader,
  tables: ReadonlyMap<string, Table>,
  sealer: Sealer,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const look of [danglingReferences, wrongCounts, closedSecrets]) {
    for (const fault of look(loader, tables, sealer)) {
      found.push(fault)
      if (found.length === maximumFaults) return found
    }
  }
  // What refers to nothing breaks promises as well: the cause is told, not what follows from it.
  return found.length > 0 ? found : brokenInvariants(loader.reader())
}

function* danglingReferences(loader: SqliteLoader): Generator<string> {
  for (const { kind, extId, path, to } of loader.danglingReferences())
    yield `${path} of ${kind} ${extId} names ${to}, which is not there`
}

function* wrongCounts(loader: SqliteLoader): Generator<string> {
  for (const entity of loader.miscounted()) yield `another number is kept than there is of who names ${entity}`
}

function* closedSecrets(loader: SqliteLoader, tables: ReadonlyMap<string, Table>, sealer: Sealer): Generator<string> {
  // Opening is the check; nothing is written.
  const opened = { seal: (plain: string): string => plain }
  for (const table of tables.values()) {
    const ofKind = { kind: table.resource.kind, secrets: table.secrets }
    if (!holdsSecrets(ofKind)) continue
    for (const document of loader.documents(table)) {
      try {
        reseal(ofKind, document, sealer, opened)
      } catch {
        yield `a secret of ${ofKind.kind} ${(document as { extId: string }).extId} does not open`
      }
    }
  }
}
