/** Loaded on first use: its files would slow down every start. */
import { readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type * as Yaml from 'yaml'
import { createPause } from '../store/pause.ts'

const require = createRequire(import.meta.url)
let loaded: typeof Yaml | undefined
const library = (): typeof Yaml => (loaded ??= require('yaml') as typeof Yaml)

/** Loads the library with turns of the event loop between its files; otherwise its first use holds requests for 30 ms or more. */
export async function loadYaml(): Promise<void> {
  if (loaded !== undefined) return
  try {
    await loadInParts(dirname(require.resolve('yaml')))
  } catch {
    // The folder cannot be listed: `library` loads all files at once.
  }
  library()
}

async function loadInParts(folder: string): Promise<void> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => join(folder, file))
  const sizes = new Map(files.map((file) => [file, statSync(file).size]))
  const pause = createPause()
  // Small files depend on few others.
  for (const file of files.sort((a, b) => Number(sizes.get(a)) - Number(sizes.get(b)))) {
    require(file)
    await pause()
  }
}

export const lineCounter = (): Yaml.LineCounter => new (library().LineCounter)()
export const parseDocument = ((text, options) => library().parseDocument(text, options)) as typeof Yaml.parseDocument
export const isAlias = ((node) => library().isAlias(node)) as typeof Yaml.isAlias
export const isMap = ((node) => library().isMap(node)) as typeof Yaml.isMap
export const isScalar = ((node) => library().isScalar(node)) as typeof Yaml.isScalar
export const isSeq = ((node) => library().isSeq(node)) as typeof Yaml.isSeq
