/**
 * Kinds in the network fabric: one transaction leases, marks the row with `change` and starts the task; GET shows the old configuration
 * until the task succeeds. Source: behaviour networking.md 1.1 (life of an entity row), 1.22.
 */
import type { AnyResource, EntityOf, ValueOf } from '@hyperplane/contract'
import { Change, type EntityMetadata } from '@hyperplane/contract/networking/shapes'
import { ApiError } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import type { AnyTask } from '../../core/tasks/define-task.ts'
import { created, replaced } from '../../core/updates.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import {
  affected,
  defineTask,
  type RecordContext,
  type Step,
  type StepContext,
  type TaskOptions,
  type WriteContext,
} from '../context.ts'
import { type Limit, limitOf } from '../limits.ts'
import { refuseWhileChanging } from './busy.ts'
import { metadataOf, type Owner, ownerMetadata, ownerOf } from './metadata.ts'

type Verb = Exclude<ValueOf<typeof Change>['verb'], 'upgrade'>
type AnyRow = EntityOf<AnyResource>
type Metadata = ValueOf<typeof EntityMetadata>

interface Row {
  readonly extId: string
  readonly name?: string
  readonly tenantId?: string | undefined
  readonly metadata?: Metadata | undefined
  readonly change?: ValueOf<typeof Change> | undefined
}

/** Seconds: median and p95; absent: as long as its call takes. */
type StepTerms = readonly [name: string, progress: number, seconds?: readonly [number, number]]

/** Programmed in order, undone and removed in reverse order. An absent verb skips the phase. */
export interface Phase<E> {
  readonly create?: StepTerms
  readonly update?: StepTerms
  readonly delete?: StepTerms
  /** `before`: the stored row, in updates. The result is that of the step. */
  program?(ctx: StepContext, entity: E, before?: E): Promise<unknown>
  remove?(ctx: StepContext, entity: E): Promise<void>
  /** Undoes an update. Default: programs `stored`. */
  restore?(ctx: StepContext, stored: E, after: E): Promise<void>
  /** A creation writes this with the step. If it fails later, `release` has to remove it. */
  record?(ctx: RecordContext, entity: E): Promise<void>
}

export interface Lifecycle<E extends Row, B, A> {
  readonly noun?: string
  readonly phases: readonly Phase<E>[]
  /** Step of the creation before which it can be cancelled. Default: none. */
  readonly cancelableUntil?: string
  /** Resolves references of the body. @param prepared by the kind's `prepare`, if any @throws ApiError 400, 404, 503 */
  resolve(ctx: WriteContext, body: B, stored: E | undefined, prepared: unknown): Promise<A>
  /** Values that differ from the body, or that it cannot express. Leases addresses. @throws ApiError 409, 422 */
  configure(ctx: WriteContext, request: Configuring<E, B, A>): Promise<Partial<E>>
  /** Default: the caller that created the entity. */
  owner?(request: Configuring<E, B, A>): Owner
  task?(ctx: WriteContext, entity: E, before: E | undefined): Promise<Partial<TaskOptions>>
  /** Values of `change` that are no fields of the kind. An update copies the others from the entity while its task runs. */
  held?(entity: E): object
  /** Among these rows, no two have the same values in `fields`, values held by updates included. */
  readonly unique?: {
    readonly fields: readonly (keyof E & string)[]
    among(ctx: WriteContext, entity: E): Promise<readonly E[]>
    text(entity: E): string
  }
  /** @throws ApiError 400 or 409 when the row may not be deleted */
  refuseRemoval?(ctx: WriteContext, stored: E): Promise<void>
  /** Runs when an update ends. @param entity as stored then @param result of the last phase; absent after a failure */
  settle?(ctx: RecordContext, entity: E, result?: unknown): Promise<void>
  release?(ctx: RecordContext, entity: E): Promise<void>
}

export interface Configuring<E, B, A> {
  readonly body: B
  readonly references: A
  /** As the body alone would store it. */
  readonly entity: E
  readonly stored: E | undefined
}

interface Requested<B> {
  readonly body: B
  readonly prepared?: unknown
}

interface OfRow<E> {
  readonly entity: E
}
interface Update<E> {
  readonly after: E
}

