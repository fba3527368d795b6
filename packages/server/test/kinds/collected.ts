/** Reads the file of each kind (`<namespace>/<kind>.ts`), so that a new kind needs no line in a list. */
import { globSync } from 'node:fs'
import type { Operation } from '@hyperplane/contract'
import type { Creation, OrderCase, RestartScenario } from './kind.ts'

interface KindFile {
  readonly creations?: Readonly<Record<string, Creation>>
  readonly orderCases?: Readonly<Record<string, OrderCase>>
  readonly restartScenarios?: Readonly<Record<string, RestartScenario>>
}

const files: KindFile[] = []
for (const name of globSync('*/*.ts', { cwd: import.meta.dirname }).sort())
  files.push(await import(new URL(name.replaceAll('\\', '/'), import.meta.url).href))

function collect<T>(entriesOf: (file: KindFile) => Readonly<Record<string, T>> | undefined): Record<string, T> {
  const collected: Record<string, T> = {}
  for (const [name, entry] of files.flatMap((file) => Object.entries(entriesOf(file) ?? {}))) {
    if (name in collected) throw new Error(`two files of test/kinds have an entry for ${name}`)
    collected[name] = entry
  }
  return collected
}

export const creations = collect((file) => file.creations)
export const orderCases = collect((file) => file.orderCases)
export const restartScenarios = collect((file) => file.restartScenarios)

/** The file that is to export an entry for this operation. */
export const fileOf = ({ namespace, stem }: Operation): string => `packages/server/test/kinds/${namespace}/${stem}.ts`
