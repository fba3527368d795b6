/**
 * Kinds that are programmed into the network fabric. The request takes addresses and unique values, marks the row with
 * `change` and starts the task in one transaction. GET shows the old configuration until the task succeeds.
 * Source: behaviour networking.md 1.1 (life of an entity row), 1.22.
 */
import type { AnyResource, EntityOf, ValueOf } from '@hyperplane/contract'
import type { Change, EntityMetadata } from '@hyperplane/contract/networking/shapes'
import { ApiError } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import type { RecordContext, Step, StepContext, TaskDefinition, TaskOptions } from '../../core/tasks/define-task.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { defineTask, type WriteContext } from '../context.ts'
import { type Limit, limitOf } from '../limits.ts'
import { refuseWhileChanging } from './busy.ts'
import { metadataOf, ownedBy, ownerOf } from './metadata.ts'

type Verb = ValueOf<typeof Change>['verb']
type AnyRow = EntityOf<AnyResource>
type Metadata = ValueOf<typeof EntityMetadata>

interface Row {
  readonly extId: string
  readonly name?: string
  readonly tenantId?: string | undefined
  readonly metadata?: Metadata | undefined
  readonly change?: ValueOf<typeof Change> | undefined
}

/** Seconds: median and p95. */
type StepTerms = readonly [name: string, progress: number, seconds: readonly [number, number]]

/** Programmed in order, undone and removed in reverse order. An absent verb skips the phase. */
export interface Phase<E> {
  readonly create?: StepTerms
  readonly update?: StepTerms
  readonly delete?: StepTerms
  /** `before`: the stored row, in updates. The result is that of the step. */
  program(ctx: StepContext<Drivers>, entity: E, before?: E): Promise<unknown>
  remove?(ctx: StepContext<Drivers>, entity: E): Promise<void>
}

export interface Lifecycle<E extends Row, B, A> {
  readonly phases: readonly Phase<E>[]
  /** Looks up what the body refers to. @throws ApiError 400, 404, 503 */
  resolve(ctx: WriteContext, body: B, stored: E | undefined): Promise<A>
  /** The new configuration. Takes addresses for `extId`. @throws ApiError 409, 422 */
  configure(ctx: WriteContext, request: Configuring<E, B, A>): Promise<Omit<E, keyof Row> & { readonly name?: string }>
  task?(ctx: WriteContext, entity: E, before: E | undefined): Promise<Partial<TaskOptions>>
  /** Values that an update reserves in `change` until it ends. */
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
  settle?(ctx: RecordContext<Drivers>, entity: E, result?: unknown): Promise<void>
  release?(ctx: RecordContext<Drivers>, entity: E): Promise<void>
}

export interface Configuring<E, B, A> {
  readonly body: B
  readonly references: A
  readonly extId: string
  readonly stored: E | undefined
}

interface OfRow<E> {
  readonly entity?: E
  readonly extId?: string
  readonly program?: { readonly extId: string }
}
/** In tasks of earlier versions `after` may be a program and `entity` the row. */
interface Update<E> {
  readonly after: E
  readonly entity?: E
}

