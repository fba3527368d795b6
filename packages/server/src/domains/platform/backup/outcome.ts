/** Changes that a backup run makes to its target. Source: behaviour platform.md 7 (schedule). */
import { formatTime } from '../../../core/time/clock.ts'
import type { Target } from './target-rules.ts'

const failuresUntilPause = 3
const pausedMilliseconds = 60 * 60_000

export const succeeded = (target: Target, creationTime: string, lastSizeBytes: number): Partial<Target> => ({
  lastSyncTime:
    target.lastSyncTime !== undefined && target.lastSyncTime > creationTime ? target.lastSyncTime : creationTime,
  lastSizeBytes,
  isBackupPaused: false,
  backupPauseReason: '',
  failedRuns: 0,
  runTaskExtId: undefined,
  leftovers: undefined,
})

/** The place may still hold the copy of a failed run: `leftovers` lists it for removal. */
export function failed(target: Target, reason: string, restorePointExtId: string, now: number): Partial<Target> {
  const failedRuns = (target.failedRuns ?? 0) + 1
  const leftovers = [...(target.leftovers ?? []), restorePointExtId].slice(-100)
  const isBackupPaused = failedRuns >= failuresUntilPause
  return {
    failedRuns,
    leftovers,
    runTaskExtId: undefined,
    ...(isBackupPaused
      ? { isBackupPaused, backupPauseReason: reason, nextRunTime: formatTime(now + pausedMilliseconds) }
      : {}),
  }
}
