/**
 * Operations of the interface, carried out while a world is made: by their own handlers and the steps of their own tasks, in the
 * transaction that makes the world, on the infrastructure as that transaction writes it. So what a seed describes has the rules,
 * the refusals and the effects of the request that would make it. No task is left behind: the world was always so.
 */

import { contract, type Operation } from '@hyperplane/contract'
import type { Caller } from '../core/caller.ts'
import type { ReadContext, WriteContext } from '../core/context.ts'
import { seedId } from '../core/ids/named-id.ts'
import type { RequestInput } from '../core/input/request-input.ts'
import { assembleWorld, noTasks } from '../core/pipeline/assemble.ts'
import type { AccessControl } from '../core/ports.ts'
import type { RecordContext, StartTask, StepContext, TaskDefinition, TaskEnd } from '../core/tasks/define-task.ts'
import type { World } from '../core/world.ts'
import { collectDomains } from '../domains/collected.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { createSimulatedDrivers } from '../drivers/simulated/index.ts'
import type { SeedContext } from './context.ts'

export interface Asked {
  /** Name of the created entity; its id and the ids of its parts are derived from the name. */
  readonly called: string
  /** The first ids that the handler draws, where they do not follow from the name. A handler draws the id of its entity first. */
  readonly ids?: readonly string[]
  /** Values of the path; the one that is called `extId` is the target. */
  readonly path?: Readonly<Record<string, string>>
  readonly clusterId?: string
  /** As validation has left it. */
  readonly body: unknown
}

export function operationOf(key: string): Operation {
  const found = contract.flatMap(({ operations }) => operations).find((each) => each.key === key)
  if (found === undefined) throw new Error(`there is no operation ${key}`)
  return found
}

export class Acting {
  readonly #ctx: SeedContext
  readonly #collected = collectDomains()
  readonly #drivers: Drivers

  constructor(ctx: SeedContext) {
    this.#ctx = ctx
    this.#drivers = createSimulatedDrivers(ctx.world, { folder: ctx.folder, durations: 'instant' })
  }

  get rules() {
    return this.#collected.rules
  }