const titled = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export function lifecycle<E extends Row, B extends { readonly metadata?: Metadata | undefined }, A>(
  kind: AnyResource,
  life: Lifecycle<E, B, A>,
) {
  const tasks = tasksOf(kind, life)

  async function optionsOf(ctx: WriteContext, verb: Verb, entity: E, before?: E): Promise<TaskOptions> {
    const { extId, name } = entity
    const { affected = [], locks = [], ...more } = (await life.task?.(ctx, entity, before)) ?? {}
    return {
      operation: `k${kind.kind}${titled(verb)}`,
      description: [titled(verb), kind.title, ...(name === undefined ? [] : [before?.name ?? name])].join(' '),
      affected: [
        { extId, ...(name !== undefined && { name: before?.name ?? name }), rel: kind.rel as string },
        ...affected,
      ],
      locks: [extId, ...locks],
      ...more,
    }
  }
  const refuseBusy = (stored: E): void =>
    refuseWhileChanging(titled(kind.title), { ...stored, name: stored.name ?? stored.extId })

  return {
    tasks: [tasks.create, tasks.update, tasks.delete] as readonly TaskDefinition<Drivers, any>[],

    async create(ctx: WriteContext, { body }: { readonly body: B }): Promise<TaskStarted> {
      const references = await life.resolve(ctx, body, undefined)
      const extId = ctx.ids.uuid()
      const configured = await life.configure(ctx, { body, references, extId, stored: undefined })
      const metadata = metadataOf(body.metadata, ownedBy(ctx.caller))
      const entity = { ...configured, extId, tenantId: ctx.tenantId, metadata } as unknown as E
      await refuseTaken(ctx, kind, life, entity)
      const task = await ctx.startTask(tasks.create, { entity }, await optionsOf(ctx, 'create', entity))
      const row: E = { ...entity, change: { taskExtId: task.extId, verb: 'create' } }
      await ctx.store.insert(kind, row as AnyRow)
      return { ...task, created: extId }
    },

    async update(ctx: WriteContext<E>, { body }: { readonly body: B }): Promise<TaskStarted> {
      const before: E = { ...ctx.target, change: undefined }
      const references = await life.resolve(ctx, body, before)
      refuseBusy(ctx.target)
      const { extId, tenantId } = before
      const configured = await life.configure(ctx, { body, references, extId, stored: before })
      const metadata = metadataOf(body.metadata, ownerOf(before))
      const after = { ...configured, extId, tenantId, metadata } as unknown as E
      await refuseTaken(ctx, kind, life, after)
      const task = await ctx.startTask(tasks.update, { after }, await optionsOf(ctx, 'update', after, before))
      await ctx.store.update(kind, extId, { change: { taskExtId: task.extId, verb: 'update', ...life.held?.(after) } })
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

function tasksOf<E extends Row, B, A>(kind: AnyResource, { phases, settle, release }: Lifecycle<E, B, A>) {
  const name = (verb: Verb): string => `networking.${verb}-${(kind.rel as string).split(':').at(-1)}`
  /** Read again: another request may have detached the row since this task began. */
  const storedOf = async (ctx: Pick<StepContext<Drivers>, 'store'>, { extId }: E): Promise<E | undefined> =>
    (await ctx.store.get(kind, extId)) as E | undefined
  const rowOf = async (
    { store }: Pick<StepContext<Drivers>, 'store'>,
    { entity, extId, program }: OfRow<E>,
  ): Promise<E> => entity ?? ((await store.get(kind, extId ?? program?.extId ?? '')) as unknown as E)
  const nextOf = ({ after, entity = after }: Update<E>): E => entity
  const leave = async (ctx: RecordContext<Drivers>, input: OfRow<E>): Promise<void> => {
    const entity = await rowOf(ctx, input)
    await release?.(ctx, entity)
    await ctx.store.remove(kind, entity.extId)
  }
  const create = stepsOf<E, OfRow<E>>(
    phases,
    'create',
    ({ program, remove }) => ({
      run: async (ctx, input) => program(ctx, await rowOf(ctx, input)),
      ...(remove !== undefined && { undo: async (ctx, input) => remove(ctx, await rowOf(ctx, input)) }),
    }),
    async (ctx, input) => void (await ctx.store.update(kind, (await rowOf(ctx, input)).extId, { change: undefined })),
  )
  const update = stepsOf<E, Update<E>>(
    phases,
    'update',
    ({ program }) => ({
      run: async (ctx, input) => program(ctx, nextOf(input), await storedOf(ctx, nextOf(input))),
      undo: async (ctx, input) => {
        const stored = await storedOf(ctx, nextOf(input))
        if (stored !== undefined) await program(ctx, stored)
      },
    }),
    async (ctx, input, result) => {
      const after = nextOf(input)
      await ctx.store.replace(kind, after as AnyRow)
      await settle?.(ctx, after, result)
    },
  )
  const remove = stepsOf<E, OfRow<E>>(
    phases.toReversed(),
    'delete',
    ({ remove }) => ({ run: async (ctx, input) => remove?.(ctx, await rowOf(ctx, input)) }),
    leave,
  )
  return {
    create: defineTask<OfRow<E>>({ name: name('create'), steps: create, onUndone: leave }),
    update: defineTask<Update<E>>({
      name: name('update'),
      steps: update,
      async onUndone(ctx, input) {
        const stored = await storedOf(ctx, nextOf(input))
        // Unregistering the cluster removes rows.
        if (stored === undefined) return
        await settle?.(ctx, stored)
        await ctx.store.update(kind, stored.extId, { change: undefined })
      },
    }),
    delete: defineTask<OfRow<E>>({
      name: name('delete'),
      steps: remove,
      ...(remove[0] !== undefined && { pointOfNoReturn: remove[0].name }),
    }),
  }
}

/** The last step records the end of the task. */
function stepsOf<E, I>(
  phases: readonly Phase<E>[],
  verb: Verb,
  calls: (phase: Phase<E>) => Pick<Step<Drivers, I>, 'run' | 'undo'>,
  end: (ctx: RecordContext<Drivers>, input: I, result: unknown) => Promise<void>,
): readonly Step<Drivers, I>[] {
  const steps = phases.flatMap((phase) => {
    const terms = phase[verb]
    return terms === undefined ? [] : [{ name: terms[0], progress: terms[1], seconds: terms[2], ...calls(phase) }]
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

/** @param found the number of entities after the request @throws ApiError 422 */
export function refuseBeyond(ctx: WriteContext, of: Limit, label: string, found: number): void {
  const maximum = limitOf(ctx, of)
  if (found > maximum) throw new ApiError('NETWORKING_LIMIT_EXCEEDED', { limit: label, maximum, found })
}
