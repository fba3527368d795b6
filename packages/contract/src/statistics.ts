/** Source: specification 2.7, 4.8; behaviour vmm.md 1.15; clustermgmt.md 1.17. */
import { type NameIn, names } from './names.ts'
import * as s from './schema.ts'

/** The interval (start, end], the distance of points in seconds, and how raw values are combined into one point. */
export const statisticsQuery = {
  $startTime: s.timestamp(),
  $endTime: s.timestamp(),
  $samplingInterval: s.withDefault(s.integer({ minimum: 1 }), 30),
  $statType: s.withDefault(s.enumeration(['SUM', 'MIN', 'MAX', 'AVG', 'COUNT', 'LAST']), 'AVG'),
} as const

const counter = s.optional(s.integer({ minimum: 0 }))

/** Optional integer fields, present if measured; names separated by commas. */
export const counters = <const S extends string>(text: S) =>
  Object.fromEntries(names(text).map((name) => [name, counter])) as { readonly [K in NameIn<S>]: typeof counter }

/** `stats/<name>`, for list options. */
export const pathsOf = (tuple: s.ObjectSchema<s.Fields>, without: readonly string[] = []): readonly string[] =>
  Object.keys(tuple.fields)
    .filter((name) => !without.includes(name))
    .sort()
    .map((name) => `stats/${name}`)

/** One series of points each, oldest first; a series without points is absent. */
export const seriesOf = <const N extends readonly string[], S extends s.AnySchema>(names: N, point: S) => {
  const series = s.optional(s.arrayOf(point))
  return Object.fromEntries(names.map((name) => [name, series])) as { readonly [K in N[number]]: typeof series }
}
