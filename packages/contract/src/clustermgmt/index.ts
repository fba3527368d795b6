/** Source: specification 1, 2.4, 4.5; catalogue clustermgmt.json, clustermgmt-v4.0.json. */
import { namespace } from '../operation.ts'
import { clustermgmtErrors } from './errors.ts'
import * as kinds from './kinds.ts'

export const clustermgmt = namespace({
  name: 'clustermgmt',
  versions: ['v4.2', 'v4.0'],
  // The label of v4.2; the label of v4.0 is 4.0.2.
  label: '1.0.0',
  kinds,
  errors: clustermgmtErrors,
})
