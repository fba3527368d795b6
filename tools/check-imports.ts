/**
 * Checks the import directions, also of types: a reader follows them too. `rooms` lists the rooms of the source tree
 * from the lowest floor up, each with the rooms that it may import. Import cycles between files are refused.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')

const drivers = [
  'drivers',
  'drivers/folder',
  'drivers/http',
  'drivers/ldap',
  'drivers/remote',
  'drivers/s3',
  'drivers/snmp',
  'drivers/syslog',
]
const underDomains = ['contract', 'odata', 'store', 'core', 'drivers', 'archive', 'domains/base']

/** Themes hold code that several namespaces share. They import no namespace, but themes above them in this list. */
const themes = [
  'domains/invariants',
  'domains/accounts',
  'domains/virtual-machines',
  'domains/addressing',
  'domains/registrations',
  'domains/storage-space',
  'domains/containers',
  'domains/scheduling',
  'domains/block-volumes',
  'domains/statistics',
  'domains/admission',
]
/** Namespaces do not import each other. */
export const namespaces = [
  'domains/clustermgmt',
  'domains/iam',
  'domains/networking',
  'domains/platform',
  'domains/storage',
  'domains/vmm',
  'domains/volumes',
]
const everyDomain = ['domains/base', ...themes, ...namespaces, 'domains/registry']

const server: Readonly<Record<string, readonly string[]>> = {
  boot: ['client'],
  odata: ['contract'],
  store: ['contract', 'odata'],
  'store/sqlite': ['contract', 'odata', 'store'],
  core: ['contract', 'odata', 'store'],
  'data-folder': ['core', 'store'],
  http: ['contract', 'core'],
  drivers: ['contract', 'core', 'store'],
  'drivers/folder': ['core', 'drivers'],
  'drivers/http': ['core', 'drivers'],
  'drivers/ldap': ['core', 'drivers'],
  'drivers/remote': ['contract', 'client', 'core', 'drivers'],
  'drivers/s3': ['core', 'drivers'],
  'drivers/snmp': ['core', 'drivers'],
  'drivers/syslog': ['core', 'drivers'],
  'drivers/simulated': ['contract', 'core', 'store', 'drivers'],
  archive: ['contract', 'core', 'drivers'],
  'domains/base': ['contract', 'store', 'core', 'drivers'],
  ...Object.fromEntries(themes.map((theme, index) => [theme, [...underDomains, ...themes.slice(0, index)]])),
  ...Object.fromEntries(namespaces.map((namespace) => [namespace, [...underDomains, ...themes]])),
  'domains/registry': [...underDomains, 'drivers/simulated', ...themes, ...namespaces],
  seeds: ['contract', 'core', 'store', 'store/sqlite', 'archive', 'drivers', 'drivers/simulated', ...everyDomain],
  simulation: ['contract', 'odata', 'store', 'core', 'drivers', 'drivers/simulated', ...themes],
  config: ['core', 'seeds'],
  backups: ['archive', 'core', 'data-folder', 'store', 'store/sqlite', 'drivers/simulated', ...everyDomain],
  instance: [
    ...['contract', 'core', 'store', 'store/sqlite', 'data-folder', 'http', ...drivers, 'drivers/simulated'],
    ...[...everyDomain, 'backups', 'simulation', 'seeds', 'config'],
  ],
  commands: [
    ...['archive', 'backups', 'config', 'core', 'data-folder', ...drivers, 'store', 'store/sqlite'],
    ...everyDomain,
  ],
  worlds: ['config', 'core', 'data-folder', 'http', 'instance', 'store'],
  control: [
    ...['contract', 'odata', 'store', 'store/sqlite', 'core', 'data-folder', 'http', 'drivers', 'drivers/simulated'],
    ...[...everyDomain, 'seeds', 'simulation', 'config', 'instance', 'worlds'],
  ],
  app: ['contract', 'core', 'store', 'data-folder', 'http', 'seeds', 'config', 'instance', 'worlds', 'control'],
  embedding: ['client', 'boot', 'core', 'data-folder', 'http', 'config', 'app'],
  index: ['client', 'boot', 'core', 'embedding'],
  main: ['boot', 'core', 'store', 'http', 'config', 'commands', 'worlds', 'app'],
}

export const rooms: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  client: ['contract'],
  ...server,
}

/** These files name every kind; other files directly in `domains` belong to `domains/base`. */
const registry = new Set(['index.ts', 'collected.ts', 'tables.ts', 'invariants/invariants.ts'])

