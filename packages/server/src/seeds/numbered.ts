/** Expands `count: 500` with `web-{n}`. */
import { namesOfEntity } from '../core/pipeline/fault-site.ts'
import type { Declared } from './format.ts'

interface Countable {
  readonly name?: string
  readonly value?: string
  readonly extId?: string
  readonly count?: number
  /** The body of an operation may contain its name. */
  readonly body?: unknown
}

const place = /\{(n+)\}/g

/** Replaces `{n}` by `7`, `{nnn}` by `007`, in every text of a value. */
export function withNumber<T>(value: T, number: number): T {
  if (typeof value === 'string')
    return value.replace(place, (_, zeros: string) => String(number).padStart(zeros.length, '0')) as T
  if (Array.isArray(value)) return value.map((item) => withNumber(item, number)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withNumber(item, number)])) as T
}

export function* eachOf<T extends Countable>(item: T): Generator<readonly [T, number]> {
  const { count } = item
  if (count === undefined) {
    yield [item, 1]
    return
  }
  for (let number = 1; number <= count; number++) yield [withNumber(item, number), number]
}

export function countsIn(declared: Declared): { path: string; message: string }[] {
  const faults: { path: string; message: string }[] = []
  for (const [section, items] of Object.entries(declared)) {
    if (!Array.isArray(items)) continue
    for (const [index, item] of (items as Countable[]).entries()) {
      if (item.count === undefined) continue
      const path = `${section}[${index}]`
      const field = item.value === undefined ? 'name' : 'value'
      if (!/\{n+\}/.test(item[field] ?? namesOfEntity(item.body)[0] ?? ''))
        faults.push({
          path: `${path}.${field}`,
          message: `expected {n} in it, for the number of each, because of count`,
        })
      if (item.extId !== undefined)
        faults.push({
          path: `${path}.extId`,
          message: 'expected no id with count: those of several follow from their names',
        })
    }
  }
  return faults
}
