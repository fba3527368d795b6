/** Source: specification 4.8; behaviour vmm.md 1.15; clustermgmt.md 1.17. */

import type { AnyResource, EntityOf, Fields, ObjectSchema } from '@hyperplane/contract'
import type { ListResult } from '../../core/handlers.ts'
import type { RequestInput } from '../../core/input/request-input.ts'
import { listOf } from '../../core/standard.ts'
import { applySelection, type SelectedFields, type Selection } from '../../odata/index.ts'
import type { ReadContext } from '../context.ts'
import { diskFigures, type Figure, nicFigures, vmFigures } from './figures.ts'
import {
  bucketsOf,
  type Grid,
  gridOf,
  maximumPoints,
  type StatType,
  singleBucketOf,
  spanOf,
  warnOfWidening,
} from './grid.ts'
import { pointsOf, type Subject } from './series.ts'

export type Request = Pick<RequestInput, 'query'>

const maximumOfPage = 60_000
const together = 20

type Tuple<P> = ObjectSchema<Fields> & { readonly is?: P }

interface Measured<E, P> {
  readonly tuple: Tuple<P>
  readonly subjectsOf: (ctx: ReadContext, entities: readonly E[]) => Promise<readonly Subject[]>
}

interface MeasuredKind<R extends AnyResource, P> extends Measured<EntityOf<R>, P> {
  readonly kind: R
}

export type StatsOfVm<P> = { readonly extId: string; readonly stats?: P[] }

/** `$filter` and `$orderby` compare aggregates of the VM over the whole span. */
export async function listStatistics<R extends AnyResource, P>(
  ctx: ReadContext,
  request: Request,
  measured: MeasuredKind<R, P>,
): Promise<ListResult<StatsOfVm<P>>> {
  const { query } = request
  const span = spanOf(query.parameters, ctx.clock.now())
  const scope = await ctx.scopeOf(measured.kind.kind)
  if (scope === 'none') return { entities: [], total: 0 }
  const visible = scope === undefined ? {} : { scope }
  let page: { entities: readonly EntityOf<R>[]; total: number }
  if (query.filter === undefined && query.orderby === undefined) {
    page = await ctx.store.page(measured.kind, { ...visible, offset: query.page * query.limit, limit: query.limit })
  } else {
    const all = await ctx.store.find(measured.kind, visible)
    const matching = listOf(await aggregates(ctx, request, measured, all, span), request)
    const byId = new Map(all.map((entity) => [entity.extId, entity]))
    page = { total: matching.total, entities: matching.entities.map(({ extId }) => byId.get(extId) as EntityOf<R>) }
  }
  const names = wantedNames(query.select, measured.tuple)
  if (names === undefined) return { total: page.total, entities: page.entities.map(({ extId }) => ({ extId })) }
  const most = Math.min(maximumPoints, Math.floor(maximumOfPage / Math.max(1, page.entities.length)))
  const buckets = bucketsOf(gridFor(ctx, request, span, most))
  const wanted = { figures: vmFigures, names, type: typeOf(request) }
  const entities = await each(await measured.subjectsOf(ctx, page.entities), async (subject) => ({
    extId: subject.vm.extId,
    stats: (await pointsOf(ctx.drivers.telemetry, subject, buckets, wanted)) as P[],
  }))
  return { entities, total: page.total }
}

async function aggregates<E, P>(
  ctx: ReadContext,
  { query }: Request,
  { tuple, subjectsOf }: Measured<E, P>,
  entities: readonly E[],
  span: { readonly from: number; readonly to: number },
): Promise<StatsOfVm<P>[]> {
  const requested = JSON.stringify([query.filter, query.orderby])
  const names = namesIn(tuple).filter((name) => requested.includes(`"${name}"`))
  const wanted = { figures: vmFigures, names, type: typeOf({ query }) }
  return each(await subjectsOf(ctx, entities), async (subject) => ({
    extId: subject.vm.extId,
    stats: (await pointsOf(ctx.drivers.telemetry, subject, [singleBucketOf(span)], wanted)) as P[],
  }))
}

export async function vmStatistics<E extends { extId: string }, P>(
  ctx: ReadContext<E>,
  request: Request,
  measured: Measured<E, P>,
): Promise<StatsOfVm<P>> {
  const [subject] = await measured.subjectsOf(ctx, [ctx.target])
  return partStatistics(ctx, request, subject as Subject, { extId: ctx.target.extId }, measured.tuple, vmFigures)
}

export const diskStatistics = <P>(
  ctx: ReadContext,
  request: Request,
  subject: Subject,
  of: PartOfVm,
  tuple: Tuple<P>,
) =>
  partStatistics(
    ctx,
    request,
    subject,
    of,
    tuple,
    diskFigures,
    subject.vm.disks.findIndex(({ extId }) => extId === of.extId),
  )

export const nicStatistics = <P>(ctx: ReadContext, request: Request, subject: Subject, of: PartOfVm, tuple: Tuple<P>) =>
  partStatistics(ctx, request, subject, of, tuple, nicFigures)

interface PartOfVm {
  readonly extId: string
  readonly vmExtId?: string
}

async function partStatistics<O extends PartOfVm, P>(
  ctx: ReadContext,
  request: Request,
  subject: Subject,
  of: O,
  tuple: Tuple<P>,
  figures: Readonly<Record<string, Figure>>,
  disk?: number,
): Promise<O & { stats?: P[] }> {
  const span = spanOf(request.query.parameters, ctx.clock.now())
  const { select } = request.query
  const names = wantedNames(select, tuple)
  const shown = (entity: O & { stats?: P[] }) => (select === undefined ? entity : applySelection(select, entity))
  if (names === undefined) return shown(of)
  const buckets = bucketsOf(gridFor(ctx, request, span, maximumPoints))
  const wanted = { figures, names, type: typeOf(request), disk }
  return shown({ ...of, stats: (await pointsOf(ctx.drivers.telemetry, subject, buckets, wanted)) as P[] })
}

export const typeOf = ({ query }: Request): StatType => query.parameters['$statType'] as StatType

export function gridFor(ctx: ReadContext, { query }: Request, span: { from: number; to: number }, most: number): Grid {
  const grid = gridOf(span, query.parameters['$samplingInterval'] as number, most)
  warnOfWidening(ctx, grid)
  return grid
}

const namesIn = (tuple: ObjectSchema<Fields>): string[] =>
  Object.keys(tuple.fields).filter((name) => name !== 'timestamp')

/** Adds the timestamp. Undefined: no points are selected. */
function wantedNames(select: Selection | undefined, tuple: ObjectSchema<Fields>): string[] | undefined {
  if (select === undefined || select.fields === 'all') return namesIn(tuple)
  const stats = select.fields.get('stats')
  if (stats === undefined) return undefined
  if (stats === 'all') return namesIn(tuple)
  const names = [...stats.keys()]
  ;(stats as Map<string, SelectedFields>).set('timestamp', 'all')
  return namesIn(tuple).filter((name) => names.includes(name))
}

async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) {
    results.push(await work(item))
    if (results.length % together === 0) await new Promise(setImmediate)
  }
  return results
}
