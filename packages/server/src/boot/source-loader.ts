/** Resolves 3,500 imports without Node's disk look-ups, a quarter of a start. Relative paths with this file's extension are modules. */
import { type ResolveFnOutput, registerHooks } from 'node:module'
import { extname } from 'node:path'

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
