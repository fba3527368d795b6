/**
 * Rejects badly nested XML: the library scans the rest for each unclosed element, so a malicious service could block the thread that serves
 * requests. Source: decision s3-client.
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
