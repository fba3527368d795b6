/** Union of the entity filters of all matching policies: no policy can deny. Source: behaviour conventions 16; iam.md 8, 9. */

import { contract, type Operation, type Resource } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import type { RoleName } from '@hyperplane/contract/roles'
import { isInScope } from '../../core/access/scope.ts'
import { ApiError } from '../../core/api-error.ts'
import type { Caller } from '../../core/caller.ts'
import { createLru } from '../../core/lru.ts'
import type { AccessControl, Scope, ScopeDecision } from '../../core/ports.ts'
import { pathOf } from '../../core/standard.ts'
import { and, equals, not, or, type TypedFilter } from '../../odata/index.ts'
import type { Store } from '../../store/store.ts'
import { scopedKind, scopedKindOf } from './catalogue/scoped-kind.ts'
import { systemRoleId } from './catalogue/system-roles.ts'
import { viewsOf } from './catalogue/views.ts'
import { scopeOf } from './filters/entity-filter.ts'
import { factsOf, type Grant, grantsTo, loadGrants } from './grants.ts'

interface Identity {
  readonly grants: readonly Grant[]
  readonly scopes: Map<string, Scope | undefined>
  /** Operation key -> the reason for the audit, if the identity may use the operation on every entity. */
  readonly reasons: Map<string, string>
}

const maximumIdentities = 10_000
const passwordChange = 'iam.changeUserPassword'
/** Open to everyone: the handler returns the roles of the caller, without a policy for roles. */
const readRole = 'iam.getRoleById'

export const createAccessControl = ({ store }: { readonly store: Store }): AccessControl => new PolicyAccess(store)

class PolicyAccess implements AccessControl {
  readonly #store: Store
  readonly #identities = createLru<Identity>(maximumIdentities)
  #grants: Promise<readonly Grant[]> | undefined
  /** A decision that was begun before a change is not cached after it. */
  #changes = 0

  constructor(store: Store) {
    this.#store = store
  }

  scope(caller: Caller, operation: Operation): ScopeDecision {
    if (caller.mustChangePassword === true && operation.key !== passwordChange)
      throw new ApiError('PASSWORD_CHANGE_REQUIRED')
    if (caller.type === 'SYSTEM' || operation.roles === 'everyone' || operation.key === readRole) return 'all'
    return this.#cached(caller, operation.key, (identity) => {
      const resource = scopedKindOf(operation)
      const own = resource === undefined ? undefined : ownRows(operation, resource, caller)
      return union(granted(identity, [operation.iamOperation], resource, caller), own)
    })
  }

  viewScope(caller: Caller, resource: Resource): ScopeDecision {
    if (caller.type === 'SYSTEM') return 'all'
    return this.#cached(caller, `view ${resource.kind}`, (identity) => viewScopeOf(identity, resource, caller))
  }

  isView(operation: Operation, resource: Resource): boolean {
    return viewsOf(resource.kind, resource.iam?.name).includes(operation.iamOperation)
  }

  async reachOfUnseen(
    caller: Caller,
    operation: Operation,
    resource: Resource,
  ): Promise<'by role' | 'by content' | undefined> {
    const identity = await this.#identityOf(caller)
    if (holdersOf(identity, viewsOf(resource.kind, resource.iam?.name)).length > 0) return 'by content'
    return holdersOf(identity, [operation.iamOperation]).some((grant) => grant.isSystemRole) ? 'by role' : undefined
  }

  async referScope(caller: Caller, operation: Operation, resource: Resource): Promise<Scope | undefined> {
    if (caller.type === 'SYSTEM') return 'all'
    return this.#cached(caller, `refer ${operation.key} ${resource.kind}`, (identity) => {
      const mayView = holdersOf(identity, viewsOf(resource.kind, resource.iam?.name)).length > 0
      const isGrantedBySystem = holdersOf(identity, [operation.iamOperation]).some((grant) => grant.isSystemRole)
      const viewScope = !mayView && isGrantedBySystem ? 'all' : viewScopeOf(identity, resource, caller)
      const referScope = resource.kind === Category.kind ? both(viewScope, assignable) : viewScope
      if (!actsOn(operation, resource)) return referScope
      return both(referScope, granted(identity, [operation.iamOperation], scopedKind(resource), caller))
    })
  }

  explain(caller: Caller, operation: Operation, entity?: unknown): string | Promise<string> {
    if (caller.type === 'SYSTEM') return 'the system itself'
    if (caller.mustChangePassword === true && operation.key !== passwordChange)
      return 'the password must be changed first'
    if (operation.roles === 'everyone' || operation.key === readRole) return 'open to everyone signed in'
    const cached = this.#identities.get(nameOf(caller))?.reasons.get(operation.key)
    return cached ?? this.#reasonFor(caller, operation, entity)
  }

  async hasRole(caller: Caller, roles: readonly RoleName[]): Promise<boolean> {
    const ids = roles.map(systemRoleId)
    const { grants } = await this.#identityOf(caller)
    return caller.type === 'SYSTEM' || grants.some((grant) => grant.isUnlimited && ids.includes(grant.roleExtId))
  }

  scopedKind(operation: Operation): string | undefined {
    return scopedKindOf(operation)?.kind
  }

  get changes(): number {
    return this.#changes
  }

  changed(): void {
    this.#changes += 1
    this.#grants = undefined
    this.#identities.clear()
  }

  async #identityOf(caller: Caller): Promise<Identity> {
    const name = nameOf(caller)
    const cached = this.#identities.get(name)
    if (cached !== undefined) return cached
    const changesAtStart = this.#changes
    this.#grants ??= loadGrants(this.#store).catch((error) => {
      this.#grants = undefined
      throw error
    })
    const identity: Identity = {
      grants: grantsTo(await this.#grants, await factsOf(this.#store, caller)),
      scopes: new Map(),
      reasons: new Map(),
    }
    if (changesAtStart === this.#changes) this.#identities.set(name, identity)
    return identity
  }

  #cached(caller: Caller, question: string, answer: (identity: Identity) => Scope | undefined): ScopeDecision {
    const decide = (identity: Identity): Scope | undefined => {
      if (!identity.scopes.has(question)) identity.scopes.set(question, answer(identity))
      return identity.scopes.get(question)
    }
    const cached = this.#identities.get(nameOf(caller))
    return cached === undefined ? this.#identityOf(caller).then(decide) : decide(cached)
  }

  async #reasonFor(caller: Caller, operation: Operation, entity: unknown): Promise<string> {
    const identity = await this.#identityOf(caller)
    const holding = holdersOf(identity, [operation.iamOperation])
    const resource = scopedKindOf(operation)
    const unlimited = holding.find((grant) => grant.isUnlimited || resource === undefined)
    if (unlimited !== undefined) {
      const reason = because(unlimited)
      identity.reasons.set(operation.key, reason)
      return reason
    }
    if (resource !== undefined && entity !== undefined) {
      for (const grant of holding) {
        const scope = await this.#cached(caller, `policy ${grant.policyExtId} ${resource.kind}`, () =>
          simplify(scopeOf(grant.entities, resource, caller.extId)),
        )
        if (isInScope(scope, entity)) return because(grant)
      }
      const own = ownRows(operation, resource, caller)
      if (own !== undefined && isInScope(own, entity)) return 'an entity of its own'
    }
    return holding.length === 0
      ? `no policy grants ${operation.iamOperation}`
      : `policies that grant ${operation.iamOperation} reach other entities: ${holding.length}`
  }
}

