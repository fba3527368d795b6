import type { EntityRow } from './rows.ts'

/** A backup target whose first backup had not ended: its creation is not complete. */
export const isLeftOut = ({ kind, pending }: Pick<EntityRow, 'kind' | 'pending'>): boolean =>
  kind === 'BackupTarget' && pending === true
