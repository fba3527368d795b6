import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type TaskWait, waitForTasks } from './ended-tasks.ts'

function aSite(mode: TaskWait['clock']['mode']) {
  let elapsed = 0
  let counted = 0
  const site: TaskWait & { readonly counted: () => number; readonly elapsed: () => number } = {
    store: { count: async () => ++counted && 1, watch: () => () => undefined },
    clock: { mode, now: () => (mode === 'frozen' ? 0 : mode === 'real' ? elapsed : elapsed * mode) },
    real: {
      now: () => elapsed,
      setTimer(ms, run) {
        elapsed += ms
        setImmediate(run)
        return () => undefined
      },
    },
    isOver: () => false,
    counted: () => counted,
    elapsed: () => elapsed,
  }
  return site
}

test('without a duration nothing is awaited', async () => {
  const site = aSite('real')
  await waitForTasks(site, 0)
  assert.equal(site.elapsed(), 0)
})

test('the timeout is on the world clock, on real time while that is frozen, and never above a minute of real time', async () => {
  for (const [mode, within, waited] of [
    ['real', 10_000, 10_000],
    [10, 10_000, 1000],
    ['frozen', 10_000, 10_000],
    ['real', 3_600_000, 60_000],
    ['frozen', 3_600_000, 60_000],
  ] as const) {
    const site = aSite(mode)
    await waitForTasks(site, within)
    assert.equal(site.elapsed(), waited, `${mode}, ${within}`)
  }
})

test('closing the world ends the wait', async () => {
  const site = aSite('real')
  await waitForTasks({ ...site, isOver: () => site.counted() > 2 }, 60_000)
  assert.equal(site.counted(), 3)
})
