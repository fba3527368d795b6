/** The control interface: what a test engineer does to worlds. Its users are administrators of the world `default`. */
import type { DeclaredOperations } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import { byKey, type ClientOptions, createCall, type Methods, methodsOf } from './calls.ts'

/** One method an operation. A call whose path names no world is for that of the options, else `default`. */
export type ControlClient = Methods<
  // It never ends, and answers are read whole here: read it with an EventSource.
  Omit<DeclaredOperations<typeof control>, 'streamJournal'>,
  'worldName'
>

const operations = byKey(control.operations.filter(({ id }) => id !== 'streamJournal'))

export function createControlClient(options: ClientOptions): ControlClient {
  const path = { worldName: options.world ?? 'default' }
  const call = createCall(options, { operations, base: '', headers: {}, path })
  return methodsOf(operations, call, control.name)
}
