/** Removes names of affected entities outside the caller's scope. Source: behaviour platform.md 2. */
import { contract, type Resource } from '@hyperplane/contract'
import { matchesScope } from '../../core/access/scope.ts'
import type { AffectedEntity, ReadContext } from '../context.ts'

const kindsByRel: ReadonlyMap<string, Resource> = new Map(
  contract
    .flatMap((namespace) => namespace.resources)
    // A derived kind has the `rel` of the kind that it is derived from.
    .filter(({ derived }) => derived !== true)
    .map((resource) => [resource.rel, resource]),
)

/** All lists together, to query each kind only once. */
export async function withVisibleNames(
  ctx: ReadContext,
  lists: readonly (readonly AffectedEntity[])[],
): Promise<readonly (readonly AffectedEntity[])[]> {
  const named = new Map<string, Set<string>>()
  for (const { rel, extId, name } of lists.flat()) {
    if (name !== undefined) named.set(rel, (named.get(rel) ?? new Set()).add(extId))
  }
  const scopes = new Map<string, 'all' | ReadonlySet<string>>()
  for (const [rel, extIds] of named) {
    const resource = kindsByRel.get(rel)
    if (resource !== undefined) scopes.set(rel, await visibleOf(ctx, resource, [...extIds]))
  }
  if ([...scopes.values()].every((scope) => scope === 'all')) return lists
  const isVisible = ({ rel, extId }: AffectedEntity): boolean => {
    const scope = scopes.get(rel)
    return scope === undefined || scope === 'all' || scope.has(extId)
  }
  return lists.map((list) =>
    list.map((entity) => {
      if (entity.name === undefined || isVisible(entity)) return entity
      const { name: _, ...nameless } = entity
      return nameless
    }),
  )
}

async function visibleOf(
  ctx: ReadContext,
  resource: Resource,
  extIds: readonly string[],
): Promise<'all' | ReadonlySet<string>> {
  const scope = await ctx.scopeOf(resource.kind)
  if (scope === undefined) return 'all'
  if (scope === 'none' || resource.derived === true) return new Set()
  const found = await ctx.store.getMany(resource, extIds)
  return new Set(found.filter((entity) => matchesScope(scope, entity)).map((entity) => entity.extId))
}
