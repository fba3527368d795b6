/** Reads the file of each kind (`<namespace>/<kind>.ts`), so that a new kind needs no line in a list. */
import { globSync } from 'node:fs'
import type { Operation } from '@hyperplane/contract'
import type { Builder } from '../restart/walks/request-parts.ts'
import type { Creation, FactOwner, FieldBase, OrderCase, RestartScenario } from './kind.ts'

interface KindFile {
  readonly creations?: Readonly<Record<string, Creation>>
  readonly factOwners?: Readonly<Record<string, FactOwner>>
  readonly fieldBases?: Readonly<Record<string, readonly FieldBase[]>>
  /** Values for fields whose rules the contract does not express, by `<operation> <field>`, or `* <name>` for that name anywhere. */
  readonly fieldValues?: Readonly<Record<string, readonly unknown[]>>
  readonly orderCases?: Readonly<Record<string, OrderCase>>
  readonly restartScenarios?: Readonly<Record<string, RestartScenario>>
  /** By task definition: what stays when the task fails and is undone, and why. */
  readonly staysAfterUndo?: Readonly<Record<string, string>>
  /** By collection, names in the demo's seed (`vm/web-01`) of the few entities that random walks begin with. */
  readonly walkEntities?: Readonly<Record<string, readonly string[]>>
  /** Requests of random walks, by a name of their own. */
  readonly walkRequests?: Readonly<Record<string, Builder>>
}

/** Exports of each file of a kind, by its path below the root of the project. */
export const kindFiles = new Map<string, KindFile>()
for (const found of globSync('*/*.ts', { cwd: import.meta.dirname }).sort()) {
  const name = found.replaceAll('\\', '/')
  kindFiles.set(`packages/server/test/kinds/${name}`, await import(new URL(name, import.meta.url).href))
}

function collect<T>(entriesOf: (file: KindFile) => Readonly<Record<string, T>> | undefined): Record<string, T> {
  const collected: Record<string, T> = {}
  for (const [name, entry] of [...kindFiles.values()].flatMap((file) => Object.entries(entriesOf(file) ?? {}))) {
    if (name in collected) throw new Error(`two files of test/kinds have an entry for ${name}`)
    collected[name] = entry
  }
  return collected
}

export const creations = collect((file) => file.creations)
export const factOwners = collect((file) => file.factOwners)
export const fieldBases = collect((file) => file.fieldBases)
export const fieldValues = collect((file) => file.fieldValues)
export const orderCases = collect((file) => file.orderCases)
export const restartScenarios = collect((file) => file.restartScenarios)
export const staysAfterUndo = collect((file) => file.staysAfterUndo)
export const walkEntities = collect((file) => file.walkEntities)
export const walkRequests = collect((file) => file.walkRequests)

/** The file that is to export an entry for this operation. */
export function fileOf({ key, namespace, stem }: Operation): string {
  const groups = key.split('.').slice(1, -1)
  return `packages/server/test/kinds/${namespace}/${[...groups, stem].join('-')}.ts`
}
