/** Who may import whom. The rule is the table; `(roots)` means the files directly in a folder, not its subfolders. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

export const mayImport: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  client: ['contract'],
  'server/odata': ['contract'],
  'server/store (roots)': ['contract', 'server/odata'],
  'server/store/*': ['contract', 'server/store (roots)', 'server/odata'],
  // Two words of core are the world's own: its clock, and how a driver says no. The store is met as a type only.
  'server/drivers (roots)': ['contract', 'server/core'],
  'server/drivers/*': ['contract', 'client', 'server/drivers (roots)', 'server/core', 'server/store (roots)'],
  'server/core': ['contract', 'server/odata', 'server/store (roots)'],
  'server/domains (roots)': [
    'contract',
    'server/core',
    'server/odata',
    'server/store (roots)',
    'server/drivers (roots)',
    'server/drivers/*',
    'server/domains/*',
    'server (roots)',
  ],
  'server/domains/*': [
    'contract',
    'server/core',
    'server/odata',
    'server/store (roots)',
    'server/drivers (roots)',
    'server/domains (roots)',
    'server/drivers/simulated',
  ],
  // Knows every part of a world that may be described.
  'server/seeds (roots)': [
    'contract',
    'server/core',
    'server/store/*',
    'server/store (roots)',
    'server/domains (roots)',
    'server/domains/*',
    'server/drivers (roots)',
    'server/drivers/simulated',
    'server/seeds/*',
    'server (roots)',
  ],
  'server/seeds/*': [
    'contract',
    'server/core',
    'server/store (roots)',
    'server/domains (roots)',
    'server/domains/*',
    'server/drivers (roots)',
    'server/drivers/simulated',
    'server/seeds/*',
    'server/seeds (roots)',
  ],
  // One store, its instance, the gate before it: all parts meet in a world, and in what is done to worlds.
  'server/worlds': [
    'contract',
    'server/core',
    'server/store (roots)',
    'server/control',
    'server/http',
    'server (roots)',
  ],
  'server/control': [
    'contract',
    'server/core',
    'server/odata',
    'server/store (roots)',
    'server/store/*',
    'server/drivers (roots)',
    'server/drivers/simulated',
    'server/domains (roots)',
    'server/domains/*',
    'server/seeds (roots)',
    'server/worlds',
    'server/http',
    'server (roots)',
  ],
  'server/http': ['contract', 'server/core', 'server (roots)'],
  'server (roots)': ['*'],
}

/** Folders of the server that are one part, subfolders and all. */
const wholes = new Set(['odata', 'core', 'http', 'worlds', 'control'])

/** The part of the tree that a file belongs to. */
export function partOf(file: string): string | undefined {
  const path = relative(join(root, 'packages'), file).split('/')
  if (path[1] !== 'src') return undefined
  if (path[0] !== 'server') return path[0]
  const [, , first, second, third] = path
  if (second === undefined) return 'server (roots)'
  if (first !== undefined && wholes.has(first)) return `server/${first}`
  if (third === undefined) return `server/${first} (roots)`
  return `server/${first}/${second}`
}

const allowed = (from: string, to: string): boolean => {
  if (from === to) return true
  const generic = from.replace(/\/[^/]+$/, '/*')
  const rule = mayImport[from] ?? mayImport[generic] ?? []
  return (
    rule.includes('*') ||
    rule.includes(to) ||
    rule.some((entry) => entry.endsWith('/*') && to.startsWith(entry.slice(0, -1)))
  )
}

/** One line for each import that the table forbids. */
export function forbiddenImports(): string[] {
  const found: string[] = []
  const files = readdirSync(join(root, 'packages'), { recursive: true, withFileTypes: true })
    .filter(
      (entry) =>
        entry.isFile() &&
        entry.name.endsWith('.ts') &&
        !entry.name.endsWith('.test.ts') &&
        !entry.parentPath.includes('node_modules'),
    )
    .map((entry) => join(entry.parentPath, entry.name))
  for (const file of files) {
    const from = partOf(file)
    if (from === undefined) continue
    for (const match of readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)) {
      const target = match[1] as string
      const to = target.startsWith('@hyperplane/')
        ? target.split('/')[1]
        : target.startsWith('.')
          ? partOf(resolve(dirname(file), target))
          : undefined
      if (to !== undefined && !allowed(from, to))
        found.push(`${relative(root, file)} (${from}) imports ${target} (${to})`)
    }
  }
  return found.sort()
}

if (process.argv[1] === import.meta.filename) {
  const found = forbiddenImports()
  for (const line of found) console.error(line)
  if (found.length > 0) process.exit(1)
  console.log('import directions: all as the table says')
}
