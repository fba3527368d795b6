/**
 * Writes the first files of a kind: `npm run new-kind -- FACTS TAG [--roles FILE] [--folder FOLDER]`. FACTS is a JSON
 * file about the namespace, TAG names the kind's operations in it. Open decisions read `undecided`: the files do not
 * compile until all are made. FOLDER is below the namespace, as `vm/parts`.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { ContractFile, camel, type Declared, kebab } from './contract-file.ts'
import { kindOf, readFacts, readRoles } from './facts.ts'
import { domainFile, suitesFile, testFile } from './server-files.ts'

export interface NewKind {
  readonly facts: string
  readonly tag: string
  readonly roles?: string | undefined
  readonly folder?: string | undefined
}

const contractRoot = 'packages/contract/src'

export function newKind({ facts: factsFile, tag, roles, folder = '' }: NewKind, root: string) {
  const facts = readFacts(factsFile)
  const { operations, shape } = kindOf(facts, tag)
  const kind = shape.slice(shape.lastIndexOf('.') + 1)
  const namespace = facts.specNamespace
  const stem = join(namespace, folder, kebab(kind))
  const up = relative(dirname(stem), '.')
  const names = { namespace, kind, contract: `@hyperplane/contract/${stem}`, up }
  const contract = new ContractFile(facts, declaredShapes(join(root, contractRoot)), readRoles(roles))
  const files = new Map([
    [`${contractRoot}/${stem}.ts`, contract.text(tag, up)],
    [`packages/server/src/domains/${stem}.ts`, domainFile(names, operations)],
    [`packages/server/test/kinds/${namespace}/${kebab(kind)}.ts`, suitesFile(names, operations)],
    [`packages/server/test/api/${namespace}/${kebab(kind)}.test.ts`, testFile(names, operations)],
  ])
  const entries = [
    `${contractRoot}/${namespace}/kinds.ts: export ${camel(kind)}Operations as '${kebab(kind)}'`,
    `packages/server/src/domains/${namespace}/index.ts: export ${camel(kind)}, if it has mutations`,
  ]
  return { files, entries }
}

function declaredShapes(folder: string): Declared {
  const found = new Map<string, { name: string; file: string }>()
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!entry.endsWith('.ts') || entry.endsWith('.test.ts')) continue
    const text = readFileSync(join(folder, entry), 'utf8')
    for (const [, name = '', type = ''] of text.matchAll(
      /^export const (\w+) = (?:s\.)?(?:object|resource)\(\s*'([^']+)'/gm,
    ))
      found.set(type, { name, file: entry })
  }
  return found
}

/** @throws Error if a file exists already: it may hold work. */
function write(files: ReadonlyMap<string, string>, root: string): void {
  const present = [...files.keys()].filter((file) => existsSync(join(root, file)))
  if (present.length > 0) throw new Error(`nothing is written, since these files exist: ${present.join(', ')}`)
  for (const [file, text] of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
  }
  const biome = join(root, 'node_modules/.bin/biome')
  execFileSync(biome, ['check', '--write', ...files.keys()], { cwd: root, stdio: 'ignore' })
}

function run(): void {
  const options = { roles: { type: 'string' }, folder: { type: 'string' } } as const
  const { positionals, values } = parseArgs({ allowPositionals: true, options })
  const [facts, tag] = positionals
  if (facts === undefined || tag === undefined)
    throw new Error('usage: npm run new-kind -- FACTS TAG [--roles FILE] [--folder FOLDER]')
  const root = resolve(import.meta.dirname, '../..')
  const { files, entries } = newKind({ facts, tag, ...values }, root)
  write(files, root)
  console.log([...files.keys()].map((file) => `wrote ${file}`).join('\n'))
  console.log(`\nNow, in these files:\n${entries.join('\n')}`)
}

if (process.argv[1] === import.meta.filename) {
  try {
    run()
  } catch (error) {
    console.error((error as Error).message)
    process.exit(1)
  }
}
