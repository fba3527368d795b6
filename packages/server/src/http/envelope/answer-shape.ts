/** The declared shape plus the properties of `$expand`. Source: conventions 2.3, 10.2. */
import type { AnySchema, Namespace, Operation } from '@hyperplane/contract'

type Namespaces = ReadonlyMap<string, Namespace>

/** @param isExpanded expanded items carry the `expandedType` of the operation, if it declares one */
export function answerShape(operation: Operation, namespaces: Namespaces, isExpanded: boolean): Operation['answer'] {
  const answer = withExpansions(operation, namespaces)
  const type = operation.rowType ?? (isExpanded ? operation.expandedType : undefined)
  if (type === undefined) return answer
  if (answer?.type !== 'list' || answer.items.type !== 'object') return answer
  return { ...answer, items: { ...answer.items, objectType: type } }
}

function withExpansions(operation: Operation, namespaces: Namespaces): Operation['answer'] {
  const { answer } = operation
  const item = answer?.type === 'list' ? answer.items : answer
  if (operation.expand === undefined || item?.type !== 'object') return answer
  const added: Record<string, AnySchema> = {}
  for (const [name, expansion] of Object.entries(operation.expand)) {
    const property = expansion.into ?? name
    const shape = expansion.shape ?? resourceOf(expansion.kind, namespaces)?.schema
    if (shape === undefined || item.fields[property] !== undefined) continue
    added[property] = crossesList(item, expansion.by) ? { type: 'list', items: shape } : shape
  }
  const expanded = { ...item, fields: { ...item.fields, ...added } }
  return answer?.type === 'list' ? { ...answer, items: expanded } : expanded
}

const resourceOf = (kind: string | undefined, namespaces: Namespaces) =>
  [...namespaces.values()].flatMap((namespace) => namespace.resources).find((resource) => resource.kind === kind)

/** An expansion through a list is a list too. */
function crossesList(schema: AnySchema, path: string | undefined): boolean {
  let current: AnySchema | undefined = schema
  for (const name of path?.split('/') ?? []) {
    if (current?.type === 'list') return true
    current = current?.type === 'object' ? current.fields[name] : undefined
  }
  return current?.type === 'list'
}
