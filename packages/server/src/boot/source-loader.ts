/**
 * Resolves imports between the sources of the service without the disk. For each of some 3,500 imports, Node asks the disk
 * whether the file exists, what its real path is and which package it belongs to, which takes more than a quarter of a start.
 * Here a relative path with the extension of this file is a module (`.js` in a published package), and a package of the
 * workspace resolves to the same file from everywhere.
 */
import { type ResolveFnOutput, registerHooks } from 'node:module'
import { extname } from 'node:path'

/** Only imports by files below this folder are resolved here. */
const sources = new URL('../../../', import.meta.url).href
const workspacePrefix = '@hyperplane/'
const extension = extname(import.meta.url)
const format = extension === '.ts' ? 'module-typescript' : 'module'

const cache = new Map<string, ResolveFnOutput>()

/** False for dependencies that npm installs below a published package. */
const isOwn = (module: string | undefined): boolean =>
  module?.startsWith(sources) === true && !module.includes('/node_modules/', sources.length)

registerHooks({
  resolve(specifier, context, resolve) {
    if (!isOwn(context.parentURL)) return resolve(specifier, context)
    if (specifier.startsWith('.') && specifier.endsWith(extension))
      return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true }
    if (!specifier.startsWith(workspacePrefix)) return resolve(specifier, context)
    let result = cache.get(specifier)
    if (result === undefined) cache.set(specifier, (result = { ...resolve(specifier, context), shortCircuit: true }))
    return result
  },
})
