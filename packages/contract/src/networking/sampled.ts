/**
 * The common form of statistics: arrays without times, value i belongs to sample i. Source: catalogue networking.json;
 * behaviour networking.md 3.3.
 */
import * as s from '../schema.ts'
import { statisticsQuery } from '../statistics.ts'

export const statType = s.enumeration(['SUM', 'MIN', 'MAX', 'AVG', 'COUNT', 'LAST'])

/** Sample i is taken at max($startTime, creation) + i times the interval. */
export const sampledQuery = { ...statisticsQuery, $statType: s.withDefault(statType, 'LAST') } as const

/** Plain decimals as text. */
export const samples = () => s.optional(s.arrayOf(s.text()))
