import assert from 'node:assert/strict'
import type { CallResult, TestApp } from './start-app.ts'

/** Moves the time of the app from event to event until the work is done. */
export async function driven<T>(app: TestApp, work: Promise<T>): Promise<T> {
  let isOver = false
  const waited = work.finally(() => (isOver = true))
  while (!isOver) {
    // A call without a task needs no time of the world, but real time, as for the hash of a password.
    if (app.callsUnderWay() === 0 || app.runner.size() > 0) await app.clock.runToNextEvent()
    await new Promise(setImmediate)
  }
  return waited
}

/** Moves the time until the task reports this progress. */
export async function reached(app: TestApp, started: CallResult, percentage: number): Promise<void> {
  for (;;) {
    const { data } = await app.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`)
    assert.ok(data.status === 'QUEUED' || data.status === 'RUNNING', data.status)
    if ((data.progressPercentage ?? 0) >= percentage) return
    await app.clock.advance(500)
  }
}
