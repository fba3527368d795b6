/**
 * How the service finds its own sources. For each of some 3,500 import statements Node asks the disk whether the file is there,
 * what its real path is and which package it belongs to: more than a quarter of a start. All of that is known here: a relative
 * path that ends with `.ts` is a source beside others, and a package of the workspace is the same wherever it is named.
 */
import { type ResolveFnOutput, registerHooks } from 'node:module'

/** Everything else is found as ever: nobody's imports but those of the sources here are touched. */
const sources = new URL('../../', import.meta.url).href
const ofWorkspace = '@hyperplane/'

const known = new Map<string, ResolveFnOutput>()

registerHooks({
  resolve(specifier, context, resolve) {
    if (context.parentURL?.startsWith(sources) !== true) return resolve(specifier, context)
    if (specifier.startsWith('.') && specifier.endsWith('.ts'))
      return { url: new URL(specifier, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
    if (!specifier.startsWith(ofWorkspace)) return resolve(specifier, context)
    let found = known.get(specifier)
    if (found === undefined) known.set(specifier, (found = { ...resolve(specifier, context), shortCircuit: true }))
    return found
  },
})
