import assert from 'node:assert/strict'
import type { CallResult, TestApp } from './start-app.ts'

/** Moves the time of the app from event to event until the work is done. */
export async function driven<T>({ clock }: TestApp, work: Promise<T>): Promise<T> {
  let isOver = false
  const waited = work.finally(() => (isOver = true))
  while (!isOver) {
    await clock.runToNextEvent()
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
