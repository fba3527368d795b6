/** For administrators of the world `default`. */
import type { DeclaredOperations } from '@hyperplane/contract'
import { control } from '@hyperplane/contract/control'
import { byKey, type ClientOptions, createCall, type Methods, methodsOf } from './calls.ts'

/** Without a world in its path, a call uses the world of the options, else `default`. */
export type ControlClient = Methods<
  // A stream has no end, and the client reads whole answers: use an EventSource.
  Omit<DeclaredOperations<typeof control>, 'streamJournal'>,
  'worldName'
>

const operations = byKey(control.operations.filter(({ id }) => id !== 'streamJournal'))

export function createControlClient(options: ClientOptions): ControlClient {
  const path = { worldName: options.world ?? 'default' }
  const call = createCall(options, { operations, base: '', headers: {}, path })
  return methodsOf(operations, call, control.name)
}
