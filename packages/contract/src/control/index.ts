/** For test engineers. Served under /control, beside the API of the specification, with the same conventions. */
import { namespace } from '../operation.ts'
import { callOperations } from './call.ts'
import { catalogueOperations } from './catalogue.ts'
import { clockOperations } from './clock.ts'
import { controlErrors } from './errors.ts'
import { faultOperations } from './fault.ts'
import { journalOperations } from './journal.ts'
import { networkOperations } from './network.ts'
import { worldOperations } from './world.ts'
import { worldEventOperations } from './world-event.ts'

export const control = namespace({
  name: 'control',
  versions: ['v1'],
  label: '1',
  kinds: {
    call: callOperations,
    catalogue: catalogueOperations,
    clock: clockOperations,
    fault: faultOperations,
    journal: journalOperations,
    network: networkOperations,
    world: worldOperations,
    'world-event': worldEventOperations,
  },
  errors: controlErrors,
})
