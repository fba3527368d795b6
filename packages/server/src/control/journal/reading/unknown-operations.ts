/** Warns of unknown operations in a filter: such a filter matches no call, and an empty result looks valid. */
import { nearest } from '../../../core/input/nearest.ts'
import type { TypedFilter, Value } from '../../../odata/index.ts'
import { matchingKeys, names } from '../../faults/names.ts'

export function unknownOperations(filter: TypedFilter | undefined): readonly string[] {
  if (filter === undefined) return []
  const { operations } = names()
  return operationsIn(filter)
    .filter((name) => !operations.has(name))
    .map((name) => {
      const keys = [...operations.keys()]
      const called = matchingKeys(keys, name)
      const others = called.length > 0 ? called : nearest(name, keys)
      const advice = others.length === 0 ? 'Calls name theirs as vmm.createVm.' : `Did you mean ${others.join(' or ')}?`
      return `No operation is called "${name}", and no call has it. ${advice}`
    })
}

function operationsIn(filter: TypedFilter): readonly string[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.terms.flatMap(operationsIn)
    case 'not':
      return operationsIn(filter.term)
    case 'compare': {
      const { operator, left, right } = filter
      const isNamed = (operator === 'eq' || operator === 'ne') && (isOperation(left) || isOperation(right))
      return isNamed ? [left, right].flatMap((value) => (value.kind === 'literal' ? textsIn([value.value]) : [])) : []
    }
    case 'in':
      return isOperation(filter.value) ? textsIn(filter.literals) : []
    default:
      return []
  }
}

const isOperation = (value: Value): boolean => value.kind === 'field' && value.names.join('/') === 'operation'
const textsIn = (values: readonly unknown[]): string[] => values.filter((value) => typeof value === 'string')
