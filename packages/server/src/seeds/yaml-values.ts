/** Reads YAML against a schema of the contract and reports all faults with their places. Limits the expanded size of aliases. */
import type { AnySchema } from '@hyperplane/contract'
import type { Document, Node } from 'yaml'
import { didYouMean } from '../core/input/nearest.ts'
import { isAlias, isMap, isScalar, isSeq, lineCounter, parseDocument } from '../core/yaml.ts'
import { isUuid } from './readable.ts'
import { expectedIn } from './row-shape.ts'
import { maximumFaults, type SeedFault } from './seed-refusal.ts'

export interface Place {
  readonly line: number
  readonly column: number
}

export interface YamlReading {
  /** Meaningless if there are faults. */
  readonly value: unknown
  readonly faults: readonly SeedFault[]
  readonly places: ReadonlyMap<string, Place>
}

/** Position of `vms[3].name`, or of its nearest existing parent. */
export function placeIn(places: ReadonlyMap<string, Place>, path: string): Place {
  for (let at = path; ; at = at.replace(/(?:^|\.|\[)[^.[]*$/, '')) {
    const place = places.get(at)
    if (place !== undefined) return place
    if (at === '') return { line: 1, column: 1 }
  }
}

const maximumNodes = 1_000_000
const maximumDepth = 32

/** @param lineOf maps a line of `text` to the line of the whole seed */
export function readYaml(text: string, schema: AnySchema, lineOf = (line: number): number => line): YamlReading {
  const lines = lineCounter()
  let document: Document.Parsed
  try {
    // Disabled because the library's check is quadratic in the number of keys.
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false })
  } catch (error) {
    // The parser is recursive: deep nesting exhausts its stack.
    if (!(error instanceof RangeError)) throw error
    const fault = { line: 1, column: 1, path: '', message: 'is nested too deeply to be read' }
    return { value: undefined, faults: [fault], places: new Map() }
  }
  const placeAt = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line: lineOf(line), column: col }
  }
  const run = new Reading(document, placeAt)
  for (const { message, pos } of document.errors.slice(0, maximumFaults))
    run.faults.push({ ...placeAt(pos[0]), path: '', message: `is not YAML (${message.split('\n')[0]})` })
  const isYaml = run.faults.length === 0
  const value = isYaml ? run.read(document.contents, schema, '', 0) : undefined
  return { value, faults: run.faults, places: run.places }
}

class Reading {
  readonly faults: SeedFault[] = []
  readonly places = new Map<string, Place>()
  readonly #document: Document.Parsed
  readonly #placeAt: (offset: number) => Place
  #nodes = 0

  constructor(document: Document.Parsed, placeAt: (offset: number) => Place) {
    this.#document = document
    this.#placeAt = placeAt
  }

  read(given: unknown, schema: AnySchema, path: string, depth: number): unknown {
    const node = this.#resolved(given)
    if (node !== null && !this.places.has(path)) this.#note(path, given)
    if (++this.#nodes > maximumNodes || depth > maximumDepth)
      return this.#fault(
        path,
        depth > maximumDepth ? 'is nested too deeply' : 'unfolds to too much: write less, or use count',
      )
    switch (schema.type) {
      case 'object':
        return this.#object(node, schema.fields, path, depth)
      case 'map':
        return this.#map(node, schema.values, path, depth)
      case 'list':
        return this.#list(node, schema, path, depth)
      case 'oneOf':
        return this.#oneOf(node, schema.alternatives, path, depth)
      case 'anything':
        return this.#anything(node, path)
      default:
        return this.#scalar(node, schema, path)
    }
  }

  #resolved(given: unknown): Node | null {
    if (given === null || given === undefined) return null
    return isAlias(given) ? ((given.resolve(this.#document) as Node | undefined) ?? null) : (given as Node)
  }

  #note(path: string, node: unknown): void {
    this.places.set(path, this.#placeAt((node as Node | null)?.range?.[0] ?? 0))
  }

  #fault(path: string, message: string): undefined {
    if (this.faults.length < maximumFaults) this.faults.push({ ...placeIn(this.places, path), path, message })
    return undefined
  }

  #unexpected(node: Node | null, schema: AnySchema, path: string): undefined {
    const value = isScalar(node) ? node.value : undefined
    const isText = schema.type === 'text' && (typeof value === 'number' || typeof value === 'boolean')
    return this.#fault(path, `expected ${wordsFor(schema)}, found ${found(node)}${isText ? ': put it in quotes' : ''}`)
  }

  #object(node: Node | null, fields: Readonly<Record<string, AnySchema>>, path: string, depth: number): unknown {
    if (!isMap(node)) return this.#unexpected(node, { type: 'object', fields }, path)
    const value: Record<string, unknown> = {}
    for (const { key, value: item } of node.items) {
      if (this.faults.length >= maximumFaults) break
      const name = isScalar(key) ? String(key.value) : ''
      const at = path === '' ? name : `${path}.${name}`
      if (Object.hasOwn(value, name)) this.#twice(key, name, path)
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined
      this.#note(at, key)
      if (field === undefined) {
        const known = Object.keys(fields)
        const listed = known.length <= 12 ? `; expected ${known.join(', ')}` : ''
        this.#fault(at, `is not known here${didYouMean(name, known) || listed}`)
      } else {
        if (this.#resolved(item) !== null) this.places.delete(at)
        value[name] = this.read(item, field, at, depth + 1)
      }
    }
    for (const [name, field] of Object.entries(fields))
      if (field.optional !== true && !Object.hasOwn(value, name)) this.#fault(path, `${name} is missing`)
    return value
  }

