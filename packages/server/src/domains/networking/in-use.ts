/** Refusals because of the state of entities: 409. Source: behaviour networking.md 1.1. */
import { ApiError } from '../../core/api-error.ts'
import type { Kinds } from '../../core/ports.ts'
import type { Reader, Referrer } from '../../store/store.ts'

export interface Asking {
  readonly store: Reader
  readonly kinds: Kinds
}

const maximumNamed = 5
const maximumOfKind = 100

/** 409 for a state that has no code of its own. */
export const refusal = (text: string): ApiError => new ApiError('CONFLICT', { fault: text })

export function inUse(kind: string, name: string, users: readonly string[]): ApiError {
  const more = users.length > maximumNamed ? ` and ${users.length - maximumNamed} more` : ''
  return new ApiError('NETWORKING_ENTITY_IN_USE', {
    kind,
    name,
    users: `${users.slice(0, maximumNamed).join(', ')}${more}`,
  })
}

/** Queries each kind separately, so that many rows of one kind do not hide those of another. */
export async function usersOf(
  { store }: Asking,
  kind: string,
  extId: string,
  isUser: (kind: string) => boolean,
): Promise<readonly Referrer[]> {
  const kinds = [...(await store.referrerCounts(kind, extId)).keys()].filter(isUser)
  const users = await Promise.all(kinds.map((from) => store.referrers(kind, extId, maximumOfKind, { from })))
  return users.flat()
}

export async function namesOf(ctx: Asking, referrers: readonly Referrer[]): Promise<readonly string[]> {
  const names = new Set<string>()
  for (const { kind, extId } of referrers) {
    const resource = ctx.kinds.resource(kind)
    // Referrers include entities that a task is still creating.
    const user: { readonly extId: string; readonly name?: unknown } | undefined =
      resource === undefined ? undefined : await ctx.store.pending(resource, extId)
    names.add(`${kind === 'Vm' ? 'VM' : (resource?.title ?? kind)} ${user?.name ?? extId}`)
  }
  return [...names]
}
