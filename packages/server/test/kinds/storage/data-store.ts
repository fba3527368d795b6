/** Requests by which suites that cover every kind reach datastores of the older interface. */
import { older } from '../../support/volumes.ts'
import { mounting } from '../clustermgmt/storage-container.ts'
import type { FieldBase } from '../kind.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'storage.addDataStoreForCluster': [mounting(older, 'mount', { readOnly: true })],
  'storage.deleteDataStoreForCluster': [mounting(older, 'unmount', {})],
}