/** A package, or a folder of the server with its subfolders. */
export function roomOf(file: string): string | undefined {
  const [, name, folder, ...path] = relative(root, file).split('/')
  if (folder !== 'src') return undefined
  if (name !== 'server') return name
  const [first = '', second = '', third] = path
  if (path.length === 1) return first.replace(/\.[jt]s$/, '')
  if (first === 'domains') {
    if (registry.has(path.slice(1).join('/'))) return 'domains/registry'
    return third === undefined ? 'domains/base' : `domains/${second}`
  }
  const hasRooms = first === 'drivers' || first === 'store'
  return hasRooms && third !== undefined ? `${first}/${second}` : first
}

interface Imports {
  readonly files: readonly string[]
  readonly packages: readonly string[]
}

function importsOf(file: string): Imports {
  const files: string[] = []
  const packages: string[] = []
  for (const [, specifier = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import\(|^import)\s*'([^']+)'/gm)) {
    if (specifier.startsWith('@hyperplane/')) packages.push(specifier.split('/')[1] as string)
    const target = resolve(dirname(file), specifier)
    if (specifier.startsWith('.') && existsSync(target)) files.push(target)
  }
  return { files, packages }
}

function sources(): ReadonlyMap<string, Imports> {
  const found = readdirSync(join(root, 'packages'), { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => /(?<!\.test)\.[jt]s$/.test(name) && !parentPath.includes('node_modules'))
    .map(({ name, parentPath }) => join(parentPath, name))
    .filter((file) => roomOf(file) !== undefined)
  return new Map(found.map((file) => [file, importsOf(file)]))
}

export function importedRooms(): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>()
  for (const [file, { files, packages }] of sources()) {
    const from = roomOf(file) as string
    const targets = found.get(from) ?? new Set<string>()
    found.set(from, targets)
    for (const room of [...packages, ...files.map(roomOf)]) if (room !== undefined && room !== from) targets.add(room)
  }
  return found
}

function forbiddenImports(graph: ReadonlyMap<string, Imports>): string[] {
  const lines: string[] = []
  for (const [file, { files, packages }] of graph) {
    const from = roomOf(file) as string
    const refuse = (target: string, to: string): void => {
      if (to === from || rooms[from]?.includes(to) === true) return
      lines.push(`${relative(root, file)} imports ${target}: ${from} may not import ${to}`)
    }
    for (const name of packages) {
      // A relative path, because the search for circles follows those only.
      if (name === from) lines.push(`${relative(root, file)} imports its own package by name: use a relative path`)
      refuse(`@hyperplane/${name}`, name)
    }
    for (const target of files) {
      const to = roomOf(target)
      if (to !== undefined) refuse(relative(root, target), to)
    }
  }
  return lines.sort()
}

/** Tarjan's algorithm for strongly connected components. */
function circles(graph: ReadonlyMap<string, Imports>): string[] {
  const order = new Map<string, number>()
  const open: string[] = []
  const lines: string[] = []
  const visit = (file: string): number => {
    order.set(file, order.size)
    let low = order.size - 1
    open.push(file)
    for (const target of graph.get(file)?.files ?? []) {
      if (!graph.has(target)) continue
      if (!order.has(target)) low = Math.min(low, visit(target))
      else if (open.includes(target)) low = Math.min(low, order.get(target) as number)
    }
    if (low === order.get(file)) {
      const circle = open.splice(open.indexOf(file))
      if (circle.length > 1) lines.push(`a circle of imports: ${circle.map((each) => relative(root, each)).join(', ')}`)
    }
    return low
  }
  for (const file of graph.keys()) if (!order.has(file)) visit(file)
  return lines.sort()
}

function upwardRows(): string[] {
  const floors = Object.keys(rooms)
  return floors.flatMap((room, floor) =>
    (rooms[room] ?? [])
      .filter((to) => !floors.slice(0, floor).includes(to))
      .map((to) => `the row ${room} names ${to}, which is not above it in the table`),
  )
}

export function importFaults(): string[] {
  const graph = sources()
  const strangers = [...graph.keys()].filter((file) => !((roomOf(file) as string) in rooms))
  return [
    ...upwardRows(),
    ...strangers.map((file) => `${relative(root, file)} is in the room ${roomOf(file)}, which has no row`),
    ...forbiddenImports(graph),
    ...circles(graph),
  ]
}

if (process.argv[1] === import.meta.filename) {
  const faults = importFaults()
  for (const line of faults) console.error(line)
  if (faults.length > 0) process.exit(1)
  console.log('imports: as the table says, without a circle')
}
