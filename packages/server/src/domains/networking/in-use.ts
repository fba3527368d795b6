/** Refusals because of the state of entities: 409. Source: behaviour networking.md 1.1. */
import type { AnyResource } from '@hyperplane/contract'
import { ApiError } from '../../core/api-error.ts'
import type { Referrer } from '../../store/store.ts'
import { mayRefer, type WriteContext } from '../context.ts'

export type Asking = Pick<WriteContext, 'caller' | 'kinds' | 'operation' | 'services' | 'store'>

/** An entity that prevents a change. */
export interface User {
  readonly kind: AnyResource
  readonly entity: { readonly extId: string; readonly name?: unknown } | undefined
  /** Replaces kind and name. */
  readonly text?: string
}

const maximumNamed = 5
const maximumOfKind = 100

/** 409 for a state that has no code of its own. */
export const refusal = (text: string): ApiError => new ApiError('NETWORKING_CONFLICT', { fault: text })

export function inUse(kind: string, name: string, users: readonly string[]): ApiError {
  const more = users.length > maximumNamed ? ` and ${users.length - maximumNamed} more` : ''
  return new ApiError('NETWORKING_ENTITY_IN_USE', {
    kind,
    name,
    users: `${users.slice(0, maximumNamed).join(', ')}${more}`,
  })
}

/** Queries each kind separately, so that many rows of one kind do not hide those of another. */
export async function visibleReferrers(
  { store }: Pick<Asking, 'store'>,
  kind: string,
  extId: string,
  isUser: (kind: string) => boolean,
): Promise<readonly Referrer[]> {
  const kinds = [...(await store.referrerCounts(kind, extId)).keys()].filter(isUser)
  const users = await Promise.all(kinds.map((from) => store.referrers(kind, extId, maximumOfKind, { from })))
  return users.flat()
}

export async function namesOf(ctx: Asking, referrers: readonly Referrer[]): Promise<readonly string[]> {
  const users: User[] = []
  const internal = new Set<string>()
  for (const { kind, extId } of referrers) {
    const resource = ctx.kinds.resource(kind)
    // Referrers include entities that a task is still creating.
    if (resource !== undefined) users.push({ kind: resource, entity: await ctx.store.pending(resource, extId) })
    else internal.add(kind)
  }
  return [...(await shownUsers(ctx, users)), ...internal]
}

const titleOf = ({ kind, title }: AnyResource): string => (kind === 'Vm' ? 'VM' : (title ?? kind))

/** Names those that the caller may see, and counts the others by kind. */
export async function shownUsers(ctx: Omit<Asking, 'kinds'>, users: readonly User[]): Promise<readonly string[]> {
  const names = new Set<string>()
  const hidden = new Map<string, Set<string | undefined>>()
  for (const { kind, entity, text } of users) {
    const title = titleOf(kind)
    if (await mayRefer(ctx, kind, entity)) names.add(text ?? `${title} ${entity?.name ?? entity?.extId}`)
    else hidden.set(title, (hidden.get(title) ?? new Set()).add(entity?.extId))
  }
  const counted = [...hidden].map(
    ([title, { size }]) => `${title} that you may not see${size === 1 ? '' : ` (${size})`}`,
  )
  return [...names, ...counted]
}

/** The entity in the text of an error. */
export const nameFor = async (ctx: Omit<Asking, 'kinds'>, kind: AnyResource, entity: User['entity']) =>
  (await mayRefer(ctx, kind, entity)) ? `${titleOf(kind)} ${entity?.name}` : `${titleOf(kind)} that you may not see`
