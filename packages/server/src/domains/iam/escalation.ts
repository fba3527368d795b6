/**
 * An identity can give only rights that it holds, on the same entities: checked by every change that gives rights (policy, role, control of
 * an account, membership). Source: behaviour iam.md 8.
 */
import type { RoleName } from '@hyperplane/contract'
import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { ApiError } from '../../core/api-error.ts'
import type { ReadContext } from '../context.ts'
import { superAdminId, systemRoleId } from './catalogue/system-roles.ts'
import { covers } from './filters/coverage.ts'
import { coversEverything, type EntityFilterPart, ownedBy } from './filters/entity-filter.ts'
import { matchesIdentity, namesOnly } from './filters/identity-filter.ts'
import {
  entityFiltersOf,
  factsOf,
  type Grant,
  grantsTo,
  identityFiltersOf,
  loadGrants,
  operationNames,
} from './grants.ts'

export type Gift = Omit<Grant, 'isSystemRole' | 'policyExtId'>

/** On everything, they permit giving any role except those in `grantedBySuperAdmin`. */
const excepted: readonly RoleName[] = ['Super Admin', 'Platform Admin', 'Central Admin']
const grantedBySuperAdmin: readonly RoleName[] = ['Super Admin', 'Internal Super Admin']
/** Rules check for these by name. Held on everything, they allow more than their operations do. */
const namedByRules: readonly RoleName[] = [...excepted, 'Monitoring Admin']

interface OwnPart {
  readonly part: EntityFilterPart
  readonly operations: ReadonlySet<string>
}

const maximumFilterLength = 200
const maximumNamedFilters = 5

export class Giver {
  readonly isSuperAdmin: boolean
  readonly #extId: string
  readonly #own: readonly Grant[]
  readonly #parts: ReadonlyMap<string, readonly OwnPart[]>
  /** The rights of other identities. Empty for a Super Admin, who is never checked. */
  readonly grants: readonly Grant[]

  private constructor(extId: string, isSuperAdmin: boolean, own: readonly Grant[], grants: readonly Grant[]) {
    this.#extId = extId
    const parts = own.flatMap(({ entities, operations }) =>
      entities.flat().map((part) => ({ part: ownedBy(part, extId), operations })),
    )
    this.#parts = Map.groupBy(parts, ({ part }) => part.entity)
    this.isSuperAdmin = isSuperAdmin
    this.#own = own
    this.grants = grants
  }

  static async of({ store, caller }: Pick<ReadContext, 'store' | 'caller'>): Promise<Giver> {
    const facts = await factsOf(store, caller)
    // Super Admins make most of these changes: check first, without reading all policies.
    const decisive = await store.findWhere(AuthorizationPolicy, { role: superAdminId })
    const isSuperAdmin =
      caller.type === 'SYSTEM' ||
      decisive.some(
        (policy) =>
          entityFiltersOf(policy).some(coversEverything) &&
          identityFiltersOf(policy).some((filter) => matchesIdentity(filter, facts)),
      )
    const grants = isSuperAdmin ? [] : await loadGrants(store)
    return new Giver(caller.extId, isSuperAdmin, grantsTo(grants, facts), grants)
  }

  operationsNotHeld(operations: ReadonlySet<string>): string[] {
    if (this.#isExcepted()) return []
    return [...operations].filter((name) => !this.#own.some((grant) => grant.operations.has(name)))
  }

  /** @param holder replaces SELF_OWNED */
  lacksOf(gifts: readonly Gift[], holder?: string): string[] {
    if (this.isSuperAdmin) return []
    return [...new Set(gifts.flatMap((gift) => this.#lacksOf(gift, holder)))]
  }

  #lacksOf(gift: Gift, given: string | undefined): string[] {
    const role = (names: readonly RoleName[]): RoleName | undefined =>
      names.find((name) => systemRoleId(name) === gift.roleExtId)
    const reserved = role(grantedBySuperAdmin)
    if (reserved !== undefined) return [`the role ${reserved}, which only a Super Admin gives`]
    if (this.#isExcepted()) return []
    const named = gift.isUnlimited ? role(namedByRules) : undefined
    const lacks = named !== undefined && !this.#holdsOnEverything([named]) ? [`the role ${named} on everything`] : []
    const isForGiver = gift.identities.every((filter) => namesOnly(filter, this.#extId))
    const holder = given ?? (isForGiver ? this.#extId : undefined)
    gift.entities.forEach((parts, index) => {
      const written = shortened(JSON.stringify(gift.writtenEntities[index]))
      const held = new Set(gift.operations)
      for (const part of parts) {
        const covering = this.#operationsCovering(holder === undefined ? part : ownedBy(part, holder))
        for (const operation of held) {
          if (covering.has(operation)) continue
          held.delete(operation)
          lacks.push(`${operation} on ${written}`)
        }
        if (held.size === 0) break
      }
    })
    return lacks
  }

  #operationsCovering(part: EntityFilterPart): ReadonlySet<string> {
    const ofEntity = this.#parts.get(part.entity) ?? []
    const ofAll = part.entity === '*' ? [] : (this.#parts.get('*') ?? [])
    const covering = new Set(
      [...ofEntity, ...ofAll].filter((own) => covers(own.part, part)).map((own) => own.operations),
    )
    const [only, ...others] = covering
    return only !== undefined && others.length === 0 ? only : new Set([...covering].flatMap((names) => [...names]))
  }

  #isExcepted(): boolean {
    return this.isSuperAdmin || this.#holdsOnEverything(excepted)
  }

  #holdsOnEverything(names: readonly RoleName[]): boolean {
    const roles = names.map(systemRoleId)
    return this.#own.some((grant) => grant.isUnlimited && roles.includes(grant.roleExtId))
  }
}

/** @param giftsOf rights from the added operations, for each policy with this role */
export async function requireRoleCovered(
  ctx: ReadContext,
  operations: readonly string[],
  giftsOf: (added: ReadonlySet<string>) => Promise<readonly Gift[]> = async () => [],
): Promise<void> {
  const giver = await Giver.of(ctx)
  if (giver.isSuperAdmin) return
  const added = operationNames(operations)
  const missing = giver.operationsNotHeld(added)
  if (missing.length > 0) throw denied(ctx, ` with operations that it does not hold itself: ${listed(missing)}`)
  refuseIfLacking(ctx, giver.lacksOf(await giftsOf(added)))
}

export async function requireCovered(ctx: ReadContext, gift: Gift): Promise<void> {
  refuseIfLacking(ctx, (await Giver.of(ctx)).lacksOf([gift]))
}

export function refuseIfLacking(ctx: ReadContext, lacks: readonly string[], to = ''): void {
  if (lacks.length > 0) throw denied(ctx, `${to}, because it does not hold itself what this gives: ${listed(lacks)}`)
}

/** @param reason continues the sentence "... is not permitted for this identity" */
export const denied = (ctx: Pick<ReadContext, 'operation'>, reason: string): ApiError =>
  new ApiError('ACCESS_DENIED', { operation: ctx.operation.iamOperation, reason })

const listed = (names: readonly string[]): string =>
  names.slice(0, maximumNamedFilters).join(', ') +
  (names.length > maximumNamedFilters ? ` and ${names.length - maximumNamedFilters} more` : '')

const shortened = (text: string): string =>
  text.length > maximumFilterLength ? `${text.slice(0, maximumFilterLength)}…` : text
