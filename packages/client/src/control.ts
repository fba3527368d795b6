/**
 * The control interface: worlds, clocks, faults and the journal. Its users are administrators of the world `default`.
 */
import type { DeclaredOperations } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import { byKey, type ClientOptions, createCall, type Methods, methodsOf } from './calls.ts'

/** One method for each operation. A call without a world in its path uses the world of the options, else `default`. */
export type ControlClient = Methods<
  // The client reads whole answers, and a stream has no end: use an EventSource for it.
  Omit<DeclaredOperations<typeof control>, 'streamJournal'>,
  'worldName'
>

const operations = byKey(control.operations.filter(({ id }) => id !== 'streamJournal'))

export function createControlClient(options: ClientOptions): ControlClient {
  const path = { worldName: options.world ?? 'default' }
  const call = createCall(options, { operations, base: '', headers: {}, path })
  return methodsOf(operations, call, control.name)
}
