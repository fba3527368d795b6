/** IAM operations with their endpoints and system roles. Source: behaviour iam.md 7, 8; conventions 22. */

import {
  type AnySchema,
  contract,
  type Method,
  type Namespace,
  type Operation,
  type RoleName,
  walk,
} from '@hyperplane/contract'
import { catalogueId } from '../../../core/ids/named-id.ts'
import { clientNameOf } from './clients.ts'
import { entityNameOf, scopedKindOf } from './scoped-kind.ts'

interface Endpoint {
  readonly httpMethod: Method
  readonly endpointUrl: string
}

export interface IamOperation {
  readonly extId: string
  readonly displayName: string
  readonly entityType: string
  readonly clientName: string
  readonly operationType: 'EXTERNAL' | 'SYSTEM_DEFINED_ONLY'
  readonly endpoints: readonly Endpoint[]
  readonly roles: ReadonlySet<RoleName>
  readonly kinds: ReadonlySet<string>
}

/** Only system roles can hold these: one runs the requests of other users, one replaces the whole manager. */
const systemOnly = new Set(['Submit_Batch', 'Restore_Domain_Manager_Restore_Point'])

interface Draft {
  entityType: string
  clientName: string
  endpoints: Map<string, Endpoint>
  roles: Set<RoleName>
  kinds: Set<string>
}

const kindsOf = (operation: Operation): readonly string[] => [
  ...[operation.resource, scopedKindOf(operation)].flatMap((resource) => resource?.kind ?? []),
  ...[operation.resource?.schema, operation.body].flatMap((schema) => (schema === undefined ? [] : referredIn(schema))),
  ...Object.values(operation.pathKinds),
]

/** Cached by schema: many operations share one, and walking through it is slow. */
function referredIn(schema: AnySchema): readonly string[] {
  let kinds = referredBySchema.get(schema)
  if (kinds === undefined) {
    const all = [...walk(schema)].flatMap(({ schema: at }) => (at.type === 'uuid' ? [at.refersTo, at.orRefersTo] : []))
    kinds = [...new Set(all)].filter((kind) => kind !== undefined)
    referredBySchema.set(schema, kinds)
  }
  return kinds
}
const referredBySchema = new WeakMap<AnySchema, readonly string[]>()

function derive(namespaces: readonly Namespace[]): ReadonlyMap<string, IamOperation> {
  const drafts = new Map<string, Draft>()
  const draftOf = (name: string, entityType: string, namespace: Namespace): Draft => {
    let draft = drafts.get(name)
    if (draft === undefined) {
      const clientName = clientNameOf(namespace.name)
      drafts.set(name, (draft = { entityType, clientName, endpoints: new Map(), roles: new Set(), kinds: new Set() }))
    }
    return draft
  }
  const addEndpoint = (draft: Draft, namespace: Namespace, httpMethod: Method, path: string): void => {
    const endpointUrl = `/${namespace.name}${path}`
    draft.endpoints.set(`${httpMethod} ${endpointUrl}`, { httpMethod, endpointUrl })
  }
  for (const namespace of namespaces) {
    for (const operation of namespace.operations) {
      const scoped = scopedKindOf(operation)
      const draft = draftOf(
        operation.iamOperation,
        scoped === undefined ? operation.stem.replaceAll('-', '_') : entityNameOf(scoped),
        namespace,
      )
      addEndpoint(draft, namespace, operation.method, operation.path)
      const roles = operation.roles === 'everyone' ? byRule(operation.iamOperation) : operation.roles
      for (const role of [...roles, 'Super Admin' as const]) draft.roles.add(role)
      for (const kind of kindsOf(operation)) draft.kinds.add(kind)
    }
  }
  return new Map(
    [...drafts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([displayName, draft]) => [displayName, finished(displayName, draft)]),
  )
}

const finished = (displayName: string, draft: Draft): IamOperation => ({
  ...draft,
  extId: catalogueId('operation', displayName),
  displayName,
  operationType: systemOnly.has(displayName) ? 'SYSTEM_DEFINED_ONLY' : 'EXTERNAL',
  endpoints: [...draft.endpoints.values()],
})

function byRule(displayName: string): readonly RoleName[] {
  if (/^(Create|Update|Delete)_Directory_Service$/.test(displayName)) return ['Central Admin', 'Super Admin']
  return displayName.startsWith('View_')
    ? ['Platform Admin', 'Platform Viewer', 'Super Admin']
    : ['Platform Admin', 'Super Admin']
}

export const iamOperations = derive(contract)

const byId = new Map([...iamOperations.values()].map((operation) => [operation.extId, operation]))
export const iamOperationById = (extId: string): IamOperation | undefined => byId.get(extId)
