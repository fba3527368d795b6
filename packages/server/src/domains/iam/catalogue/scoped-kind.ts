/** The kind that an entity filter applies to; sub-resources use their parent's. Source: behaviour iam.md 9.3. */
import { contract, type Operation, type Resource } from '@hyperplane/contract'

const kinds: ReadonlyMap<string, Resource> = new Map(
  contract.flatMap((namespace) => namespace.resources).map((resource) => [resource.kind, resource]),
)

export function scopedKind(resource: Resource): Resource {
  if (resource.iam !== undefined) return resource
  const parent = resource.parent === undefined ? undefined : kinds.get(resource.parent.kind)
  if (parent !== undefined) return scopedKind(parent)
  const measured = kinds.get(resource.kind.replace(/Stats$/, ''))
  return measured === undefined || measured === resource ? resource : scopedKind(measured)
}

export function scopedKindOf(operation: Operation): Resource | undefined {
  if (operation.resource !== undefined) return scopedKind(operation.resource)
  const named = Object.values(operation.pathKinds)
    .map((kind) => kinds.get(kind))
    .find((resource) => resource !== undefined)
  return named === undefined ? undefined : scopedKind(named)
}

/** Name of the kind in policies, such as `virtual_machine`. */
export const entityNameOf = (resource: Resource): string =>
  resource.iam?.name ?? resource.kind.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()
