/**
 * Steps 9 to 16, in one transaction: nothing that was checked can change before its effect is written. Where that takes long
 * (`Apart`), in two. Source: conventions 1, 6.
 */

import type { Operation } from '@hyperplane/contract'
import type { Transaction } from '../../store/store.ts'
import { isInScope } from '../access/scope.ts'
import { ApiError } from '../api-error.ts'
import type { WriteContext } from '../context.ts'
import type { TaskStarted } from '../handlers.ts'
import { watchedInput } from '../recording/trace.ts'
import type { Reply } from '../reply.ts'
import type { Begin } from '../tasks/define-task.ts'
import { TwoPhaseEffect } from '../two-phase-effect.ts'
import type { Targets } from './call.ts'
import { type Call, rowScope } from './call.ts'
import { readOnlyView } from './dry-run.ts'
import { readContext } from './handler-context.ts'
import { withKeptSecrets } from './kept-secrets.ts'
import type { Machinery } from './machinery.ts'
import { checkRules, checkTag, completedInput } from './preconditions.ts'
import { checkReferences } from './references.ts'
import { auditedId, auditedTarget, credentialOf, denied } from './refusals.ts'
import type { Outcome } from './request.ts'
import { findTargets, noTargets } from './targets.ts'
import { noteCreated } from './traced.ts'

