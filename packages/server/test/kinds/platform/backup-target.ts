/** Requests by which suites that cover every kind reach backup targets. */
import { inBucket, targets } from '../../support/backups.ts'
import type { Creation } from '../kind.ts'

export const creations: Readonly<Record<string, Creation>> = {
  'platform.createBackupTarget': { path: targets, body: () => ({ location: inBucket() }) },
}
