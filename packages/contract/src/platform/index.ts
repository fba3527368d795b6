import { namespace } from '../operation.ts'
import { platformErrors } from './errors.ts'
import * as kinds from './kinds.ts'

export const platform = namespace({
  name: 'platform',
  versions: ['v4.3'],
  label: '1.0.0',
  kinds,
  errors: platformErrors,
})