export async function mutate<D>(machinery: Machinery<D>, call: Call): Promise<Outcome> {
  const { store, idempotency, tags, runner, audit } = machinery
  const { request, operation, caller, input, ids } = call
  const requestId = request.onBehalfOf?.requestId ?? input.headers.requestId
  const key = requestId === undefined ? undefined : idempotency.keyOf(caller.tenantId, caller.extId, requestId)
  // Of the body as it was understood: content under `$reserved` counts, other decorations do not.
  const body = input.body ?? input.rawBody
  const fingerprint =
    key === undefined ? '' : idempotency.fingerprintOf(request.method, request.path, request.query, body)
  const after: (() => void)[] = []
  const beginnings: Begin[] = []
  const started: string[] = []
  const created: string[] = []
  const prepare = machinery.prepares.get(operation.key)
  const prepared =
    prepare === undefined
      ? undefined
      : await prepare(
          readContext(machinery, { ...call, warnings: [] }, store, noTargets),
          watchedInput(request.trace, input) as never,
        )
  /** The input as the handler sees it, from the moment at which the target is known. */
  let handled = input
  const contextOf = (transaction: Transaction, targets: Targets): WriteContext<D> => ({
    ...readContext(machinery, call, transaction, targets),
    store: input.query.dryRun ? readOnlyView(transaction) : transaction,
    dryRun: input.query.dryRun,
    startTask: async (definition, taskInput, taskOptions) => {
      const parent = request.onBehalfOf === undefined ? {} : { parent: request.onBehalfOf.parentTask }
      const startTask = runner.starter(transaction, caller, (begin) => beginnings.push(begin), input.query.dryRun, ids)
      const task = await startTask(definition, taskInput, {
        appName: operation.namespace,
        startedBy: operation.key,
        ...parent,
        ...taskOptions,
      })
      started.push(task.extId)
      created.push(...taskOptions.affected.map((entity) => entity.extId))
      return task
    },
    afterCommit: (work) => void after.push(work),
  })
  let targets: Targets = noTargets
  const work = async (transaction: Transaction): Promise<Reply | TwoPhaseEffect> => {
    if (key !== undefined) {
      const remembered = await idempotency.recall(transaction, key, fingerprint, requestId as string)
      if (remembered !== undefined) return remembered
    }
    targets = await findTargets(machinery, transaction, call)
    checkTag(tags, call, targets)
    const stored = targets.row?.entity
    const kept = withKeptSecrets({ operation, input: completedInput(call, stored) }, stored, machinery.world.secrets)
    const completed = { ...call, input: kept.value }
    checkRules(machinery, completed, stored, kept.faults)
    await checkReferences(machinery, transaction, completed)
    handled = watchedInput(request.trace, completed.input)
    const ctx = contextOf(transaction, targets)
    const handler = machinery.handlers.get(operation.key)
    if (handler === undefined) throw new ApiError('NOT_IMPLEMENTED', { operation: operation.id })
    const result: any = await handler(
      ctx as never,
      (prepare === undefined ? handled : { ...handled, prepared }) as never,
    )
    return result instanceof TwoPhaseEffect ? result : conclude(transaction, ctx, result)
  }
  const conclude = async (transaction: Transaction, ctx: WriteContext<D>, result: any): Promise<Reply> => {
    if (result?.extId !== undefined) created.push(result.extId)
    noteCreated(request.trace, operation, created)
    await machinery.admit(ctx, handled)
    const inScope = await createdInScope(machinery, transaction, call, created)
    if (request.trace !== undefined) request.trace.judged ??= inScope
    const answered = await answer(machinery, transaction, call, targets, result)
    await audit.write(transaction, {
      caller,
      credential: credentialOf(caller),
      address: request.address,
      operation: operation.key,
      status: answered.status,
      ...auditedId(request, requestId),
      ...auditedTarget(targets.row?.entity.extId ?? created[0]),
      ...(started[0] === undefined ? {} : { task: started[0] }),
      ...(isPlainObject(input.body) ? { changed: Object.keys(input.body) } : {}),
      dryRun: input.query.dryRun,
      decision: await machinery.access.explain(caller, operation, targets.judged ?? inScope),
    })
    if (key !== undefined) await idempotency.remember(transaction, key, fingerprint, answered)
    return answered
  }
  const committed = (reply: Reply): void => {
    if (reply.replayed !== true) for (const then of after) then()
  }
  /** `accepted`: the commit, where it is still to come. */
  const begin = (reply: Reply, accepted?: Promise<void>): void => {
    if (reply.replayed !== true) for (const each of beginnings) each(accepted)
  }
  /** In one transaction, or in two with what takes long between them. */
  const whole = async (): Promise<Reply> => {
    const first = await store.transaction(work)
    const reply = first instanceof TwoPhaseEffect ? await apart(first) : first
    begin(reply)
    committed(reply)
    return reply
  }
  const apart = async (effect: TwoPhaseEffect): Promise<Reply> => {
    try {
      await effect.make()
      return await store.transaction(async (transaction) => {
        const ctx = contextOf(transaction, targets)
        return conclude(transaction, ctx, await effect.conclude(ctx))
      })
    } catch (error) {
      await effect.revert().catch((fault) => {
        machinery.log.error({ err: fault, operation: operation.key }, 'what was made apart could not be taken back')
      })
      throw error
    }
  }
  if (request.onBehalfOf?.isStaged !== true) {
    return {
      reply: await (machinery.serialised === undefined ? whole() : machinery.serialised(operation, input, key, whole)),
    }
  }
  const { applied, durable } = store.stage(work)
  // Where the work was refused nobody asks for the commit.
  durable.catch(() => undefined)
  const reply = await applied
  if (reply instanceof TwoPhaseEffect)
    throw new Error(`${operation.key} takes two transactions: no element of a batch can`)
  begin(reply, durable)
  return { reply, durable: durable.then(() => committed(reply)) }
}

const isPlainObject = (body: unknown): body is object =>
  typeof body === 'object' && body !== null && !Array.isArray(body)

/** What the operation answers, of what its handler returned and of the row as it stands now. */
async function answer(
  { tags }: Machinery<any>,
  transaction: Transaction,
  { operation, version, warnings, input }: Call,
  targets: Targets,
  result: any,
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
  const extId = operation.verb === 'create' ? result?.extId : targets.row?.entity.extId
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

/** The collection's path with the values that were asked for. */
const pathOf = ({ path }: Operation, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))

/** Conventions 16.8: the scope of a create is asked of the entity as it was stored. A part was judged by its entity. */
async function createdInScope(
  { access }: Machinery<any>,
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
