/**
 * Operations of the API in the transaction that creates a world, validated and with the steps of their tasks, so that described entities
 * get the same rules and effects. No task and no audit record is stored.
 */

import { contract, type Operation } from '@hyperplane/contract'
import type { Caller } from '../core/caller.ts'
import { defined } from '../core/defined.ts'
import { seedId } from '../core/ids/named-id.ts'
import type { RequestInput } from '../core/input/request-input.ts'
import { assembleWorld, noTasks } from '../core/pipeline/assemble.ts'
import type { MutationMachinery } from '../core/pipeline/machinery.ts'
import { mutate } from '../core/pipeline/mutate.ts'
import type { AccessControl } from '../core/ports.ts'
import type { AnyTask, RecordContext, StartTask, StepContext, TaskEnd } from '../core/tasks/define-task.ts'
import type { World } from '../core/world.ts'
import { requireUsable } from '../domains/admission/admission.ts'
import { collectDomains } from '../domains/collected.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { createSimulatedDrivers } from '../drivers/simulated/index.ts'
import type { Store, Transaction } from '../store/store.ts'
import type { SeedContext } from './context.ts'
import { seedSnapshots } from './demo/backups.ts'

export interface Performance {
  /** Name of the created entity; its id and the ids of its parts are derived from the name. */
  readonly called: string
  /** The id that the handler requests first. Default: derived from the name. */
  readonly extId?: string | undefined
  /** The ids that the handler requests next, if not derived from the name. */
  readonly partIds?: readonly string[]
  /** The path parameter `extId` is the target. */
  readonly path?: Readonly<Record<string, string>>
  readonly clusterId?: string | undefined
  readonly body: unknown
}

export const mutations: ReadonlyMap<string, Operation> = new Map(
  contract.flatMap(({ operations }) => operations.filter(({ mutates }) => mutates).map((each) => [each.key, each])),
)

