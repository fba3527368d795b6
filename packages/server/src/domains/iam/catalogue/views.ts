/** IAM operations that show entities. Source: behaviour iam.md 7. */
import { contract } from '@hyperplane/contract'
import { iamOperations } from './operations.ts'

/** @param entity used if the kind has no read operation yet: `$expand` can still show its entities */
export const viewsOf = (kind: string, entity: string | undefined): readonly string[] =>
  views.get(kind) ?? viewsOfEntity(entity)

export const viewsOfEntity = (entity: string | undefined): readonly string[] =>
  [...iamOperations.values()]
    .filter((operation) => operation.entityType === entity && operation.displayName.startsWith('View_'))
    .map((operation) => operation.displayName)

const views = new Map<string, string[]>()
for (const { verb, resource, iamOperation } of contract.flatMap((namespace) => namespace.operations)) {
  if ((verb !== 'get' && verb !== 'list') || resource === undefined) continue
  views.set(resource.kind, [...new Set([...(views.get(resource.kind) ?? []), iamOperation])])
}
