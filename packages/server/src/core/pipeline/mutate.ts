/** Steps 9 to 16 in one transaction, so that checks hold until the effect; two for a `TwoPhaseEffect`. Source: conventions 1, 6. */

import type { Operation } from '@hyperplane/contract'
import type { Reader, Transaction } from '../../store/store.ts'
import { isInScope } from '../access/scope.ts'
import { ApiError } from '../api-error.ts'
import type { WriteContext } from '../context.ts'
import type { AnyPrepare, TaskStarted } from '../handlers.ts'
import { watchedInput } from '../recording/trace.ts'
import type { Reply } from '../reply.ts'
import type { Begin } from '../tasks/define-task.ts'
import { TwoPhaseEffect } from '../two-phase-effect.ts'
import { type Call, extIdOf, rowScope, type Targets } from './call.ts'
import { readOnlyView } from './dry-run.ts'
import { readContext } from './handler-context.ts'
import { withKeptSecrets } from './kept-secrets.ts'
import type { MutationMachinery } from './machinery.ts'
import { checkRules, checkTag, completedInput } from './preconditions.ts'
import { checkReferences } from './references.ts'
import { auditedId, credentialOf, denied } from './refusals.ts'
import type { Outcome } from './request.ts'
import { findTargets, noTargets } from './targets.ts'
import { noteCreated } from './traced.ts'

export async function mutate<D>(machinery: MutationMachinery<D>, call: Call): Promise<Outcome> {
  const { request, operation, input } = call
  const mutation = new Mutation(machinery, call)
  const prepare = machinery.prepares.get(operation.key)
  if (prepare !== undefined) await mutation.prepare(prepare)
  if (request.onBehalfOf?.isStaged !== true) {
    const reply = await (machinery.serialised === undefined
      ? mutation.run()
      : machinery.serialised(operation, input, mutation.key, () => mutation.run()))
    return { reply }
  }
  const { applied, durable } = machinery.store.stage((transaction) => mutation.work(transaction))
  // If the work is refused, nobody awaits the commit: its rejection would be unhandled.
  durable.catch(() => undefined)
  const reply = await applied
  if (reply instanceof TwoPhaseEffect)
    throw new Error(`${operation.key} takes two transactions: no element of a batch can`)
  mutation.beginTasks(reply, durable)
  return { reply, durable: durable.then(() => mutation.afterCommit(reply)) }
}

class Mutation<D> {
  readonly key: string | undefined
  readonly #machinery: MutationMachinery<D>
  readonly #call: Call
  #prepared: { readonly prepared?: unknown } = {}
  /** Found before `prepare`, which it makes needless; it may expire before the transaction. */
  #replay: Reply | undefined
  readonly #requestId: string | undefined
  readonly #fingerprint: string
  readonly #afterCommit: (() => void)[] = []
  readonly #acceptedTasks: Begin[] = []
  readonly #tasks: string[] = []
  readonly #created: string[] = []
  #completedInput: Call['input']
  #targets: Targets = noTargets

  constructor(machinery: MutationMachinery<D>, call: Call) {
    const { idempotency } = machinery
    const { request, caller, input } = call
    this.#machinery = machinery
    this.#call = call
    this.#completedInput = input
    this.#requestId = request.onBehalfOf?.requestId ?? input.headers.requestId
    this.key =
      this.#requestId === undefined ? undefined : idempotency.keyOf(caller.tenantId, caller.extId, this.#requestId)
    // The validated body: content under `$reserved` counts, other decorations do not.
    const body = input.body ?? input.rawBody
    this.#fingerprint =
      this.key === undefined ? '' : idempotency.fingerprintOf(request.method, request.path, request.query, body)
  }

  async run(): Promise<Reply> {
    const first = await this.#machinery.store.transaction((transaction) => this.work(transaction))
    const reply = first instanceof TwoPhaseEffect ? await this.#runTwoPhases(first) : first
    this.beginTasks(reply)
    this.afterCommit(reply)
    return reply
  }

