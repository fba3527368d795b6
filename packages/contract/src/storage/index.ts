/** Source: specification 1, 2.2, 4.2, 9; catalogue storage.json; behaviour volumes-storage.md 1.8. */
import { namespace } from '../operation.ts'
import { storageErrors } from './errors.ts'
import * as kinds from './kinds.ts'

export const storage = namespace({
  name: 'storage',
  versions: ['v4.0.a3'],
  label: '4.0.1-alpha-3',
  kinds,
  errors: storageErrors,
  conventions: 'alpha',
  successors: ['/volumes/v4.2', '/clustermgmt/v4.2'],
})
