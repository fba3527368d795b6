import { namespace } from '../operation.ts'
import { vmmErrors } from './errors.ts'
import * as extern from './extern/kinds.ts'
import * as kinds from './kinds.ts'
import { getRate, listRate } from './roles.ts'

export const vmm = namespace({
  name: 'vmm',
  versions: ['v4.2'],
  label: '1.0.0',
  kinds,
  rates: { list: listRate, get: getRate },
  groups: {
    extern,
  },
  errors: vmmErrors,
})
