/** Scores of health from alerts. Source: behaviour clustermgmt.md 3 (Statistics generator). */
import type { Reader } from '../../../store/store.ts'
import { type Alert, alertTypes, ClosedAlert, OpenAlert } from './alert.ts'

const healthy = 100
const scores = { WARNING: 74, CRITICAL: 24 } as const

/** @returns the score at a time in milliseconds since 1970: that of the worst open alert */
export async function healthOver(
  store: Reader,
  clusterExtId: string,
  concerns: (alert: Pick<Alert, 'entityExtId' | 'hostExtId'>) => boolean = () => true,
): Promise<(time: number) => number> {
  const open = (await store.findWhere(OpenAlert, { clusterExtId })).map((alert) => ({ ...alert, closedAt: undefined }))
  const closed = await store.findWhere(ClosedAlert, { clusterExtId })
  const periods = [...open, ...closed].filter(concerns).map(({ type, openedAt, closedAt }) => ({
    from: Date.parse(openedAt),
    to: closedAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(closedAt),
    score: scores[alertTypes[type].severity],
  }))
  return (time) =>
    Math.min(healthy, ...periods.flatMap(({ from, to, score }) => (from < time && time <= to ? score : [])))
}
