import { namespace } from '../operation.ts'
import { iamErrors } from './errors.ts'
import * as kinds from './kinds.ts'

export const iam = namespace({
  name: 'iam',
  versions: ['v4.1.b2'],
  label: '1.0.0-beta-2',
  kinds,
  errors: iamErrors,
})
