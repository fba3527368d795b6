/** Facts of the interface, one sorted line each. `--update` writes them; without it they must agree. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { contract, type Operation } from '@hyperplane/contract'
import { type ErrorDefinition, errorCatalogue } from '@hyperplane/contract/error-catalogue'
import { driverTable } from '../packages/server/src/control/catalogue/driver-table.ts'
import { domains } from '../packages/server/src/domains/index.ts'
import { seedJsonSchema } from '../packages/server/src/seeds/json-schema.ts'
import { builtOperations, decisionsIndex } from './page-tables.ts'
import { roomsPicture } from './rooms-picture.ts'
import { sourceSizes } from './source-size.ts'

const folder = resolve(import.meta.dirname, '../packages/server/test/golden')

const rateOf = (operation: Operation): string => {
  const { per, xsmall, small, large, xlarge } = operation.rateLimit
  return `${[xsmall, small, large, xlarge].map((figure) => figure ?? '-').join('/')} per ${per}`
}

const lineOf = (operation: Operation): string =>
  [
    operation.key,
    `${operation.method} /${operation.namespace}/{${operation.versions.join(',')}}${operation.path}`,
    operation.runs,
    String(operation.status),
    rateOf(operation),
    operation.iamOperation,
    operation.roles === 'everyone' ? 'everyone' : [...operation.roles].sort().join(', '),
  ].join(' | ')

const handled = new Set(
  Object.entries(domains).flatMap(([prefix, kinds]) =>
    Object.values(kinds).flatMap((domain) => Object.keys(domain.handlers).map((id) => `${prefix}.${id}`)),
  ),
)

function gaps(): string[] {
  return contract
    .flatMap((namespace) => namespace.operations)
    .filter((operation) => !handled.has(operation.key))
    .filter(
      (operation) => !(operation.resource?.derived !== true && (operation.verb === 'list' || operation.verb === 'get')),
    )
    .map((operation) => `${operation.key} | ${operation.method} ${operation.path}`)
}

const files = new Map<string, readonly string[]>([
  ...contract.map((namespace) => [`operations/${namespace.name}.txt`, namespace.operations.map(lineOf)] as const),
  [
    'errors.txt',
    Object.entries(errorCatalogue as Record<string, ErrorDefinition>).map(
      ([key, error]) => `${error.code} | ${error.status} | ${error.group ?? key} | ${error.message}`,
    ),
  ],
  ['unimplemented.txt', gaps()],
])

const documents = new Map<string, unknown>([['docs/reference/seed.schema.json', seedJsonSchema()]])

/** Generated between two comments of a page. */
const tables = new Map<string, readonly [name: string, table: string]>([
  ['ARCHITECTURE.md', ['rooms', roomsPicture()]],
  ['README.md', ['operations', builtOperations(new Set(gaps().map((line) => line.split(' | ')[0] as string)))]],
  ['docs/decisions/README.md', ['decisions', decisionsIndex()]],
  ['docs/reference/faults.md', ['drivers', driverTable()]],
])

const update = process.argv.includes('--update')
let differs = false
for (const [name, document] of documents) {
  const path = resolve(import.meta.dirname, '..', name)
  const text = `${JSON.stringify(document, undefined, 2)}\n`
  if (existsSync(path) && readFileSync(path, 'utf8') === text) continue
  if (update) writeFileSync(path, text)
  else {
    console.error(`${name} differs: read the change, then run npm run golden -- --update`)
    differs = true
  }
}
for (const [name, [table, text]] of tables) {
  const path = resolve(import.meta.dirname, '..', name)
  const stored = readFileSync(path, 'utf8')
  const [begin, end] = [`<!-- begin ${table}, written by npm run golden -->`, `<!-- end ${table} -->`]
  const [first, last] = [stored.indexOf(begin), stored.indexOf(end)]
  if (first < 0 || last < first) throw new Error(`${name} has no place for its table: "${begin}", then "${end}"`)
  const page = `${stored.slice(0, first)}${begin}\n${text}\n${stored.slice(last)}`
  if (page === stored) continue
  if (update) writeFileSync(path, page)
  else {
    console.error(`${name} differs: read the change, then run npm run golden -- --update`)
    differs = true
  }
}
for (const [name, lines] of files) {
  const path = join(folder, name)
  const text = `${[...new Set(lines)].sort().join('\n')}\n`
  const stored = existsSync(path) ? readFileSync(path, 'utf8') : ''
  if (stored === text) continue
  if (name === 'unimplemented.txt' && stored !== '') {
    const known = new Set(stored.split('\n'))
    const added = text.split('\n').filter((line) => !known.has(line))
    if (added.length > 0) {
      console.error(`${name} only shrinks; new gaps:\n${added.join('\n')}`)
      differs = true
      continue
    }
  }
  if (update) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  } else {
    console.error(`${name} differs: read the change, then run npm run golden -- --update`)
    differs = true
  }
}
if (differs) process.exit(1)
console.log(`goldens: ${files.size + documents.size + tables.size} files agree`)
const unbuilt = new Set(gaps().map((line) => line.split(' | ')[0]))
const built = contract.map(
  ({ name, operations }) => [name, operations.filter(({ key }) => !unbuilt.has(key)).length] as const,
)
for (const line of sourceSizes(new Map(built))) console.log(line)
