import type { Namespace, Operation, Resource } from '@hyperplane/contract'
import type { Kinds } from './ports.ts'

export function createKinds(namespaces: readonly Namespace[]): Kinds {
  const resources = new Map<string, Resource>()
  const lists = new Map<string, Operation>()
  const views = new Map<string, string>()
  for (const namespace of namespaces) {
    for (const resource of namespace.resources) resources.set(resource.kind, resource)
    for (const operation of namespace.operations) {
      const kind = operation.resource?.kind
      if (kind === undefined) continue
      if (operation.verb === 'list' && !lists.has(kind)) lists.set(kind, operation)
      if ((operation.verb === 'get' || operation.verb === 'list') && !views.has(kind))
        views.set(kind, operation.iamOperation)
    }
  }
  return {
    resource: (kind) => resources.get(kind),
    listOf: (kind) => lists.get(kind),
    viewOperationOf: (kind) => views.get(kind) ?? `View_${kind}`,
  }
}
