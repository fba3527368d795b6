/** Statistics of the disks and NICs of native and external VMs. Source: specification 2.7; behaviour vmm.md 1.15. */
import { baseFields } from '../operation.ts'
import * as s from '../schema.ts'
import { counters, statisticsQuery } from '../statistics.ts'
import { statisticsRate, vmReaders } from './roles.ts'

/** @param measures names of counters, separated by commas */
export const tupleOf = <const S extends string>(objectType: string, measures: S) =>
  s.object(objectType, { timestamp: s.timestamp(), ...counters(measures) })

export const partStatistics = <S extends s.AnySchema>(objectType: string, tuple: S) =>
  s.object(objectType, { ...baseFields, vmExtId: s.optional(s.uuid()), stats: s.optional(s.arrayOf(tuple)) })

export const partStatisticsRead = {
  roles: vmReaders,
  rateLimit: statisticsRate,
  query: statisticsQuery,
  select: ['extId', 'links', 'stats', 'tenantId', 'vmExtId'],
}
