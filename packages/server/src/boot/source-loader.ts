/**
 * How the service finds its own sources. For each of some 3,500 import statements Node asks the disk whether the file is there,
 * what its real path is and which package it belongs to: more than a quarter of a start. All of that is known here: a relative
 * path that ends as this file does is a module beside others, and a package of the workspace is the same wherever it is named.
 * A published package holds compiled modules: there this file, and those beside it, end with `.js`.
 */
import { type ResolveFnOutput, registerHooks } from 'node:module'
import { extname } from 'node:path'

/** Everything else is found as ever: nobody's imports but those of the sources here are touched. */
const sources = new URL('../../../', import.meta.url).href
const ofWorkspace = '@hyperplane/'
const extension = extname(import.meta.url)
const format = extension === '.ts' ? 'module-typescript' : 'module'

const known = new Map<string, ResolveFnOutput>()

/** npm may install dependencies below a published package; those are found as ever. */
const isOwn = (module: string | undefined): boolean =>
  module?.startsWith(sources) === true && !module.includes('/node_modules/', sources.length)

registerHooks({
  resolve(specifier, context, resolve) {
    if (!isOwn(context.parentURL)) return resolve(specifier, context)
    if (specifier.startsWith('.') && specifier.endsWith(extension))
      return { url: new URL(specifier, context.parentURL).href, format, shortCircuit: true }
    if (!specifier.startsWith(ofWorkspace)) return resolve(specifier, context)
    let found = known.get(specifier)
    if (found === undefined) known.set(specifier, (found = { ...resolve(specifier, context), shortCircuit: true }))
    return found
  },
})