const titled = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export function lifecycle<E extends Row, B extends { readonly metadata?: Metadata | undefined }, A>(
  kind: AnyResource,
  life: Lifecycle<E, B, A>,
) {
  const tasks = tasksOf(kind, life)

  async function optionsOf(ctx: WriteContext, verb: Verb, entity: E, before?: E): Promise<TaskOptions> {
    const { extId, name } = entity
    const { affected: others = [], locks = [], ...more } = (await life.task?.(ctx, entity, before)) ?? {}
    return {
      operation: `k${kind.kind}${titled(verb)}`,
      description: [titled(verb), kind.title, ...(name === undefined ? [] : [before?.name ?? name])].join(' '),
      affected: [affected(kind, { extId, name: before?.name ?? name }), ...others],
      locks: [extId, ...locks],
      ...more,
    }
  }
  async function configured(ctx: WriteContext, request: Configuring<E, B, A>, owner: Owner): Promise<E> {
    const { entity } = request
    const metadata = metadataOf(entity.metadata, life.owner?.(request) ?? owner)
    const next = defined({ ...entity, ...(await life.configure(ctx, request)), metadata }) as unknown as E
    await refuseTaken(ctx, kind, life, next)
    return next
  }
  const refuseBusy = (stored: E): void =>
    refuseWhileChanging(titled(kind.title), { ...stored, name: stored.name ?? stored.extId })

  return {
    tasks: [tasks.create, tasks.update, tasks.delete] as readonly AnyTask<Drivers>[],

    async create(ctx: WriteContext, { body, prepared }: Requested<B>): Promise<TaskStarted> {
      const references = await life.resolve(ctx, body, undefined, prepared)
      const bare = created(ctx, kind, body) as unknown as E
      const entity = await configured(
        ctx,
        { body, references, entity: bare, stored: undefined },
        ownerMetadata(ctx.caller),
      )
      const task = await ctx.startTask(tasks.create, { entity }, await optionsOf(ctx, 'create', entity))
      const row: E = { ...entity, change: { taskExtId: task.extId, verb: 'create' } }
      await ctx.store.insert(kind, row as AnyRow)
      return { ...task, created: entity.extId }
    },

    async update(ctx: WriteContext<E>, { body, prepared }: Requested<B>): Promise<TaskStarted> {
      const before: E = { ...ctx.target, change: undefined }
      const references = await life.resolve(ctx, body, before, prepared)
      refuseBusy(ctx.target)
      const bare = replaced(kind, before as AnyRow, body, ctx.version) as unknown as E
      const after = await configured(ctx, { body, references, entity: bare, stored: before }, ownerOf(before))
      const task = await ctx.startTask(tasks.update, { after }, await optionsOf(ctx, 'update', after, before))
      await ctx.store.update(kind, after.extId, {
        change: { taskExtId: task.extId, verb: 'update', ...heldFields(kind, after), ...life.held?.(after) },
      })
      return task
    },

    async remove(ctx: WriteContext<E>): Promise<TaskStarted> {
      const stored = ctx.target
      refuseBusy(stored)
      await life.refuseRemoval?.(ctx, stored)
      const task = await ctx.startTask(tasks.delete, { entity: stored }, await optionsOf(ctx, 'delete', stored))
      await ctx.store.update(kind, stored.extId, { change: { taskExtId: task.extId, verb: 'delete' } })
      return task
    },
  }
}

function heldFields(kind: AnyResource, entity: Row): object {
  const { fields } = kind.internal['change'] as typeof Change
  const names = Object.keys(fields).filter((name) => !(name in Change.fields))
  return defined(Object.fromEntries(names.map((name) => [name, entity[name as keyof Row]])))
}

