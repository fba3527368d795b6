/**
 * The content of a backup: one line of JSON a row.
 *
 * ```
 * {"kind":"Vm","version":3,"document":{"extId":"…", …}}
 * {"kind":"Vm","version":1,"pending":true,"document":{…}}
 * {"kind":"meta","name":"tenant","value":"…"}
 * ```
 *
 * Rows of a kind stand together, in the order of their creation. Source: behaviour platform.md 8 (content).
 */

/** A row as it is stored; what can be had from the document (references, columns) is not repeated. */
export interface EntityRow {
  readonly kind: string
  readonly version: number
  /** Not published yet: a task was making it. */
  readonly pending?: true
  /** Holds `extId`; its secrets are sealed. */
  readonly document: Readonly<Record<string, unknown>>
}

/** A word of the store about itself, such as the tenant. Comes before all entities. */
export interface MetaRow {
  readonly kind: 'meta'
  readonly name: string
  readonly value: string
}

export type BackupRow = EntityRow | MetaRow

export const isMeta = (row: BackupRow): row is MetaRow => row.kind === 'meta'

/** A line in pieces, with its line break: text, or its bytes in UTF-8. */
export type LinePieces = readonly (string | Uint8Array)[]

/** @param document its JSON, which needs no parsing on the way out */
export const entityLine = (
  kind: string,
  version: number,
  isPending: boolean,
  document: string | Uint8Array,
): LinePieces => [
  `{"kind":${JSON.stringify(kind)},"version":${version}${isPending ? ',"pending":true' : ''},"document":`,
  document,
  '}\n',
]

export const metaLine = (name: string, value: string): LinePieces => [
  `${JSON.stringify({ kind: 'meta', name, value })}\n`,
]

/** @throws SyntaxError, TypeError for what is no row */
export function rowOf(line: string): BackupRow {
  const row = JSON.parse(line) as BackupRow
  const isWhole = isMeta(row)
    ? typeof row.name === 'string' && typeof row.value === 'string'
    : typeof row.kind === 'string' && Number.isInteger(row.version) && typeof row.document?.['extId'] === 'string'
  if (!isWhole) throw new TypeError('not a row')
  return row
}

/** A row begins with its kind: the rest need not be read to count it. @throws TypeError for what is no row */
export function kindIn(line: Buffer): string {
  const [, kind] = /^\{"kind":"(\w+)",/.exec(line.toString('latin1', 0, 100)) ?? []
  if (kind === undefined || line.at(-1) !== closingBrace) throw new TypeError('not a row')
  return kind
}
const closingBrace = 0x7d
