/** Steps 10 and 11: every entity in the path exists, is visible, and may be used. Source: conventions 1, 16. */

import type { Resource } from '@hyperplane/contract'
import { and, equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { isInScope } from '../access/scope.ts'
import type { ApiError } from '../api-error.ts'
import type { AnyEntity, Document } from '../document.ts'
import type { EntityTags } from '../ids/etag.ts'
import { pathOf as fieldPathOf, filterOf, notFound } from '../standard.ts'
import { type Call, type Targets, valueAt } from './call.ts'
import type { MutationMachinery } from './machinery.ts'
import { denied } from './refusals.ts'
import { noteTarget } from './traced.ts'

export const noTargets: Targets = { row: undefined, parents: {}, named: undefined, judged: undefined }

/** @throws ApiError 404, 403 */
export async function findTargets<D>(machinery: MutationMachinery<D>, reader: Reader, call: Call): Promise<Targets> {
  const { access } = machinery
  const { request, operation, scope, input } = call
  const { path } = input
  const parents: Record<string, AnyEntity> = {}
  let row: Targets['row']
  let named: Targets['named']
  let judged: unknown
  for (const { parameter, id, kind, isTarget } of namedIn(machinery, call)) {
    if (kind.parent?.listedIn !== undefined)
      await requireListed(machinery, reader, kind, parents[kind.parent.param], id)
    if (kind.derived === true) continue
    if (isTarget) noteTarget(request.trace, kind, id)
    const found = (await reader.row(kind, id)) ?? (await computedRow(machinery, reader, kind, parents, id))
    const missing = (): ApiError => notFound(kind, id, parameter)
    if (found === undefined) throw missing()
    const parentId = kind.parent === undefined ? undefined : path[kind.parent.param]
    if (parentId !== undefined && valueAt(found.entity, kind.parent?.field as string) !== parentId) throw missing()
    // The scope applies to the target or its owner; every other entity in the path must be visible.
    const isJudged = kind.kind === access.scopedKind(operation)
    const isReached = !isJudged || isInScope(scope, found.entity)
    const isOpen = operation.roles === 'everyone' || (isJudged && access.isView(operation, kind))
    if (!isOpen && !(await isSeen(machinery, reader, call, { kind, entity: found.entity, isJudged, isTarget }))) {
      if (request.trace !== undefined) request.trace.decision = 'the entity exists, but this identity may not see it'
      throw missing()
    }
    if (!isReached) throw operation.mutates ? denied(operation, ' on this entity') : missing()
    if (isJudged) judged = found.entity
    if (isJudged && request.trace !== undefined) request.trace.judged = judged
    if (isTarget) row = found
    else parents[parameter] = found.entity
    // Parts share the entity tag of their parent (a disk of a VM): If-Match is compared with the parent's.
    if (kind.sharesTagOf === undefined) named = { kind, entity: found.entity, version: found.version }
  }
  const only = operation.resource
  if (only?.singleton === true) {
    const [entity] = await reader.find(only)
    row = entity === undefined ? undefined : await reader.row(only, entity.extId)
    if (row === undefined) throw notFound(only, only.title, 'path')
    named = { kind: only, ...row }
  }
  return { row, parents, named, judged }
}

interface NamedInPath {
  readonly parameter: string
  readonly id: string
  readonly kind: Resource
  readonly isTarget: boolean
}

/** An entity under the id of its parent (the certificate of a cluster): its parent comes first. */
function* namedIn<D>({ kinds }: MutationMachinery<D>, { operation, input }: Call): Generator<NamedInPath> {
  for (const [parameter, id] of Object.entries(input.path)) {
    const kind = kinds.resource(operation.pathKinds[parameter] ?? '')
    if (kind === undefined) continue
    const parent = kind.parent?.param === parameter ? kinds.resource(kind.parent.kind) : undefined
    if (parent !== undefined) yield { parameter, id, kind: parent, isTarget: false }
    yield { parameter, id, kind, isTarget: parameter === operation.target }
  }
}

/** An entity without a row, see `Computed`. No request changes it, so its version stays. */
async function computedRow<D>(
  { computed, world }: MutationMachinery<D>,
  store: Reader,
  { kind }: Resource,
  parents: Targets['parents'],
  extId: string,
): Promise<Targets['row']> {
  const entity = await computed.get(kind)?.({ ...world, store, parents }, extId)
  return entity && { entity: entity as AnyEntity, version: 0, sequence: 0 }
}

async function requireListed<D>(
  { kinds }: MutationMachinery<D>,
  reader: Reader,
  kind: Resource,
  parent: AnyEntity | undefined,
  id: string,
): Promise<void> {
  const { listedIn = '', orRowOf = '', field = '' } = kind.parent ?? {}
  const listed = ((parent as Document | undefined)?.[listedIn] ?? []) as readonly { readonly extId: string }[]
  if (listed.some(({ extId }) => extId === id)) return
  const rows = kinds.resource(orRowOf)
  const row = rows === undefined ? undefined : await reader.get(rows, id)
  if (row === undefined || valueAt(row, field) !== parent?.extId) throw notFound(kind, id, 'extId')
}

interface Named {
  readonly kind: Resource
  readonly entity: AnyEntity
  readonly isJudged: boolean
  readonly isTarget: boolean
}

async function isSeen<D>(
  { access }: MutationMachinery<D>,
  reader: Reader,
  { operation, caller, scope, input }: Call,
  { kind, entity, isJudged, isTarget }: Named,
): Promise<boolean> {
  const view = await access.viewScope(caller, kind)
  if (view !== undefined) return isInScope(view, entity)
  const reach = await access.reachOfUnseen(caller, operation, kind)
  if (isJudged) return reach === 'by role' && isInScope(scope, entity)
  if (isTarget || reach === undefined) return reach === 'by role'
  if (reach === 'by role' && scope === 'all') return true
  // A policy for the hosts of one cluster shows them below their cluster, although it does not show the cluster.
  const below = operation.resource
  if (below?.parent?.kind !== kind.kind || below.derived === true || access.scopedKind(operation) !== below.kind)
    return false
  const parent = equals(fieldPathOf(below, below.parent.field), entity.extId)
  const childId = operation.target === undefined ? undefined : input.path[operation.target]
  const filter = childId === undefined ? parent : and(parent, equals(fieldPathOf(below, 'extId'), childId))
  const [found] = await reader.find(below, { filter, scope: filterOf(scope), limit: 1, isBounded: true })
  return found !== undefined
}

export const targetsSeen = <D>(machinery: MutationMachinery<D>, call: Call): Promise<Targets | undefined> =>
  findTargets(machinery, machinery.store, call).catch(() => undefined)

export function tagOf(tags: EntityTags, { operation }: Call, { row, named }: Targets): string | undefined {
  if (operation.resource?.sharesTagOf !== undefined && named !== undefined) {
    return tags.of(named.kind.kind, named.entity.extId, named.version)
  }
  return row === undefined || operation.resource === undefined
    ? undefined
    : tags.of(operation.resource.kind, row.entity.extId, row.version)
}