function tasksOf<E extends Row, B, A>(kind: AnyResource, life: Lifecycle<E, B, A>) {
  const { cancelableUntil, noun = kind.rel.split(':').at(-1), phases, settle, release } = life
  const name = (verb: Verb): string => `networking.${verb}-${noun}`
  /** Read again: another request may have detached the row since this task began. */
  const storedOf = async (ctx: Pick<StepContext, 'store'>, { extId }: E): Promise<E | undefined> =>
    (await ctx.store.get(kind, extId)) as E | undefined
  const leave = async (ctx: RecordContext, { entity }: OfRow<E>): Promise<void> => {
    await release?.(ctx, entity)
    await ctx.store.remove(kind, entity.extId)
  }
  const create = stepsOf<E, OfRow<E>>(
    phases,
    'create',
    ({ program, remove, record }) => ({
      ...(program !== undefined && { run: (ctx, { entity }) => program(ctx, entity) }),
      ...(remove !== undefined && { undo: (ctx, { entity }) => remove(ctx, entity) }),
      ...(record !== undefined && { record: (ctx, { entity }) => record(ctx, entity) }),
    }),
    async (ctx, { entity }) => void (await ctx.store.update(kind, entity.extId, { change: undefined })),
  )
  const update = stepsOf<E, Update<E>>(
    phases,
    'update',
    ({ program, restore = async (ctx, stored) => void (await program?.(ctx, stored)) }) => ({
      run: async (ctx, { after }) => program?.(ctx, after, await storedOf(ctx, after)),
      undo: async (ctx, { after }) => {
        const stored = await storedOf(ctx, after)
        if (stored !== undefined) await restore(ctx, stored, after)
      },
    }),
    async (ctx, { after }, result) => {
      await ctx.store.replace(kind, after as AnyRow)
      await settle?.(ctx, after, result)
    },
  )
  const remove = stepsOf<E, OfRow<E>>(
    phases.toReversed(),
    'delete',
    ({ remove }) => ({ run: async (ctx, { entity }) => remove?.(ctx, entity) }),
    leave,
  )
  return {
    create: defineTask<OfRow<E>>({
      name: name('create'),
      steps: create,
      onUndone: leave,
      ...(cancelableUntil !== undefined && { cancelableUntil }),
    }),
    update: defineTask<Update<E>>({
      name: name('update'),
      steps: update,
      async onUndone(ctx, { after }) {
        const stored = await storedOf(ctx, after)
        // Unregistering the cluster removes rows.
        if (stored === undefined) return
        // First: `settle` releases what `change` holds.
        await ctx.store.update(kind, stored.extId, { change: undefined })
        await settle?.(ctx, stored)
      },
    }),
    delete: defineTask<OfRow<E>>({
      name: name('delete'),
      steps: remove,
      ...(remove[0] !== undefined && { pointOfNoReturn: remove[0].name }),
    }),
  }
}

/** The last step only records the end of the task. */
function stepsOf<E, I>(
  phases: readonly Phase<E>[],
  verb: Verb,
  calls: (phase: Phase<E>) => Pick<Step<I>, 'record' | 'run' | 'undo'>,
  end: (ctx: RecordContext, input: I, result: unknown) => Promise<void>,
): readonly Step<I>[] {
  const steps = phases.flatMap((phase) => {
    const terms = phase[verb]
    return terms === undefined
      ? []
      : [{ name: terms[0], progress: terms[1], ...(terms[2] && { seconds: terms[2] }), ...calls(phase) }]
  })
  return steps.map((step, index) => (index === steps.length - 1 ? { ...step, record: end } : step))
}

async function refuseTaken<E extends Row, B, A>(
  ctx: WriteContext,
  kind: AnyResource,
  { unique }: Lifecycle<E, B, A>,
  entity: E,
): Promise<void> {
  if (unique === undefined || unique.fields.some((field) => entity[field] === undefined)) return
  const has = (holder: Partial<E> | undefined): boolean =>
    unique.fields.every((field) => holder?.[field] === entity[field])
  const others = (await unique.among(ctx, entity)).filter(({ extId }) => extId !== entity.extId)
  if (!others.some((each) => has(each) || has(each.change as Partial<E> | undefined))) return
  throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: kind.title, fields: unique.text(entity) })
}

/** @param found number of entities after the request @throws ApiError 422 */
export function refuseBeyond(ctx: WriteContext, of: Limit, label: string, found: number): void {
  const maximum = limitOf(ctx, of)
  if (found > maximum) throw new ApiError('NETWORKING_LIMIT_EXCEEDED', { limit: label, maximum, found })
}
