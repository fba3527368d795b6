/** Bounded nesting, no duplicate keys, valid UTF-8. Source: conventions 1, step 7. */
import { ApiError } from '../api-error.ts'

const maximumNesting = 32
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** @throws ApiError 400 MALFORMED_REQUEST */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    throw new ApiError('MALFORMED_REQUEST', { fault: 'the body is not valid UTF-8.' })
  }
  checkStructure(text)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ApiError('MALFORMED_REQUEST', { fault: `the body is not JSON (${plain(error)}).` })
  }
}

/** Only the position: the parser's message quotes the body, which may hold secrets. */
const plain = (error: unknown): string =>
  /position \d+( \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0] ?? 'it ends too early'

function checkStructure(text: string): void {
  const keys: (Set<string> | undefined)[] = []
  let expectsKey = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x22) {
      const end = endOfString(text, index)
      const top = keys.at(-1)
      if (expectsKey && top !== undefined) {
        const key = text.slice(index, end + 1)
        const name = key.includes('\\') ? unescaped(key) : key
        if (top.has(name))
          throw new ApiError('MALFORMED_REQUEST', { fault: `an object has the key ${name.slice(0, 80)} twice.` })
        top.add(name)
        expectsKey = false
      }
      index = end
    } else if (code === 0x7b || code === 0x5b) {
      if (keys.length >= maximumNesting)
        throw new ApiError('MALFORMED_REQUEST', { fault: `the body nests deeper than ${maximumNesting} levels.` })
      keys.push(code === 0x7b ? new Set() : undefined)
      expectsKey = code === 0x7b
    } else if (code === 0x7d || code === 0x5d) {
      keys.pop()
      expectsKey = false
    } else if (code === 0x2c) {
      expectsKey = keys.at(-1) !== undefined
    }
  }
}

function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x5c) index++
    else if (code === 0x22) return index
  }
  return text.length
}

function unescaped(key: string): string {
  try {
    return JSON.stringify(JSON.parse(key))
  } catch {
    return key
  }
}