  /** Performs an operation, by its key, and the tasks that it starts. @throws the error of its handler or of a step */
  async perform(key: string, asked: Asked): Promise<void> {
    const operation = operationOf(key)
    const handler = this.#collected.handlers.get(key)
    if (handler === undefined) throw new Error(`the operation ${key} has no handler`)
    const prepare = this.#collected.prepares.get(key)
    const request: RequestInput = {
      path: asked.path ?? {},
      query: { page: 0, limit: 50, expand: [], dryRun: false, parameters: {} },
      headers: asked.clusterId === undefined ? {} : { clusterId: asked.clusterId },
      body: asked.body,
    }
    const world = this.#world(asked)
    const run = new Run(world, this.#ctx)
    const ctx: WriteContext<Drivers> = {
      ...world,
      ...(await this.#reading(operation, asked)),
      store: this.#ctx.store,
      dryRun: false,
      startTask: run.startTask,
      // Nobody has read anything of this world yet.
      afterCommit: () => undefined,
    }
    const prepared = await prepare?.(ctx as never, request)
    await handler(ctx as never, (prepare === undefined ? request : { ...request, prepared }) as never)
    await run.end()
  }

  #world({ called, ids: given = [seedId(called)] }: Pick<Asked, 'called' | 'ids'>): World<Drivers> {
    const { clock, tenantId, machinery, ids } = this.#ctx
    // A seed is one transaction in which nothing waits: no tasks, no requests to itself, no backups.
    const { runner: _, dispatch: __, snapshots: ___, restores: ____, ...services } = machinery.services
    let drawn = 0
    const uuid = (): string => given[drawn++] ?? seedId(`${called}/${drawn - 1}`)
    return assembleWorld({
      owner: 'a seed',
      ...{ tenantId, clock, drivers: this.#drivers, secrets: machinery.secrets },
      ids: { ...ids.of(called), uuid, of: (what: string) => ids.of(`${called}/${what}`) },
      services: { ...services, access: unlimited(services.access), runner: noTasks('a seed') },
    })
  }

  async #reading(operation: Operation, asked: Asked): Promise<Omit<ReadContext<Drivers>, keyof World<Drivers>>> {
    const { store, machinery } = this.#ctx
    const { resource } = operation
    const { extId } = asked.path ?? {}
    const row = resource === undefined || extId === undefined ? undefined : await store.row(resource, extId)
    const { param, kind } = resource?.parent ?? { param: '', kind: '' }
    const parent = asked.path?.[param]
    const whole = machinery.kinds.resource(kind)
    return {
      operation,
      caller: adminOf(this.#ctx),
      store,
      kinds: machinery.kinds,
      target: row?.entity,
      parents: parent === undefined || whole === undefined ? {} : { [param]: await store.get(whole, parent) },
      version: operation.versions[0] as string,
      scopeOf: async () => undefined,
      unknown: 'refuse',
      warn: () => undefined,
      noteUse: () => undefined,
    }
  }
}

/** The role assignments of the administrator are not committed yet, so access control cannot see them. */
const unlimited = (access: AccessControl): AccessControl => ({
  scope: () => 'all',
  viewScope: () => 'all',
  referScope: async () => 'all',
  isView: (operation, resource) => access.isView(operation, resource),
  reachOfUnseen: (caller, operation, resource) => access.reachOfUnseen(caller, operation, resource),
  explain: (caller, operation, entity) => access.explain(caller, operation, entity),
  hasRole: (caller, roles) => access.hasRole(caller, roles),
  scopedKind: (operation) => access.scopedKind(operation),
  changed: () => access.changed(),
})

const adminOf = ({ adminId, tenantId }: SeedContext): Caller => ({
  extId: adminId,
  name: 'admin',
  type: 'LOCAL',
  groups: [],
  credential: 'none',
  tenantId,
})

interface Waiting {
  readonly extId: string
  readonly definition: TaskDefinition<Drivers, any>
  readonly input: unknown
}

/** The tasks that one operation starts, one after another. */
class Run {
  readonly #world: World<Drivers>
  readonly #ctx: SeedContext
  readonly #waiting: Waiting[] = []
  readonly #ends = new Map<string, TaskEnd>()

  constructor(world: World<Drivers>, ctx: SeedContext) {
    this.#world = world
    this.#ctx = ctx
  }

  readonly startTask: StartTask = async (definition, input, { affected }) => {
    const extId = this.#world.ids.of(`task ${this.#ends.size}`).uuid()
    this.#waiting.push({ extId, definition, input })
    this.#ends.set(extId, { extId, status: 'SUCCEEDED', errorMessages: [], entitiesAffected: affected })
    return { extId }
  }

  async end(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#go(next)
  }

  async #go({ extId, definition, input }: Waiting): Promise<void> {
    const outputs: Record<string, unknown> = {}
    for (const step of definition.steps) {
      const context = this.#step(extId, step.name, outputs)
      const output = await step.run?.(context, input)
      const recorded = await step.record?.(context, input, output)
      outputs[step.name] = recorded === undefined ? output : recorded.keep
    }
  }

  #step(taskExtId: string, step: string, outputs: Readonly<Record<string, unknown>>): RecordContext<Drivers> {
    const context: RecordContext<Drivers> & Pick<StepContext<Drivers>, 'checkpoint'> = {
      ...this.#world,
      store: this.#ctx.store,
      taskExtId,
      callKey: `${taskExtId}/${step}`,
      owner: adminOf(this.#ctx),
      outputs,
      cancelRequested: () => false,
      stopping: new AbortController().signal,
      progress: async () => undefined,
      checkpoint: async (_, write) => void (await write(context)),
      untilEnded: async (extIds) => {
        await this.end()
        return extIds.map((each) => this.#ends.get(each) as TaskEnd)
      },
      startTask: this.startTask,
      complete: () => undefined,
      warn: () => undefined,
      affect: () => undefined,
    }
    return context
  }
}
