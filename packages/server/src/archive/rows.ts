/**
 * The content of a backup, one row per line; rows of a kind are consecutive, in the order of their creation.
 *
 * ```
 * {"kind":"Vm","version":3,"document":{"extId":"…", …}}
 * {"kind":"Vm","version":1,"pending":true,"document":{…}}
 * {"kind":"meta","name":"tenant","value":"…"}
 * ```
 * Source: behaviour platform.md 8 (content).
 */

/** Without the columns and references that are derived from the document. */
export interface EntityRow {
  readonly kind: string
  readonly version: number
  /** Not published yet: a task was creating it. */
  readonly pending?: true
  readonly document: Readonly<Record<string, unknown>> & { readonly extId: string }
}

/** Metadata of the store, such as the tenant; precedes all entities. */
export interface MetaRow {
  readonly kind: 'meta'
  readonly name: string
  readonly value: string
}

export type BackupRow = EntityRow | MetaRow

export const isMeta = (row: BackupRow): row is MetaRow => row.kind === 'meta'

/** A line with its line break: texts, or their bytes in UTF-8. */
export type LinePieces = readonly (string | Uint8Array)[]

/** @param document JSON, which is not parsed */
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

/** @throws SyntaxError, TypeError for a malformed row */
export function rowOf(line: string): BackupRow {
  const row = JSON.parse(line) as BackupRow
  const isValid = isMeta(row)
    ? typeof row.name === 'string' && typeof row.value === 'string'
    : typeof row.kind === 'string' && Number.isInteger(row.version) && typeof row.document?.['extId'] === 'string'
  if (!isValid) throw new TypeError('not a row')
  return row
}

/** Counts need only the beginning of the row. @throws TypeError for a malformed row */
export function kindIn(line: Buffer): string {
  const [, kind] = /^\{"kind":"(\w+)",/.exec(line.toString('latin1', 0, 100)) ?? []
  if (kind === undefined || line.at(-1) !== closingBrace) throw new TypeError('not a row')
  return kind
}
const closingBrace = 0x7d
