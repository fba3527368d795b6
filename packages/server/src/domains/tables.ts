/** All that the store keeps, as tables: the kinds of the contract, and what the server notes for itself. */
import { contract } from '@hyperplane/contract'
import { coreRecords } from '../core/records.ts'
import { EventRecord } from '../drivers/simulated/events/record.ts'
import { Fact } from '../drivers/simulated/world.ts'
import { type Table, tablesOf } from '../store/tables.ts'
import { iamRecords } from './iam/records.ts'
import { platformRecords } from './platform/registration-attempt.ts'
import { HostAllocation } from './scheduling/host-allocation.ts'
import { MacLease } from './virtual-machines/mac-lease.ts'
import { PowerEvent } from './virtual-machines/power-journal.ts'

export function storeTables(): ReadonlyMap<string, Table> {
  const resources = [
    ...new Set(contract.flatMap((namespace) => namespace.resources)),
    ...coreRecords,
    ...iamRecords,
    ...platformRecords,
    HostAllocation,
    MacLease,
    PowerEvent,
    Fact,
    EventRecord,
  ]
  return tablesOf(
    resources,
    contract.flatMap((namespace) => namespace.operations),
  )
}
