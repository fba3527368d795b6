/** Source: conventions 10.2. */
import type { AnySchema, ObjectSchema } from '@hyperplane/contract/schema'
import type { Select, SelectItem } from './ast.ts'
import { unlisted } from './fault.ts'
import { resolveNames } from './paths.ts'

export type SelectedFields = 'all' | ReadonlyMap<string, SelectedFields>

export interface Selection {
  readonly fields: SelectedFields
  readonly ignored: readonly string[]
}

export interface SelectRules {
  /** With everything below them. */
  readonly fields: readonly string[] | 'any'
  readonly schema: ObjectSchema
  /** Unknown fields are ignored and reported rather than refused. */
  readonly lenient?: boolean
  readonly option?: string
}

const always = ['extId', '$objectType', '$reserved']
const decorations = new Set(['$objectType', '$reserved'])

/** If only ignored fields are selected, all are. */
export function checkSelect(select: Select, rules: SelectRules): Selection {
  const ignored: string[] = []
  const selected: string[][] = []
  const visit = (items: readonly SelectItem[], above: readonly string[]): void => {
    for (const { path, nested } of items) {
      const names = [...above, ...path.names]
      const written = names.join('/')
      if (nested !== undefined && nested !== '*') {
        visit(nested, names)
      } else if (isSelectable(names, rules)) {
        selected.push(names)
      } else if (rules.lenient === true) {
        ignored.push(written)
      } else {
        throw unlisted(rules.option ?? '$select', written, path.position, allowedFields(rules))
      }
    }
  }
  if (select === '*') return { fields: 'all', ignored }
  visit(select, [])
  return { fields: selected.length === 0 ? 'all' : treeOf(selected), ignored }
}

/** @param also expanded properties */
export function applySelection<T>(selection: Selection, document: T, also: readonly string[] = []): T {
  const { fields } = selection
  if (fields === 'all') return document
  return pick(
    also.length === 0 ? fields : new Map([...fields, ...also.map((name) => [name, 'all'] as const)]),
    document,
  ) as T
}

function pick(fields: SelectedFields, value: unknown): unknown {
  if (fields === 'all' || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((element) => pick(fields, element))
  const picked: [string, unknown][] = []
  for (const [name, field] of Object.entries(value)) {
    const part = decorations.has(name) ? 'all' : fields.get(name)
    if (part !== undefined) picked.push([name, pick(part, field)])
  }
  return Object.fromEntries(picked)
}

function isSelectable(names: readonly string[], { fields, schema }: SelectRules): boolean {
  if (names.length === 1 && always.includes(names[0] as string)) return true
  // `resolveNames` does not find secrets.
  if (resolveNames(schema, names) === undefined) return false
  return fields === 'any' || names.some((_, index) => fields.includes(names.slice(0, index + 1).join('/')))
}

function allowedFields({ fields, schema }: SelectRules): readonly string[] {
  if (fields !== 'any') return fields
  return Object.entries(schema.fields as { readonly [name: string]: AnySchema })
    .filter(([, field]) => field.secret !== true)
    .map(([name]) => name)
}

type Tree = Map<string, SelectedFields>

function treeOf(selected: readonly (readonly string[])[]): SelectedFields {
  const top: Tree = new Map(always.map((name) => [name, 'all']))
  for (const names of selected) {
    let at: Tree | undefined = top
    names.forEach((name, index) => {
      const below: SelectedFields | undefined = at?.get(name)
      if (below === 'all' || at === undefined) {
        at = undefined
      } else if (index === names.length - 1) {
        at.set(name, 'all')
      } else {
        const next: Tree = below === undefined ? new Map() : (below as Tree)
        at.set(name, next)
        at = next
      }
    })
  }
  return top
}
