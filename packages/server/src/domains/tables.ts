/** All tables of the store: kinds of the contract, and internal records of core, the domains and the simulation. */
import { contract } from '@hyperplane/contract'
import { coreRecords } from '../core/records.ts'
import { EventRecord } from '../drivers/simulated/events/record.ts'
import { Fact } from '../drivers/simulated/world.ts'
import { type Table, tablesOf } from '../store/tables.ts'
import { collectRecords } from './collected.ts'

let tables: ReadonlyMap<string, Table> | undefined

/** Derived from the contract on first use. */
export const storeTables = (): ReadonlyMap<string, Table> => (tables ??= derivedTables())

function derivedTables(): ReadonlyMap<string, Table> {
  const resources = [
    ...new Set(contract.flatMap((namespace) => namespace.resources)),
    ...coreRecords,
    ...collectRecords(),
    Fact,
    EventRecord,
  ]
  return tablesOf(
    resources,
    contract.flatMap((namespace) => namespace.operations),
  )
}
