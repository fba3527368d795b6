/** Loaded on first use: its 72 files would slow down every start. */
import { createRequire } from 'node:module'
import type * as Yaml from 'yaml'

let loaded: typeof Yaml | undefined
const library = (): typeof Yaml => (loaded ??= createRequire(import.meta.url)('yaml') as typeof Yaml)

export const lineCounter = (): Yaml.LineCounter => new (library().LineCounter)()
export const parseDocument = ((text, options) => library().parseDocument(text, options)) as typeof Yaml.parseDocument
export const isAlias = ((node) => library().isAlias(node)) as typeof Yaml.isAlias
export const isMap = ((node) => library().isMap(node)) as typeof Yaml.isMap
export const isScalar = ((node) => library().isScalar(node)) as typeof Yaml.isScalar
export const isSeq = ((node) => library().isSeq(node)) as typeof Yaml.isSeq
