/** What statistics of all kinds have in common. Source: specification 2.7, 4.8; behaviour vmm.md 1.15; clustermgmt.md 1.17. */
import {
  type AnySchema,
  arrayOf,
  enumeration,
  type Fields,
  integer,
  type ObjectSchema,
  optional,
  timestamp,
  withDefault,
} from './schema.ts'

/** The span, in (start, end]; the distance of its points in seconds; how raw points become one. */
export const statisticsQuery = {
  $startTime: timestamp(),
  $endTime: timestamp(),
  $samplingInterval: withDefault(integer({ minimum: 1 }), 30),
  $statType: withDefault(enumeration(['SUM', 'MIN', 'MAX', 'AVG', 'COUNT', 'LAST']), 'AVG'),
} as const

const counter = optional(integer({ minimum: 0 }))

/** Fields of a point that hold a whole number, each present where it was measured. */
export const counters = <const N extends readonly string[]>(names: N): { readonly [K in N[number]]: typeof counter } =>
  Object.fromEntries(names.map((name) => [name, counter])) as never

/** How list options name the values of a point: `stats/<name>`. */
export const pathsOf = (tuple: ObjectSchema<Fields>, without: readonly string[] = []): readonly string[] =>
  Object.keys(tuple.fields)
    .filter((name) => !without.includes(name))
    .sort()
    .map((name) => `stats/${name}`)

/** Fields that hold one series of points each, oldest first; a series without points is absent. */
export const seriesOf = <const N extends readonly string[], S extends AnySchema>(names: N, point: S) => {
  const series = optional(arrayOf(point))
  return Object.fromEntries(names.map((name) => [name, series])) as { readonly [K in N[number]]: typeof series }
}
