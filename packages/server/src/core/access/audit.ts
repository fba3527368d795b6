/** The audit trail: append-only; each record holds the hash of the one before. Source: conventions 21. */

import { hash } from 'node:crypto'
import type { EntityOf } from '@hyperplane/contract'
import type { Store, Transaction } from '../../store/store.ts'
import type { Caller, Ids } from '../caller.ts'
import { AuditRecord } from '../records.ts'
import type { Clock } from '../time/clock.ts'

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
  readonly decision?: string
}

export interface Audit {
  write(store: Transaction, entry: AuditEntry): Promise<void>
  writeAlone(entry: AuditEntry): Promise<void>
}

export function createAudit(store: Store, clock: Clock, ids: Ids): Audit {
  let last: { readonly extId: string; readonly hash: string } | undefined

  /** If the last record is missing, its transaction was rolled back: read the newest one. */
  async function newestHash(transaction: Transaction): Promise<string> {
    if (last !== undefined && (await transaction.has(AuditRecord, last.extId))) return last.hash
    const [newest] = await transaction.find(AuditRecord, { newestFirst: true, limit: 1 })
    return newest?.hash ?? ''
  }

  const write = async (transaction: Transaction, entry: AuditEntry): Promise<void> => {
    const extId = ids.uuid()
    const record: Record<string, unknown> = {
      extId,
      time: clock.iso(),
      credential: entry.credential,
      address: entry.address,
      operation: entry.operation,
      status: entry.status,
      previous: await newestHash(transaction),
      requestId: entry.requestId,
      identity: entry.caller?.extId,
      identityName: entry.caller?.name,
      target: entry.target,
      code: entry.code,
      task: entry.task,
      changed: entry.changed,
      dryRun: entry.dryRun === true ? 'true' : undefined,
      decision: entry.decision,
    }
    const own = hash('sha256', JSON.stringify(record), 'base64url')
    await transaction.insert(AuditRecord, { ...record, hash: own } as EntityOf<typeof AuditRecord>)
    last = { extId, hash: own }
  }
  return {
    write,
    writeAlone: (entry) => store.transaction((transaction) => write(transaction, entry)),
  }
}