export function operationOf(key: string): Operation {
  const operation = mutations.get(key)
  if (operation === undefined) throw new Error(`there is no operation ${key} that changes something`)
  return operation
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

  /** False for operations that answer 501, and for those that need a file. */
  canPerform({ key, form }: Operation): boolean {
    return this.#collected.handlers.has(key) && form?.spooled === undefined
  }

  /** Includes started tasks. @returns ids among which is that of the created entity @throws the error of its handler or of a step */
  async perform(operation: Operation, performance: Performance): Promise<readonly string[]> {
    const { path = {}, clusterId, body } = performance
    const world = this.#world(performance)
    const tasks = new SeedTasks(world, this.#ctx, this.#collected.tasks)
    const input: RequestInput = {
      path,
      query: { page: 0, limit: 50, expand: [], dryRun: false, parameters: {} },
      headers: defined({ clusterId }),
      body,
    }
    const { reply } = await mutate(this.#machinery(world, tasks), {
      request: {
        method: operation.method,
        path: '',
        query: '',
        headers: {},
        address: '',
        profile: 'spec',
        unknown: 'refuse',
      },
      operation: { ...operation, ifMatch: 'optional' },
      caller: adminOf(this.#ctx),
      scope: 'all',
      version: operation.versions[0] as string,
      warnings: [],
      parts: { followStore: 0 },
      input: { ...input, rawBody: body },
      ids: world.ids,
    })
    await tasks.end()
    const { extId } = (reply.data ?? {}) as { readonly extId?: string }
    return [...(extId === undefined ? [] : [extId]), ...tasks.affected()]
  }

  #machinery(world: World<Drivers>, tasks: SeedTasks): MutationMachinery<Drivers> {
    const { store, machinery } = this.#ctx
    const { tags, access } = machinery.services
    const { handlers, rules, prepares, computed } = this.#collected
    return {
      ...{
        world,
        handlers,
        rules,
        prepares,
        computed,
        tags,
        kinds: machinery.kinds,
        store: asStore(store),
        access: unlimited(access),
      },
      idempotency: { keyOf: noRequestId, fingerprintOf: noRequestId, recall: noRequestId, remember: noRequestId },
      audit: { write: async () => undefined, writeAlone: async () => undefined },
      runner: { starter: () => tasks.startTask },
      admit: requireUsable,
      log: { error: () => undefined },
    }
  }

  #world({ called, extId = seedId(called), partIds = [] }: Performance): World<Drivers> {
    const { clock, tenantId, machinery, ids } = this.#ctx
    // A seed is one transaction in which nothing waits: no tasks, no requests to itself, no restores.
    const { runner: _, dispatch: __, restores: ___, ...services } = machinery.services
    const chosen = [extId, ...partIds]
    let drawn = 0
    const uuid = (): string => chosen[drawn++] ?? seedId(`${called}/${drawn - 1}`)
    return assembleWorld({
      owner: 'a seed',
      ...{ tenantId, clock, drivers: this.#drivers, secrets: machinery.secrets },
      ids: { ...ids.of(called), uuid, of: (what: string) => ids.of(`${called}/${what}`) },
      services: {
        ...services,
        access: unlimited(services.access),
        runner: noTasks('a seed'),
        snapshots: seedSnapshots(this.#ctx),
      },
    })
  }
}

/** Transactions of handlers are parts of the seed's transaction. */
function asStore(transaction: Transaction): MutationMachinery<Drivers>['store'] {
  const parts: Pick<Store, 'transaction'> = { transaction: (work) => work(transaction) }
  return new Proxy(transaction as Transaction & Store, {
    get: (target, name) => Reflect.get(Object.hasOwn(parts, name) ? parts : target, name),
  })
}

const noRequestId = (): never => {
  throw new Error('operations of a seed have no request id')
}

/** The role assignments of the administrator are not committed yet, so access control cannot see them. */
const unlimited = (access: AccessControl): AccessControl => ({
  scope: () => 'all',
  viewScope: () => 'all',
  referScope: async () => 'all',
  isView: (operation, resource) => access.isView(operation, resource),
  reachOfUnseen: async () => undefined,
  explain: () => '',
  hasRole: (caller, roles) => access.hasRole(caller, roles),
  scopedKind: (operation) => access.scopedKind(operation),
  changes: access.changes,
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

interface WaitingTask {
  readonly extId: string
  readonly definition: AnyTask<Drivers>
  readonly input: unknown
}

class SeedTasks {
  readonly #world: World<Drivers>
  readonly #ctx: SeedContext
  readonly #definitions: ReadonlyMap<string, AnyTask<Drivers>>
  readonly #waiting: WaitingTask[] = []
  readonly #ends = new Map<string, TaskEnd>()

  constructor(world: World<Drivers>, ctx: SeedContext, definitions: ReadonlyMap<string, AnyTask<Drivers>>) {
    this.#world = world
    this.#ctx = ctx
    this.#definitions = definitions
  }

  readonly startTask: StartTask = async (definition, input, { affected }) => {
    const extId = this.#world.ids.of(`task ${this.#ends.size}`).uuid()
    // A task that another namespace defines has only its name.
    this.#waiting.push({ extId, definition: this.#definitions.get(definition.name) ?? definition, input })
    this.#ends.set(extId, { extId, status: 'SUCCEEDED', errorMessages: [], entitiesAffected: affected })
    return { extId }
  }

  affected(): readonly string[] {
    return [...this.#ends.values()].flatMap(({ entitiesAffected }) => entitiesAffected.map(({ extId }) => extId))
  }

  async end(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) await this.#run(next)
  }

  async #run({ extId, definition, input }: WaitingTask): Promise<void> {
    const outputs: Record<string, unknown> = {}
    for (const step of definition.steps) {
      const context = this.#step(extId, step.name, outputs)
      const acts = step.acts === undefined || (await step.acts(context, input))
      const output = acts ? await step.run?.(context, input) : undefined
      const recorded = await step.record?.(context, input, output)
      outputs[step.name] = recorded === undefined ? output : recorded.keep
    }
  }

  #step(taskExtId: string, step: string, outputs: Readonly<Record<string, unknown>>): RecordContext<Drivers> {
    // One subtask at a time: all of them write in the same transaction.
    let subtasks = Promise.resolve()
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
        subtasks = subtasks.then(() => this.end())
        await subtasks
        return extIds.map((each) => this.#ends.get(each) as TaskEnd)
      },
      startTask: this.startTask,
      complete: () => undefined,
      completeForOwner: () => undefined,
      warn: () => undefined,
      affect: () => undefined,
    }
    return context
  }
}
