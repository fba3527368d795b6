import type { Field, TypedFilter, Value } from './typed-filter.ts'

/** As in requests, distinct and sorted. */
export function fieldsOf(filter: TypedFilter): string[] {
  const found = new Set<string>()
  /** `elements`: path of the collection of each open quantifier. */
  const add = ({ from, names }: Pick<Field, 'from' | 'names'>, elements: readonly string[]): string => {
    const path = [...(from === 0 ? [] : [elements[from - 1] as string]), ...names].join('/')
    found.add(path)
    return path
  }
  const ofValue = (value: Value, elements: readonly string[]): void => {
    if (value.kind === 'field') add(value, elements)
    else if (value.kind === 'call') ofValue(value.argument, elements)
  }
  const visit = (at: TypedFilter, elements: readonly string[]): void => {
    switch (at.kind) {
      case 'constant':
        return
      case 'and':
      case 'or':
        for (const term of at.terms) visit(term, elements)
        return
      case 'not':
        visit(at.term, elements)
        return
      case 'compare':
        for (const side of [at.left, at.right]) ofValue(side, elements)
        return
      case 'in':
        ofValue(at.value, elements)
        return
      case 'match':
        for (const side of [at.text, at.pattern]) ofValue(side, elements)
        return
      case 'truth':
        add(at.field, elements)
        return
      case 'quantified': {
        const collection = add(at, elements)
        if (at.body === undefined) return
        // The condition is about the elements, not the collection itself.
        found.delete(collection)
        visit(at.body, [...elements, collection])
      }
    }
  }
  visit(filter, [])
  return [...found].sort()
}
