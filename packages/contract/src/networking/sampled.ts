/** Statistics as arrays without times: value i belongs to sample i. Source: catalogue networking.json; behaviour networking.md 3.3. */
import { perSecond } from '../operation.ts'
import * as s from '../schema.ts'
import { statisticsQuery } from '../statistics.ts'

export const statType = s.enumeration(['SUM', 'MIN', 'MAX', 'AVG', 'COUNT', 'LAST'])

/** Sample i is taken at max($startTime, creation) + i times the interval. */
export const sampledQuery = { ...statisticsQuery, $statType: s.withDefault(statType, 'LAST') } as const

export const sampledRead = (answer: s.ObjectSchema) => ({
  rateLimit: perSecond(2, 2, 4),
  query: sampledQuery,
  select: Object.keys(answer.fields).sort(),
})

/** Plain decimals as text. */
export const samples = () => s.optional(s.arrayOf(s.text()))
