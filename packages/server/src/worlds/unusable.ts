/** For clients; refusals to start name command-line options instead. */
import { StartRefusal } from '../core/start-refusal.ts'
import { diskFault } from '../store/disk-fault.ts'
import { StoreRefusal } from '../store/store.ts'

const remedy =
  'Reset it to start again from its seed, or delete it, or stop the service and restore a copy of its folder.'

export function unusableBecause(error: unknown): string {
  const fault = diskFault(error)
  if (fault !== undefined) return `${fault} Free room on it: the next request opens the world.`
  if (error instanceof StoreRefusal) return error.isDamage ? `${error.what} ${remedy}` : error.message
  if (error instanceof StartRefusal) return error.message
  const message = error instanceof Error ? error.message : String(error)
  return `${message.replace(/\.$/, '')}. The log of the service says more. ${remedy}`
}
