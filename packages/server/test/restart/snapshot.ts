/** All that a data folder holds, as text: to tell whether two worlds are the same. */
import { readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { canonicalJson } from '../../src/core/idempotency.ts'
import { entityTables } from '../support/invariants.ts'

/** One line for each row and file. The service must be closed. */
export function snapshotOf(folder: string): readonly string[] {
  const lines: string[] = []
  const database = new DatabaseSync(join(folder, 'world.sqlite'), { readOnly: true })
  try {
    for (const table of entityTables(database)) {
      for (const row of database
        .prepare(`SELECT published, version, document FROM ${table}`)
        .all() as unknown as Row[]) {
        lines.push(
          `${table} v${row.version} ${row.published === 1 ? '' : 'pending '}${canonicalJson(JSON.parse(row.document))}`,
        )
      }
    }
    for (const row of database.prepare('SELECT * FROM reference').all())
      lines.push(`reference ${Object.values(row).join(' ')}`)
  } finally {
    database.close()
  }
  const files = join(folder, 'world')
  for (const entry of readdirSync(files, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const name = relative(files, path)
    // What is sealed anew each time is as long as it happens to be.
    lines.push(`file ${name} ${name.includes('hyperplane-backups') ? 'of a backup' : statSync(path).size}`)
  }
  return lines.sort()
}

interface Row {
  readonly published: number
  readonly version: number
  readonly document: string
}

/**
 * Rows that tell of the work, and not of what came of it; users carry the time of their last sign-in. Alerts come with
 * time, and a start may end before their watch has run.
 */
const journals =
  /^(?:internal_core_remembered_answer|internal_core_audit_record|platform_config_task|internal_iam_\w+|iam_authn_user|internal_clustermgmt_(?:open_alert|alert_notice)) /
const id = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** As JSON writes it. */
const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const passwordHash = /\$argon2id\$[^"]+/g
const mac = /50:6b:8d(?::[0-9a-f]{2}){3}/g

/**
 * What came of it, comparable between worlds that began as `base`: ids and other random texts that are not from there are
 * all one, and what base had already is left out.
 * @param traces false: what only tells that something was tried is left out as well: how often a row was written, calls that
 * the outside remembers, an empty count
 */
export function outcomeOf(
  snapshot: readonly string[],
  base: readonly string[],
  { traces = true } = {},
): readonly string[] {
  // The outside may be told the same twice.
  const told = (line: string): string => line.replace(/^(internal_world_fact) v\d+/, '$1')
  if (traces) return outcome(snapshot.map(told), base.map(told))
  const plain = (line: string): string => line.replace(/^(\w+) v\d+/, '$1').replace(/"calls":\[.*?\],?(?="|})/, '')
  // A topology lock whose task has ended holds nothing.
  const empty =
    /^networking_config_address_tally \{"assigned":0,.*"reserved":0\}$|^internal_clustermgmt_topology_lock |"collection":"content\.urls"/
  const left = (lines: readonly string[]): readonly string[] => lines.map(plain).filter((line) => !empty.test(line))
  return outcome(left(snapshot), left(base))
}

function outcome(snapshot: readonly string[], base: readonly string[]): readonly string[] {
  const known = new Set(base)
  const baseText = base.join('\n')
  const names = new Map<string, string>()
  const random = (text: string): string => {
    let name = names.get(text)
    if (name === undefined) names.set(text, (name = baseText.includes(text) ? text : '<new>'))
    return name
  }
  const removed = new Set(snapshot)
  return [
    ...snapshot.filter((line) => !known.has(line) && !journals.test(line)).map((line) => `+ ${line}`),
    ...base.filter((line) => !removed.has(line) && !journals.test(line)).map((line) => `- ${line}`),
  ]
    .map((line) =>
      line
        .replace(id, random)
        .replace(mac, random)
        .replace(certificate, random)
        .replace(passwordHash, random)
        .replace(/"\$sealed":"[^"]*"/g, '"$sealed":"…"')
        .replace(/"lastSizeBytes":\d+/, '"lastSizeBytes":"…"'),
    )
    .sort()
}