/** Includes the groups: two sign-ins of one user can bring different groups. */
const nameOf = ({ extId, groups }: Caller): string => (groups.length === 0 ? extId : `${extId} ${groups.join(' ')}`)

/** The entities that policies alone allow, without the rows that belong to the caller. */
function granted(
  identity: Identity,
  iamOperations: readonly string[],
  resource: Resource | undefined,
  caller: Caller,
): Scope | undefined {
  const holding = holdersOf(identity, iamOperations)
  if (holding.length === 0) return undefined
  if (resource === undefined || holding.some((grant) => grant.isUnlimited)) return 'all'
  return simplify(
    scopeOf(
      holding.flatMap((grant) => grant.entities),
      resource,
      caller.extId,
    ),
  )
}

function viewScopeOf(identity: Identity, resource: Resource, caller: Caller): Scope | undefined {
  const judged = scopedKind(resource)
  const scope = granted(identity, viewsOf(resource.kind, resource.iam?.name), judged, caller)
  // The filters of policies apply to the parent's attributes, so rows of a sub-resource are not filtered here.
  if (judged.kind !== resource.kind) return scope === undefined ? undefined : 'all'
  const own = ownPaths.get(resource.kind)
  return union(scope, own === undefined ? undefined : equals(pathOf(resource, own), caller.extId))
}

const because = (grant: Grant): string => `policy ${grant.policyExtId}, role ${grant.roleExtId}`

/** Whether the operation also changes the entities in its body (attaching a volume group also changes the VM). */
const actsOn = ({ verb, resource: own, target }: Operation, resource: Resource): boolean =>
  verb === 'action' && resource.kind !== 'Category' && (resource.kind === own?.kind) === (target === undefined)

/** Only the system may assign internal categories. Source: behaviour platform.md 1. */
const assignable = not(equals(pathOf(Category, 'type'), 'INTERNAL'))

const holdersOf = (identity: Identity, iamOperations: readonly string[]): readonly Grant[] =>
  identity.grants.filter((grant) => iamOperations.some((name) => grant.operations.has(name)))

/** Kind -> field with the identity that may read the row without a policy. */
const ownPaths: ReadonlyMap<string, string> = new Map(
  contract
    .flatMap((namespace) => namespace.operations)
    .flatMap(({ verb, own, resource }) =>
      (verb === 'get' || verb === 'list') && own !== undefined && resource !== undefined
        ? [[resource.kind, own] as const]
        : [],
    ),
)

function ownRows(operation: Operation, resource: Resource, caller: Caller): TypedFilter | undefined {
  const own = resource.kind === operation.resource?.kind ? operation.own : operation.own && ownPaths.get(resource.kind)
  return own === undefined ? undefined : equals(pathOf(resource, own), caller.extId)
}

const simplify = (filter: TypedFilter): Scope | undefined => {
  if (filter.kind !== 'constant') return filter
  return filter.value ? 'all' : undefined
}

function union(a: Scope | undefined, b: Scope | undefined): Scope | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return a === 'all' || b === 'all' ? 'all' : or(a, b)
}

function both(a: Scope | undefined, b: Scope | undefined): Scope | undefined {
  if (a === undefined || b === undefined) return undefined
  if (a === 'all') return b
  return b === 'all' ? a : and(a, b)
}
