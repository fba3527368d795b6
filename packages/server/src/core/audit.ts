/** Who changed what, when, and with which outcome. Append-only; the records form a chain of hashes. Source: conventions 21. */
import { createHash } from 'node:crypto'
import type { EntityOf } from '@hyperplane/contract'
import type { Store, Transaction } from '../store/store.ts'
import type { Clock } from './clock.ts'
import type { Caller, Ids } from './context.ts'
import { AuditRecord } from './records.ts'

export interface AuditEntry {
  readonly caller?: Caller
  readonly credential: string
  readonly address: string
  readonly operation: string
  readonly requestId?: string
  readonly target?: string
  readonly status: number
  readonly code?: string
  readonly task?: string
  /** Names of fields, never values. */
  readonly changed?: readonly string[]
  readonly dryRun?: boolean
}

export interface Audit {
  /** Writes in the transaction of the effect. */
  write(store: Transaction, entry: AuditEntry): Promise<void>
  /** Writes what had no effect: refusals and failed sign-ins. */
  writeAlone(entry: AuditEntry): Promise<void>
}

export function createAudit(store: Store, clock: Clock, ids: Ids): Audit {
  const write = async (transaction: Transaction, entry: AuditEntry): Promise<void> => {
    // Read rather than remembered: a transaction that is rolled back takes its record with it.
    const [newest] = await transaction.find(AuditRecord, { newestFirst: true, limit: 1 })
    const record: Record<string, unknown> = {
      extId: ids.uuid(),
      time: clock.iso(),
      credential: entry.credential,
      address: entry.address,
      operation: entry.operation,
      status: entry.status,
      previous: newest?.hash ?? '',
      ...(entry.requestId === undefined ? {} : { requestId: entry.requestId }),
      ...(entry.caller === undefined ? {} : { identity: entry.caller.extId, identityName: entry.caller.name }),
      ...(entry.target === undefined ? {} : { target: entry.target }),
      ...(entry.code === undefined ? {} : { code: entry.code }),
      ...(entry.task === undefined ? {} : { task: entry.task }),
      ...(entry.changed === undefined ? {} : { changed: entry.changed }),
      ...(entry.dryRun === true ? { dryRun: 'true' } : {}),
    }
    const hash = createHash('sha256').update(JSON.stringify(record)).digest('base64url')
    await transaction.insert(AuditRecord, { ...record, hash } as EntityOf<typeof AuditRecord>)
  }
  return {
    write,
    writeAlone: (entry) => store.transaction((transaction) => write(transaction, entry)),
  }
}
