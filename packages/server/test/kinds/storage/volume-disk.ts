/** Requests by which suites that cover every kind reach disks of volume groups in the older interface. */

import { once } from '../../support/field-bases.ts'
import { older } from '../../support/volumes.ts'
import type { FieldBase } from '../kind.ts'
import { aDiskPath } from '../volumes/volume-disk.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'storage.updateVolumeDisk': [
    async (app) => {
      const readPath = await once(app, 'disk', () => aDiskPath(app))
      return { path: readPath.replace('/volumes/v4.2/config', older), readPath, body: {} }
    },
  ],
}
