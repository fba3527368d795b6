/**
 * Whether a list of a bucket is what a service sends: elements that end in their order, a few levels of them. The library
 * looks for the end of each element anew; of elements that have none it would look through the rest of the answer each time,
 * in the thread that answers requests. A service that lies must cost no more than its own answer. Source: decision s3-client.
 */

/** A list has three: the result, its objects, what is said of them and of their owners. */
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
