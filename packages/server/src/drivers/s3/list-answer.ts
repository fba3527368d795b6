/**
 * Rejects badly nested XML: for each unclosed element the library would scan the rest, in the thread that serves
 * requests, so a malicious service could slow down other requests. Source: decision s3-client.
 */

/** A list has three: result, objects, and their fields and owners. */
const maximumLevels = 8

const tag = /<(\/?)([A-Za-z_][\w.-]*)(?:\s[^<>]*)?>|<([A-Za-z_][\w.-]*)(?:\s[^<>]*)?\/>|</g

/** Linear in the length of the text. */
export function isList(text: string): boolean {
  const open: string[] = []
  for (const [whole, slash, name] of text.replace(/^\s*<\?xml[^?]*\?>/, '').matchAll(tag)) {
    if (whole === '<') return false
    if (name === undefined || whole.endsWith('/>')) continue
    if (slash === '/') {
      if (open.pop() !== name) return false
    } else if (open.includes(name) || open.push(name) > maximumLevels) return false
  }
  return open.length === 0
}
