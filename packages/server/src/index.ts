/**
 * Runs the service in the process of a test: `await using hyperplane = await startHyperplane()`. The service takes a free
 * port, prints nothing, and leaves nothing behind. One process can run many services.
 */

import { nodeFault } from './boot/node-requirement.js'
import { StartRefusal } from './core/start-refusal.ts'
import type { Hyperplane, HyperplaneOptions } from './embedding/types.ts'

export { ApiRefusal, type Client, type ControlClient, TaskFailure } from '@hyperplane/client'
export { StartRefusal } from './core/start-refusal.ts'
export type { Credentials, Hyperplane, HyperplaneOptions } from './embedding/types.ts'

/**
 * @throws StartRefusal for unknown options, seeds with faults, folders in use, and a Node that is too old; nothing is left
 * behind then
 */
export async function startHyperplane(options: HyperplaneOptions = {}): Promise<Hyperplane> {
  const fault = nodeFault()
  if (fault !== undefined) throw new StartRefusal(fault)
  // Imported after the check, because an older Node would fail at the first import that it does not support.
  const { startEmbedded } = await import('./embedding/start.ts')
  return startEmbedded(options)
}
