/** The service in the process of a test: `await using hyperplane = await startHyperplane()`. Leaves nothing behind. */

import { nodeFault } from './boot/node-requirement.js'
import { StartRefusal } from './core/start-refusal.ts'
import type { Hyperplane, HyperplaneOptions } from './embedding/types.ts'

export { ApiRefusal, type Client, type ControlClient, TaskFailure } from '@hyperplane/client'
export { StartRefusal } from './core/start-refusal.ts'
export type { Credentials, Hyperplane, HyperplaneOptions } from './embedding/types.ts'

/** @throws StartRefusal for unknown options, seeds with faults, folders in use, an old Node; nothing is left behind */
export async function startHyperplane(options: HyperplaneOptions = {}): Promise<Hyperplane> {
  const fault = nodeFault()
  if (fault !== undefined) throw new StartRefusal(fault)
  // An older Node would fail at the first import that it does not support.
  const { startEmbedded } = await import('./embedding/start.ts')
  return startEmbedded(options)
}