  #map(node: Node | null, values: AnySchema, path: string, depth: number): unknown {
    if (!isMap(node)) return this.#unexpected(node, { type: 'map', values }, path)
    const entries = new Map<string, unknown>()
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : ''
      if (entries.has(name)) this.#twice(key, name, path)
      entries.set(name, this.read(value, values, path === '' ? name : `${path}.${name}`, depth + 1))
    }
    return Object.fromEntries(entries)
  }

  #twice(key: unknown, name: string, path: string): void {
    const place = this.#placeAt((key as Node | null)?.range?.[0] ?? 0)
    if (this.faults.length < maximumFaults) this.faults.push({ ...place, path, message: `${name} is there twice` })
  }

  #list(node: Node | null, schema: Extract<AnySchema, { type: 'list' }>, path: string, depth: number): unknown {
    if (!isSeq(node)) return this.#unexpected(node, schema, path)
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema
    const { length } = node.items
    if (length < minItems || length > maxItems)
      return this.#fault(path, `expected ${minItems} to ${maxItems} items, found ${length}`)
    return node.items.map((item, index) => this.read(item, schema.items, `${path}[${index}]`, depth + 1))
  }

  #oneOf(node: Node | null, alternatives: readonly AnySchema[], path: string, depth: number): unknown {
    const fitting = alternatives.find((alternative) => formOf(alternative) === formOfNode(node))
    if (fitting !== undefined) return this.read(node, fitting, path, depth + 1)
    return this.#fault(path, `expected ${alternatives.map(wordsFor).join(' or ')}, found ${found(node)}`)
  }

  #anything(node: Node | null, path: string): unknown {
    try {
      this.#noteWithin(node, path)
      return node === null ? null : node.toJS(this.#document, { maxAliasCount: 100 })
    } catch (error) {
      if (!(error instanceof ReferenceError || error instanceof RangeError)) throw error
      return this.#fault(path, 'unfolds to too much: write less')
    }
  }

  /** Aliases are skipped: their targets are elsewhere. */
  #noteWithin(node: unknown, path: string): void {
    if (isMap(node))
      for (const { key, value } of node.items) {
        const at = `${path}.${isScalar(key) ? String(key.value) : ''}`
        this.#note(at, value ?? key)
        this.#noteWithin(value, at)
      }
    else if (isSeq(node))
      for (const [index, item] of node.items.entries()) {
        this.#note(`${path}[${index}]`, item)
        this.#noteWithin(item, `${path}[${index}]`)
      }
  }

  #scalar(node: Node | null, schema: AnySchema, path: string): unknown {
    const value = isScalar(node) ? node.value : undefined
    const isRight = isScalarOf(schema, value)
    if (isRight) return schema.type === 'uuid' ? (value as string).toLowerCase() : value
    if (schema.type === 'enumeration' && typeof value === 'string') {
      const { values } = schema
      const listed = values.length <= 8 ? `expected ${values.join(' or ')}` : 'is none of those that there are'
      return this.#fault(path, `${listed}, found ${JSON.stringify(clip(value))}${didYouMean(value, values)}`)
    }
    return this.#unexpected(node, schema, path)
  }
}

/** As in rows, but authors may write ids and times in any form, and only long texts on several lines. */
function isScalarOf(schema: AnySchema, value: unknown): boolean {
  if (schema.type === 'uuid') return typeof value === 'string' && isUuid(value)
  if (schema.type === 'timestamp') return typeof value === 'string' && !Number.isNaN(Date.parse(value))
  if (expectedIn(schema, value) !== undefined) return false
  return schema.type !== 'text' || schema.multiline === true || !/[\u0000-\u001f]/.test(value as string)
}

type Form = 'number' | 'text' | 'boolean' | 'list' | 'mapping' | 'nothing'

function formOf({ type }: AnySchema): Form {
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'boolean'
  if (type === 'list') return 'list'
  return type === 'object' || type === 'map' ? 'mapping' : 'text'
}

function formOfNode(node: Node | null): Form {
  if (isSeq(node)) return 'list'
  if (isMap(node)) return 'mapping'
  const value = isScalar(node) ? node.value : null
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'boolean'
  return value === null ? 'nothing' : 'text'
}

function wordsFor(schema: AnySchema): string {
  switch (schema.type) {
    case 'integer':
    case 'number': {
      const what = schema.type === 'integer' ? 'an integer' : 'a number'
      const { minimum, maximum } = schema
      if (minimum !== undefined && maximum !== undefined) return `${what} from ${minimum} to ${maximum}`
      return minimum === undefined ? what : `${what} of at least ${minimum}`
    }
    case 'boolean':
      return 'true or false'
    case 'list':
      return 'a list'
    case 'object':
    case 'map':
      return 'a mapping'
    case 'enumeration':
      return schema.values.join(' or ')
    case 'uuid':
      return 'a UUID'
    case 'timestamp':
      return 'a time such as 2026-03-02T09:00:00Z'
    case 'text':
      return schema.pattern === undefined
        ? `text of ${schema.minLength ?? 0} to ${schema.maxLength ?? 'any number of'} characters`
        : `text like ${schema.pattern}`
    default:
      return 'a value'
  }
}

function found(node: Node | null): string {
  if (isSeq(node)) return `a list of ${node.items.length}`
  if (isMap(node)) return 'a mapping'
  const value = isScalar(node) ? node.value : null
  return value === null || value === undefined ? 'nothing' : clip(JSON.stringify(value))
}

const clip = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text)
