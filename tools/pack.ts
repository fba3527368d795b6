/**
 * Builds packages and their archives as npm publishes them: `npm run pack -- DIR`. Nothing else needs a build.
 * Source: docs/decisions/2026-11-22-packages-are-compiled-by-tsc.md.
 */
import { execFileSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const packages = ['contract', 'client', 'server'] as const

/** Only in the published package: in the checkout these fields would require a build. */
const publishedFields = {
  contract: {},
  client: {},
  server: { bin: { hyperplane: './lib/boot/command.js' }, engines: { node: '>=24.7.0' } },
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
}

/** @returns the archives, each after those that it depends on */
export function pack(folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true })
  const staging = mkdtempSync(join(tmpdir(), 'hyperplane-pack-'))
  try {
    run(join(root, 'node_modules/.bin/tsc'), ['--project', join(root, 'tools/pack.tsconfig.json'), '--outDir', staging])
    return packages.map((name) => {
      completePackage(name, join(staging, name))
      const printed = run('npm', ['pack', join(staging, name), '--pack-destination', folder, '--json'])
      const [{ filename }] = JSON.parse(printed)
      return join(folder, filename)
    })
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
}

function completePackage(name: (typeof packages)[number], staged: string): void {
  const source = join(root, 'packages', name)
  const manifest: Manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'))
  const lib = join(staged, 'lib')
  renameSync(join(staged, 'src'), lib)
  nameCompiledModules(lib)
  // The compiler copies modules only, not files that the service reads at run time.
  cpSync(join(source, 'src'), lib, {
    recursive: true,
    filter: (file) => !/\.[jt]s$/.test(file),
  })
  const exported = Object.fromEntries(Object.entries(manifest.exports).map(([path, file]) => [path, published(file)]))
  const files = { ...manifest, exports: exported, files: ['lib'], ...publishedFields[name] }
  writeFileSync(join(staged, 'package.json'), `${JSON.stringify(files, null, 2)}\n`)
  copyFileSync(join(root, 'LICENSE'), join(staged, 'LICENSE'))
  copyFileSync(join(source, 'README.md'), join(staged, 'README.md'))
  if (!Object.keys(exported).some((path) => path.includes('*'))) dropInternalDeclarations(staged, exported)
}

/** `./src/index.ts` becomes the paths of the compiled module. */
function published(file: string): { readonly types: string; readonly default: string } {
  const stem = file.replace(/^\.\/src\//, './lib/').replace(/\.ts$/, '')
  return { types: `${stem}.d.ts`, default: `${stem}.js` }
}

/** The compiler keeps the names of sources in declarations. */
function nameCompiledModules(lib: string): void {
  for (const file of filesBelow(lib).filter((file) => file.endsWith('.d.ts'))) {
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/((?:from|import\()\s*['"]\.[^'"]*)\.ts(?=['"])/g, '$1.js'))
  }
}

/** Keeps declarations that exported ones refer to; users of the package cannot import any others. */
function dropInternalDeclarations(
  staged: string,
  exported: Readonly<Record<string, { readonly types: string }>>,
): void {
  const reached = new Set<string>()
  const follow = (file: string): void => {
    if (reached.has(file)) return
    reached.add(file)
    const text = readFileSync(file, 'utf8')
    for (const [, path = ''] of text.matchAll(/(?:from|import)\s*\(?['"](\.[^'"]*)['"]/g)) {
      const declaration = join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts'))
      if (!existsSync(declaration)) throw new Error(`${file} imports ${path}, and ${declaration} does not exist`)
      follow(declaration)
    }
  }
  for (const { types } of Object.values(exported)) follow(join(staged, types))
  for (const file of filesBelow(staged)) if (file.endsWith('.d.ts') && !reached.has(file)) rmSync(file)
}

const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const run = (file: string, argv: readonly string[]): string =>
  execFileSync(file, argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })

if (import.meta.main) {
  const [folder] = process.argv.slice(2)
  if (folder === undefined) {
    console.error('The folder for the archives is missing: npm run pack -- DIR')
    process.exit(1)
  }
  for (const archive of pack(resolve(folder))) console.log(archive)
}