  /** Slow work: only for requests that are not refused or replayed without it. */
  async prepare(prepare: AnyPrepare): Promise<void> {
    const { store } = this.#machinery
    this.#replay = await this.#admit(store)
    if (this.#replay !== undefined) return
    const ctx = readContext(this.#machinery, { ...this.#call, warnings: [] }, store, noTargets)
    this.#prepared = { prepared: await prepare(ctx, watchedInput(this.#call.request.trace, this.#call.input)) }
  }

  async work(transaction: Transaction): Promise<Reply | TwoPhaseEffect> {
    const { handlers } = this.#machinery
    const { operation } = this.#call
    const remembered = this.#replay ?? (await this.#admit(transaction))
    if (remembered !== undefined) return remembered
    const ctx = this.#contextOf(transaction)
    const handler = handlers.get(operation.key)
    if (handler === undefined) throw new ApiError('NOT_IMPLEMENTED', { operation: operation.id })
    const result = await handler(ctx, { ...this.#completedInput, ...this.#prepared })
    return result instanceof TwoPhaseEffect ? result : this.#conclude(transaction, ctx, result)
  }

  /** Steps 9 to 14. @returns the answer to replay */
  async #admit(reader: Reader): Promise<Reply | undefined> {
    const { idempotency, tags } = this.#machinery
    const { request, operation } = this.#call
    if (this.key !== undefined) {
      const remembered = await idempotency.recall(reader, this.key, this.#fingerprint, this.#requestId as string)
      if (remembered !== undefined) return remembered
    }
    const targets = await findTargets(this.#machinery, reader, this.#call)
    this.#targets = targets
    checkTag(tags, this.#call, targets)
    const stored = targets.row?.entity
    const completion = withKeptSecrets(
      { operation, input: completedInput(this.#call, stored) },
      stored,
      this.#machinery.world.secrets,
    )
    const completed = { ...this.#call, input: completion.value }
    checkRules(this.#machinery, completed, stored, completion.faults)
    await checkReferences(this.#machinery, reader, completed)
    this.#completedInput = watchedInput(request.trace, completed.input)
    return undefined
  }

  /** @param durable the pending commit that accepts the tasks */
  beginTasks(reply: Reply, durable?: Promise<void>): void {
    if (reply.replayed !== true) for (const begin of this.#acceptedTasks) begin(durable)
  }

  afterCommit(reply: Reply): void {
    if (reply.replayed !== true) for (const work of this.#afterCommit) work()
  }

  async #runTwoPhases(effect: TwoPhaseEffect): Promise<Reply> {
    const { store, log } = this.#machinery
    try {
      await effect.make()
      return await store.transaction(async (transaction) => {
        const ctx = this.#contextOf(transaction)
        return this.#conclude(transaction, ctx, await effect.conclude(ctx))
      })
    } catch (error) {
      await effect.revert().catch((fault) => {
        log.error(
          { err: fault, operation: this.#call.operation.key },
          'the effect of a failed request was not reverted',
        )
      })
      throw error
    }
  }

  async #conclude(transaction: Transaction, ctx: WriteContext<D>, result: unknown): Promise<Reply> {
    const { access, admit, audit, idempotency } = this.#machinery
    const { request, operation, caller, input } = this.#call
    const created = this.#created
    const extId = extIdOf(result)
    if (extId !== undefined) created.push(extId)
    noteCreated(request.trace, operation, created)
    await admit(ctx, this.#completedInput)
    const inScope = await createdInScope(this.#machinery, transaction, this.#call, created)
    if (request.trace !== undefined) request.trace.judged ??= inScope
    const reply = await answer(this.#machinery, transaction, this.#call, this.#targets, result)
    const [task] = this.#tasks
    await audit.write(transaction, {
      caller,
      credential: credentialOf(caller),
      address: request.address,
      operation: operation.key,
      status: reply.status,
      requestId: auditedId(request, this.#requestId),
      target: this.#targets.row?.entity.extId ?? created[0],
      task,
      changed: isPlainObject(input.body) ? Object.keys(input.body) : undefined,
      dryRun: input.query.dryRun,
      decision: await access.explain(caller, operation, this.#targets.judged ?? inScope),
    })
    if (this.key !== undefined) await idempotency.remember(transaction, this.key, this.#fingerprint, reply)
    return reply
  }

  #contextOf(transaction: Transaction): WriteContext<D> {
    const { runner } = this.#machinery
    const { request, operation, caller, input, ids } = this.#call
    const { dryRun } = input.query
    return {
      ...readContext(this.#machinery, this.#call, transaction, this.#targets),
      store: dryRun ? readOnlyView(transaction) : transaction,
      dryRun,
      startTask: async (definition, taskInput, taskOptions) => {
        const parent = request.onBehalfOf === undefined ? {} : { parent: request.onBehalfOf.parentTask }
        const accept = (begin: Begin): void => void this.#acceptedTasks.push(begin)
        const startTask = runner.starter(transaction, caller, accept, dryRun, ids)
        const options = { appName: operation.namespace, startedBy: operation.key, ...parent, ...taskOptions }
        const task = await startTask(definition, taskInput, options)
        this.#tasks.push(task.extId)
        this.#created.push(...taskOptions.affected.map((entity) => entity.extId))
        return task
      },
      afterCommit: (work) => void this.#afterCommit.push(work),
    }
  }
}

const isPlainObject = (body: unknown): body is object =>
  typeof body === 'object' && body !== null && !Array.isArray(body)

async function answer<D>(
  { tags }: MutationMachinery<D>,
  transaction: Transaction,
  { operation, version, warnings, input }: Call,
  targets: Targets,
  result: unknown,
): Promise<Reply> {
  const base = { status: operation.status, operation: operation.key, version, warnings }
  if (operation.runs === 'async') {
    const task = result as TaskStarted & { readonly data?: unknown }
    return {
      ...base,
      data: task.data ?? { extId: task.extId },
      location: `/platform/v4.3/config/tasks/${task.extId}`,
    }
  }
  if (operation.verb === 'remove') return base
  const resource = operation.resource
  const extId = operation.verb === 'create' ? extIdOf(result) : targets.row?.entity.extId
  const row =
    resource === undefined || resource.derived === true || extId === undefined
      ? undefined
      : await transaction.row(resource, extId)
  const location =
    operation.verb === 'create' && resource !== undefined && extId !== undefined
      ? `/${operation.namespace}/${version}${pathOf(operation, input.path)}/${extId}`
      : undefined
  const etag =
    row === undefined || resource === undefined ? undefined : tags.of(resource.kind, row.entity.extId, row.version)
  return {
    ...base,
    data: result,
    ...(etag === undefined ? {} : { etag }),
    ...(location === undefined ? {} : { location }),
  }
}

const pathOf = ({ path }: Operation, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))

/** The scope of a create applies to the stored entity; that of a part was checked on its parent. Conventions 16.8. */
async function createdInScope<D>(
  { access }: MutationMachinery<D>,
  transaction: Transaction,
  call: Call,
  created: readonly string[],
): Promise<unknown> {
  const { operation, scope } = call
  const { resource } = operation
  if (operation.verb !== 'create' || resource === undefined || rowScope(access, call) === 'all') return undefined
  let judged: unknown
  for (const extId of created) {
    const entity = await transaction.pending(resource, extId)
    if (entity !== undefined && !isInScope(scope, entity)) throw denied(operation, ' on such an entity')
    judged ??= entity
  }
  return judged
}
