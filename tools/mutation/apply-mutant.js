/** Imported before a test run: loads one module with a mutant. The file itself is not changed. */
import { registerHooks } from 'node:module'

const { url, start, end, text } = JSON.parse(process.env.HYPERPLANE_MUTANT)

registerHooks({
  load(loaded, context, load) {
    const found = load(loaded, context)
    if (loaded !== url) return found
    const source = String(found.source)
    return { ...found, source: source.slice(0, start) + text + source.slice(end) }
  },
})
