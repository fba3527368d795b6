/** Source: conventions 6 (answers), 21 (audit). */
import { compares } from '../../odata/index.ts'
import type { Store } from '../../store/store.ts'
import { AuditRecord, RememberedAnswer } from '../records.ts'
import { pathOf } from '../standard.ts'
import { formatTime } from './clock.ts'
import type { Schedule } from './schedules.ts'

const auditKeptMilliseconds = 400 * 24 * 3600 * 1000
/** Rows per transaction, so that others can write in between. */
const removedAtOnce = 200

export const recordRetention: Schedule<unknown> = {
  name: 'core.record-retention',
  everySeconds: 3600,
  onlyLastCounts: true,
  run: (ctx) => removeOldRecords(ctx.store, ctx.clock.now()),
}

export async function removeOldRecords(store: Store, now: number): Promise<void> {
  await removeUpTo(store, RememberedAnswer, 'expires', formatTime(now))
  // Oldest first, so that the rest of the hash chain stays valid.
  await removeUpTo(store, AuditRecord, 'time', formatTime(now - auditKeptMilliseconds))
}

async function removeUpTo(
  store: Store,
  kind: typeof RememberedAnswer | typeof AuditRecord,
  field: string,
  time: string,
): Promise<void> {
  for (;;) {
    const old = await store.walk(kind, { where: {}, by: field, to: time, limit: removedAtOnce })
    const last = old.at(-1) as { readonly [name: string]: unknown } | undefined
    if (last === undefined) return
    const isOld = compares(pathOf(kind, field), 'le', last[field] as string)
    await store.transaction((transaction) => transaction.removeWhere(kind, isOld))
  }
}
