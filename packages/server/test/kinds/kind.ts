/** What a file of a kind exports for the suites that cover every kind; `collected.ts` reads these files. */
import { seedId } from '../../src/core/ids/named-id.ts'
import type { Asked } from '../restart/asked.ts'
import type { TestApp } from '../support/start-app.ts'

/** The demo's native cluster. */
export const nativeCluster = seedId('cluster/hp-native-01')
/** The id of no entity. */
export const unknown = '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11'
export const GiB = 1024 ** 3

/** `creations`, by operation (`vmm.createVm`): the smallest body that makes an entity with a task. */
export interface Creation {
  readonly path: string
  readonly body: (name: string) => object
  readonly clusterId?: string
  /** Path of the entity whose tag is sent, where the creation needs one. */
  readonly tagOf?: string
  /** The world that has room for it, where that is not the demo. */
  readonly seed?: 'empty'
}

/** `orderCases`, by operation: a body for which 400 must come before 404. */
export interface OrderCase {
  /** The path below the version; a function where the target is made for it. */
  readonly path: string | ((app: TestApp) => Promise<string>)
  /** Breaks no rule, and names something that does not exist. */
  readonly body: object | (() => Promise<object>)
  /** Fields whose values break a rule of the kind. */
  readonly broken: object
}

/** `restartScenarios`, by task definition: prepares the world, and answers the request that starts the task. */
export type RestartScenario = (app: TestApp) => Promise<Asked>
