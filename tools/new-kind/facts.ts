import { readFileSync } from 'node:fs'
import { canonicalPath } from '../../packages/server/src/http/profiles/names.ts'

export interface FieldFact {
  readonly name: string
  /** `string`, `integer`, `ref:config.Vpc`, `enum:config.State`, `array<T>`, `map<T>`, `oneOf<A|B>`, … */
  readonly type: string
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly immutable?: boolean
  readonly default?: unknown
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

export interface ShapeFact {
  readonly objectType: string
  readonly fields: readonly FieldFact[]
  readonly projectionOf?: string
}

export interface OperationFact {
  readonly operationId: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly tag: string
  readonly headers: readonly { readonly name: string; readonly required: boolean }[]
  readonly requestBody: string | null
  readonly response: { readonly objectType: string; readonly data: readonly string[]; readonly async: boolean }
  readonly filterFields?: readonly string[]
  readonly orderbyFields?: readonly string[]
  readonly selectFields?: readonly string[]
  readonly expandFields?: readonly string[]
}

export interface Facts {
  readonly namespace: string
  readonly specNamespace: string
  readonly operations: readonly OperationFact[]
  readonly schemas: Readonly<Record<string, ShapeFact>>
  readonly enums: Readonly<Record<string, readonly string[]>>
}

/** The path below the version with the names of the specification. */
export function pathOf({ specNamespace }: Facts, { path }: OperationFact): string {
  const version = `/${specNamespace}/v4`
  return canonicalPath(version + path).path.slice(version.length)
}

export const readFacts = (file: string): Facts => JSON.parse(readFileSync(file, 'utf8'))

/** By IAM operation and use (`get`, `list`, `do`); the file has one line for each, separated by tabs. */
export function readRoles(file: string | undefined): ReadonlyMap<string, readonly string[]> {
  const lines = file === undefined ? [] : readFileSync(file, 'utf8').split('\n')
  const rows = lines.map((line) => line.split('\t')).filter((row) => row.length === 3)
  return new Map(rows.map(([operation, use, roles]) => [`${operation} ${use}`, (roles as string).split('; ')]))
}

/** The kind is the shape that reads of the tag answer and its creation takes. */
export function kindOf(facts: Facts, tag: string): { operations: readonly OperationFact[]; shape: string } {
  const operations = facts.operations.filter((operation) => operation.tag === tag)
  if (operations.length === 0) {
    const tags = [...new Set(facts.operations.map((operation) => operation.tag))].join(', ')
    throw new Error(`no operation has the tag ${tag}; expected one of: ${tags}`)
  }
  const single = operations.find(({ method, path }) => method === 'GET' && path.endsWith('}'))
  const creation = operations.find(({ method, path }) => method === 'POST' && !path.includes('$actions'))
  const shape = single?.response.data[0] ?? creation?.requestBody
  if (shape == null) throw new Error(`no operation of ${tag} reads or creates an entity: there is no kind to write`)
  return { operations, shape }
}
