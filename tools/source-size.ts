/** Lines of source an operation costs: those of a namespace in the contract and in its domain, and of all drivers. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../packages')

/** @param operations built ones, by namespace @returns a line for each namespace, and one for the drivers */
export function sourceSizes(operations: ReadonlyMap<string, number>): readonly string[] {
  const sizes = [...operations].map(([name, count]) => {
    const each = (folder: string): string => `${Math.round(linesIn(join(root, folder, name)) / count)}`
    return `${name}: ${count} operations, lines for each: ${each('contract/src')} of contract, ${each('server/src/domains')} of domain`
  })
  const all = [...operations.values()].reduce((sum, count) => sum + count, 0)
  return [...sizes, `drivers: ${Math.round(linesIn(join(root, 'server/src/drivers')) / all)} lines for each of ${all}`]
}

function linesIn(folder: string): number {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .reduce((sum, name) => sum + readFileSync(join(folder, name), 'utf8').split('\n').length - 1, 0)
}
