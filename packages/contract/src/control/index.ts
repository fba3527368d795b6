/**
 * The control interface: what a test engineer does to worlds. Beside the interface of the specification, under /control, with
 * the same conventions. Source: DESIGN C, D.
 */
import { namespace } from '../operation.ts'
import { callOperations } from './call.ts'
import { catalogueOperations } from './catalogue.ts'
import { clockOperations } from './clock.ts'
import { controlErrors } from './errors.ts'
import { faultOperations } from './fault.ts'
import { journalOperations } from './journal.ts'
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
    world: worldOperations,
    'world-event': worldEventOperations,
  },
  unimplemented: [],
  errors: controlErrors,
})
