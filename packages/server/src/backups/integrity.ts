import { holdsSecrets, reseal } from '../archive/reseal.ts'
import type { Sealer } from '../core/access/secrets.ts'
import { brokenInvariants, invariants, maximumFaults } from '../domains/invariants/invariants.ts'
import type { SqliteLoader } from '../store/sqlite/loader.ts'
import type { Table } from '../store/tables.ts'

export const checks: readonly string[] = [
  'Every reference leads to an entity',
  'As many associations are counted as there are',
  'Every secret opens',
  ...invariants.map(({ promise }) => promise),
]

/** Sentences without full stops: broken references, counters, secrets, invariants. */
export async function faultsOf(
  loader: SqliteLoader,
  tables: ReadonlyMap<string, Table>,
  sealer: Sealer,
): Promise<readonly string[]> {
  const faults: string[] = []
  for (const check of [danglingReferences, wrongCounts, unreadableSecrets]) {
    for (const fault of check(loader, tables, sealer)) {
      faults.push(fault)
      if (faults.length === maximumFaults) return faults
    }
  }
  // Dangling references break invariants too: report the cause only.
  return faults.length > 0 ? faults : brokenInvariants(loader.reader())
}

function* danglingReferences(loader: SqliteLoader): Generator<string> {
  for (const { kind, extId, path, to } of loader.danglingReferences())
    yield `${path} of ${kind} ${extId} names ${to}, which is not there`
}

function* wrongCounts(loader: SqliteLoader): Generator<string> {
  for (const entity of loader.miscounted()) yield `another number is kept than there is of who names ${entity}`
}

function* unreadableSecrets(
  loader: SqliteLoader,
  tables: ReadonlyMap<string, Table>,
  sealer: Sealer,
): Generator<string> {
  // Only opening is checked.
  const discarding = { seal: (plain: string): string => plain }
  for (const table of tables.values()) {
    const ofKind = { kind: table.resource.kind, secrets: table.secrets }
    if (!holdsSecrets(ofKind)) continue
    for (const document of loader.documents(table)) {
      try {
        reseal(ofKind, document, sealer, discarding)
      } catch {
        yield `a secret of ${ofKind.kind} ${(document as { extId: string }).extId} does not open`
      }
    }
  }
}
