/** Removes secrets, credentials and state of the single instance from an export, with `null` in place of a secret. */
import type { LeftOutRows } from '@hyperplane/contract'
import type { Table } from '../store/tables.ts'
import { type Doc, entityRules, factRules, missingText, type Path, type Rule, type StandIns } from './stand-ins.ts'

const leftOutCollections: ReadonlyMap<string, LeftOutRows> = new Map([
  ['web.authorities', { what: 'simulated certificate authorities, for their keys', instead: 'place them again' }],
])

export const exportedKinds = (tables: ReadonlyMap<string, Table>): string[] =>
  [...tables.values()].flatMap(({ resource }) => (resource.leftOut === undefined ? resource.kind : []))
export const isLeftOutCollection = (collection: string): boolean => leftOutCollections.has(collection)

export class LeftOut {
  readonly #entries = new Map<string, { what: string; count: number; instead: string }>()

  note({ what, instead }: LeftOutRows, count = 1): void {
    if (count === 0) return
    const entry = this.#entries.get(what)
    if (entry === undefined) this.#entries.set(what, { what, count, instead })
    else entry.count += count
  }

  noteCollection(collection: string): void {
    const rule = leftOutCollections.get(collection)
    if (rule !== undefined) this.note(rule)
  }

  all(): readonly (LeftOutRows & { readonly count: number })[] {
    return [...this.#entries.values()].sort((a, b) => (a.what < b.what ? -1 : 1))
  }
}

function rulesOf({ resource, secrets }: Table): readonly Rule[] {
  const own = entityRules[resource.kind] ?? []
  const isOwn = (path: Path): boolean => own.some((rule) => rule.path.join() === path.join())
  const others = secrets.filter((path) => !isOwn(path))
  return [
    ...own,
    ...others.map((path) => ({ path, what: `secrets of ${resource.title}s: ${path.at(-1)}`, instead: missingText })),
  ]
}

/** Other documents are exported as stored text. */
export const holdsLeftOut = (table: Table): boolean => rulesOf(table).length > 0
export const factHoldsLeftOut = (collection: string): boolean =>
  factRules[collection] !== undefined || scattered[collection] !== undefined

export function leaveOutOfEntity(table: Table, document: Doc, leftOut: LeftOut): void {
  for (const rule of rulesOf(table)) empty(document, rule, leftOut)
}

export function leaveOutOfFact(collection: string, value: Doc, leftOut: LeftOut): void {
  for (const rule of factRules[collection] ?? []) empty(value, rule, leftOut)
  const isSecret = scattered[collection]
  if (isSecret !== undefined) dropWhere(value, isSecret, () => leftOut.note(inSettings))
}

function empty(document: Doc, rule: Rule, leftOut: LeftOut): void {
  for (const { holder, name } of placesAt(document, rule.path)) {
    if (rule.isInternal === true) delete holder[name]
    else holder[name] = null
    leftOut.note(rule)
  }
}

/** Replacements where declared, otherwise no `null` fields. */
export const restoreInEntity = (table: Table, document: Doc, ctx: StandIns): Doc =>
  filled(document, rulesOf(table), document['extId'], ctx)
export const restoreInFact = (collection: string, id: string, value: Doc, ctx: StandIns): Doc =>
  filled(value, factRules[collection] ?? [], id, ctx)

function filled(document: Doc, rules: readonly Rule[], id: string, ctx: StandIns): Doc {
  for (const { path, standIn } of rules) {
    for (const { holder, name, keys } of placesAt(document, path)) {
      if (holder[name] !== null) continue
      if (standIn === undefined) delete holder[name]
      else holder[name] = standIn(ctx, document, [id, ...keys])
    }
  }
  return document
}

interface Found {
  readonly holder: Doc
  readonly name: string
  readonly keys: readonly string[]
}

function* placesAt(value: unknown, path: Path, keys: readonly string[] = []): Generator<Found> {
  if (Array.isArray(value)) {
    for (const item of value) yield* placesAt(item, path, keys)
    return
  }
  if (typeof value !== 'object' || value === null) return
  const holder = value as Doc
  const [first, ...rest] = path as [string, ...string[]]
  for (const name of first === '*' ? Object.keys(holder) : Object.hasOwn(holder, first) ? [first] : []) {
    const met = first === '*' ? [...keys, name] : keys
    if (rest.length === 0) yield { holder, name, keys: met }
    else yield* placesAt(holder[name], rest, met)
  }
}

const isHash = (value: unknown): boolean =>
  Array.isArray(value) ? value.some(isHash) : typeof value === 'string' && value.startsWith('$argon2')
const isSealed = (value: unknown): boolean => typeof value === 'object' && value !== null && '$sealed' in value
const isDigest = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).join() === 'digest'

/** Collections with secrets at many paths. */
const scattered: Readonly<Record<string, (value: unknown) => boolean>> = {
  'hardware.clusters': isDigest,
  'remotes.inventories': (value) => isSealed(value) || isHash(value),
}
const inSettings = { what: 'secrets in settings and inventories of clusters', instead: missingText }

function dropWhere(value: unknown, isWanted: (value: unknown) => boolean, dropped: () => void): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, item] of Object.entries(value)) {
    if (!isWanted(item)) dropWhere(item, isWanted, dropped)
    else if (!Array.isArray(value)) {
      delete (value as Doc)[name]
      dropped()
    }
  }
}
