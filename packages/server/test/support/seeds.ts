/** Two worlds compared, row by row and fact by fact. */
import { AuditRecord, RememberedAnswer } from '../../src/core/records.ts'
import { AlertNotice, ClosedAlert, OpenAlert } from '../../src/domains/clustermgmt/alerts/alert.ts'
import { ServiceKey, SignInLock } from '../../src/domains/iam/records.ts'
import { storeTables } from '../../src/domains/tables.ts'
import { Fact } from '../../src/drivers/simulated/world.ts'
import { exportSeed } from '../../src/seeds/export-seed.ts'
import { factsById } from './facts.ts'
import type { TestApp } from './start-app.ts'

const tables = storeTables()
/** Of the one instance, and of nobody after it. */
const ownRows: ReadonlySet<string> = new Set(
  [AlertNotice, AuditRecord, ClosedAlert, OpenAlert, RememberedAnswer, ServiceKey, SignInLock, Fact].map(
    ({ kind }) => kind,
  ),
)

/** Internal fields with credentials or state of a process. */
const ownFields = new Set(['apiKeyDigest', 'formerPasswordHashes', 'passwordHash', 'runner'])

/** Every entity by kind, in the order of lists, without what a seed may not hold. */
export async function entitiesOf({ store }: Pick<TestApp, 'store'>): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const entities = new Map<string, readonly unknown[]>()
  for (const { resource } of tables.values()) {
    if (ownRows.has(resource.kind)) continue
    const rows = await store.find(resource)
    if (rows.length > 0)
      entities.set(
        resource.kind,
        rows.map((row) => withoutSecrets(row)),
      )
  }
  return entities
}

/** Sealed anew in each world. */
export function withoutSecrets(value: any): any {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, item]) => !ownFields.has(name) && (item as any)?.$sealed === undefined)
      .map(([name, item]) => [name, withoutSecrets(item)]),
  )
}

const factSecrets = /^(?:chapDigest|digest|password|keyDigest|passwordDigest|passwordHash)$/

/** Every fact of the simulated infrastructure, by `collection/id`. */
export async function factsOf(app: TestApp): Promise<ReadonlyMap<string, unknown>> {
  // Observers of the world write facts after the instance has opened.
  await app.clock.settled()
  const facts = new Map<string, unknown>()
  const clean = (value: any): any => {
    if (Array.isArray(value)) return value.map(clean)
    if (typeof value !== 'object' || value === null) return value
    const kept = Object.entries(value).filter(
      ([name, item]) =>
        !factSecrets.test(name) &&
        !ownFields.has(name) &&
        (item as any)?.$sealed === undefined &&
        (item as any)?.digest === undefined,
    )
    return Object.fromEntries(
      kept.map(([name, item]) => [name, name === 'keys' ? Object.keys(item as object) : clean(item)]),
    )
  }
  for (const [collection, byId] of await factsById(app))
    for (const [id, value] of byId) facts.set(`${collection}/${id}`, clean(value))
  return new Map([...facts].sort(([a], [b]) => (a < b ? -1 : 1)))
}

export async function exported(app: TestApp): Promise<string> {
  const chunks: string[] = []
  const world = { file: `${app.folder}/world.sqlite`, tables, version: '0.0.0', time: app.clock.iso() }
  for await (const chunk of exportSeed(world)) chunks.push(chunk)
  return chunks.join('')
}
