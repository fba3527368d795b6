/** What a file of a kind exports for the suites that cover every kind; `collected.ts` reads these files. */
import type { AnyResource } from '@hyperplane/contract'
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
  /** The body has random numbers, which may be in use: the field guard has bodies of its own in `fieldBases`. */
  readonly isRandom?: true
  /** Makes room for the entity, in a world that has its like already. Seeds leave out such creations. */
  readonly prepare?: (app: TestApp) => Promise<unknown>
  /** The world that has room for it, where that is not the demo. */
  readonly seed?: 'empty'
}

/** `orderCases`, by operation: a body for which 400 must come before 404. */
export interface OrderCase {
  /** The path below the version; a function where the target is made for it. */
  readonly path: string | ((app: TestApp) => Promise<string>)
  /** Breaks no rule, and names something that does not exist. */
  readonly body: object | (() => Promise<object>)
  /** Path of the entity whose tag is sent, if not that of the request. */
  readonly tagOf?: string
  /** Fields whose values break a rule of the kind. */
  readonly broken: object
}

/** `restartScenarios`, by task definition: prepares the world, and answers the request that starts the task. */
export type RestartScenario = (app: TestApp) => Promise<Asked>

/**
 * `fieldBases`, by operation: requests that succeed unchanged, for the guard that reads every field back. Without `body`, an
 * update sends the entity as it was read. The smallest body of `creations` is one of them already.
 */
export type FieldBase = (app: TestApp) => Promise<{
  readonly path?: string
  /** Path of the entity whose tag is sent, if not that of the request; a creation sends a tag only if this is given. */
  readonly readPath?: string
  readonly body?: any
  readonly clusterId?: string
  /** `name:password` of the caller; default: the administrator. */
  readonly as?: string
}>

/**
 * `factOwners`, by collection of the simulated world: the ids of its facts that an entity explains. `nobody`: facts of the
 * collection belong to no entity.
 */
export type FactOwner = 'nobody' | ((entities: EntityReader) => Promise<ReadonlySet<string>>)

/** Reads entities of this manager, and of clusters that are not registered. */
export interface EntityReader {
  readonly all: (resource: AnyResource) => Promise<readonly any[]>
  readonly ids: (kind: string) => Promise<ReadonlySet<string>>
  /** Ids of the VMs that are nodes of managers, which no list shows. */
  readonly managerNodes: () => Promise<readonly string[]>
  /** Ids of hosts and of nodes that are in no cluster. */
  readonly machines: () => Promise<ReadonlySet<string>>
}
