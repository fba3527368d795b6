export type JsonPath = readonly (string | number)[]

/** Value, or its name; the nearest existing parent if there is none. @param json valid JSON */
export function offsetIn(json: string, path: JsonPath, of: 'value' | 'name' = 'value'): number {
  const scan = new Scan(json)
  let at = scan.next(0)
  for (const [depth, step] of path.entries()) {
    const found = typeof step === 'number' ? scan.item(at, step) : scan.member(at, step)
    if (found === undefined) return at
    at = of === 'name' && depth === path.length - 1 ? found.name : found.value
  }
  return at
}

interface Found {
  readonly name: number
  readonly value: number
}

class Scan {
  readonly #json: string

  constructor(json: string) {
    this.#json = json
  }

  next(at: number): number {
    let next = at
    while (' \t\r\n'.includes(this.#json[next] ?? '.')) next++
    return next
  }

  item(at: number, index: number): Found | undefined {
    if (this.#json[at] !== '[') return undefined
    let value = this.next(at + 1)
    for (let count = 0; this.#json[value] !== ']'; count++) {
      if (count === index) return { name: value, value }
      value = this.#afterComma(value)
    }
    return undefined
  }

  /** The last member of that name, which is the one that `JSON.parse` keeps. */
  member(at: number, wanted: string): Found | undefined {
    if (this.#json[at] !== '{') return undefined
    let found: Found | undefined
    for (let name = this.next(at + 1); this.#json[name] !== '}'; ) {
      const end = this.#end(name)
      const value = this.next(this.next(end) + 1)
      if (JSON.parse(this.#json.slice(name, end)) === wanted) found = { name, value }
      name = this.#afterComma(value)
    }
    return found
  }

  #afterComma(value: number): number {
    const at = this.next(this.#end(value))
    return this.#json[at] === ',' ? this.next(at + 1) : at
  }

  #end(at: number): number {
    if (this.#json[at] === '"') return this.#endOfText(at)
    let depth = 0
    for (let next = at; ; next++) {
      const sign = this.#json[next] as string
      if (sign === '"') next = this.#endOfText(next) - 1
      else if ('[{'.includes(sign)) depth++
      else if (']}'.includes(sign) && --depth === 0) return next + 1
      if (depth <= 0 && (next + 1 >= this.#json.length || ' \t\r\n,]}'.includes(this.#json[next + 1] as string)))
        return next + 1
    }
  }

  #endOfText(at: number): number {
    let next = at + 1
    for (; this.#json[next] !== '"'; next++) if (this.#json[next] === '\\') next++
    return next + 1
  }
}
