/** Requests by which suites that cover every kind reach restore sources. */
import { inBucket, onCluster } from '../../support/backups.ts'
import { creating } from '../../support/field-bases.ts'
import { type FieldBase, nativeCluster } from '../kind.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'platform.createRestoreSource': [
    creating('/platform/v4.3/management/restore-sources', () => ({ location: onCluster(nativeCluster) })),
    creating('/platform/v4.3/management/restore-sources', () => ({ location: inBucket({}, null) })),
  ],
}
