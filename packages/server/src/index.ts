/**
 * The service in a test's own process: `await using hyperplane = await startHyperplane()`. It takes a free port, prints
 * nothing, and leaves nothing behind. A process may hold many.
 */

import { nodeFault } from './boot/node-requirement.js'
import { StartRefusal } from './core/start-refusal.ts'
import type { Hyperplane, HyperplaneOptions } from './embedding/types.ts'

export { ApiRefusal, type Client, type ControlClient, TaskFailure } from '@hyperplane/client'
export { StartRefusal } from './core/start-refusal.ts'
export type { Credentials, Hyperplane, HyperplaneOptions } from './embedding/types.ts'

/**
 * @throws StartRefusal for options that are not understood, seeds with faults, folders in use, and a Node that is too old;
 * nothing is left then
 */
export async function startHyperplane(options: HyperplaneOptions = {}): Promise<Hyperplane> {
  const fault = nodeFault()
  if (fault !== undefined) throw new StartRefusal(fault)
  // Imported after the check: an older Node would stop at the first import that it does not know.
  const { startEmbedded } = await import('./embedding/start.ts')
  return startEmbedded(options)
}
