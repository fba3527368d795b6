import { namespace } from '../operation.ts'
import { AddressLease, AddressRun, AddressTally } from './address-lease.ts'
import { networkingErrors } from './errors.ts'
import * as kinds from './kinds.ts'
import { getRate, listRate } from './roles.ts'

export const networking = namespace({
  name: 'networking',
  versions: ['v4.3'],
  label: '1.0.0',
  kinds,
  rates: { list: listRate, get: getRate },
  resources: [AddressLease, AddressRun, AddressTally],
  taskEnvelope: 'TaskReferenceApiResponse',
  errors: networkingErrors,
})
