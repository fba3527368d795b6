/** Notes which fields are read. Accessors, not a proxy: spreading, cloning and serializing must work. */

/** Paths, `nics/subnet/extId`; elements of a collection share a path. */
export type Watcher = Set<string>

export function watched<T>(value: T, reads: Watcher, path = ''): T {
  if (Array.isArray(value)) return Object.freeze(value.map((item) => watched(item, reads, path))) as T
  if (!isPlain(value)) return value
  const copy: Record<string, unknown> = {}
  for (const [name, item] of Object.entries(value)) {
    const own = path === '' ? name : `${path}/${name}`
    const seen = watched(item, reads, own)
    Object.defineProperty(copy, name, {
      enumerable: true,
      get() {
        reads.add(own)
        return seen
      },
    })
  }
  return Object.freeze(copy) as T
}

export function unreadFields(body: unknown, reads: ReadonlySet<string>): string[] {
  const found = new Set<string>()
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, path)
    if (!isPlain(value)) return
    for (const [name, item] of Object.entries(value)) {
      if (name.startsWith('$') || item === null || item === undefined) continue
      const own = path === '' ? name : `${path}/${name}`
      if (reads.has(own)) visit(item, own)
      else found.add(own)
    }
  }
  visit(body, '')
  return [...found].sort()
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
