/** What a backup holds and a restored instance does not. */
import type { EntityRow } from './rows.ts'

/** A backup target whose first backup had not ended: it never became one. */
export const isLeftOut = ({ kind, pending }: Pick<EntityRow, 'kind' | 'pending'>): boolean =>
  kind === 'BackupTarget' && pending === true
