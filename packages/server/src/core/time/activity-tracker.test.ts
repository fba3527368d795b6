import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ActivityTracker } from './activity-tracker.ts'

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

test('settled waits until the work has ended, however many turns it takes', async () => {
  const attendance = new ActivityTracker()
  let isOver = false
  void attendance.track(async () => {
    await turns(50)
    isOver = true
  })
  await attendance.settled()
  assert.equal(isOver, true)
})

test('settled does not poll', async (t) => {
  const attendance = new ActivityTracker()
  const gate = Promise.withResolvers<void>()
  void attendance.track(() => gate.promise)
  const turn = setImmediate
  const taken = t.mock.method(globalThis, 'setImmediate')
  const settled = attendance.settled()
  for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => turn(resolve))
  assert.equal(taken.mock.callCount(), 1)
  gate.resolve()
  await settled
})

test('idle work is not waited for until it continues', async () => {
  const attendance = new ActivityTracker()
  const gate = Promise.withResolvers<void>()
  let isOver = false
  void attendance.track(async () => {
    await attendance.idle(() => gate.promise)
    await turns(50)
    isOver = true
  })
  await attendance.settled()
  assert.equal(isOver, false)
  gate.resolve()
  await attendance.settled()
  assert.equal(isOver, true)
})

test('stuck work is waited for once; when it continues, it is waited for again', async () => {
  const attendance = new ActivityTracker(0)
  const gate = Promise.withResolvers<void>()
  void attendance.track(() => gate.promise)
  await attendance.settled()
  await attendance.settled()
  gate.resolve()
  await attendance.settled()
})

test('lengthy work is waited for beyond the patience, which starts again after it', async () => {
  const attendance = new ActivityTracker(0)
  const gate = Promise.withResolvers<void>()
  let isOver = false
  void attendance.track(async () => {
    await attendance.lengthy(() => gate.promise)
    isOver = true
  })
  void turns(100).then(gate.resolve)
  await attendance.settled()
  assert.equal(isOver, true)
  assert.equal(await attendance.lengthy(async () => 'done'), 'done')
})

test('lengthy work that is idle is not waited for: it may wait for time', async () => {
  const attendance = new ActivityTracker()
  void attendance.track(() => attendance.lengthy(() => attendance.idle(() => new Promise(() => undefined))))
  await attendance.settled()
})

test('work that fails is over', async () => {
  const attendance = new ActivityTracker()
  await assert.rejects(
    attendance.track(async () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  await attendance.settled()
})

test('work started by other work is tracked on its own', async () => {
  const attendance = new ActivityTracker()
  const order: string[] = []
  void attendance.track(async () => {
    void attendance.track(async () => {
      await turns(20)
      order.push('inner')
    })
    order.push('outer')
  })
  await attendance.settled()
  assert.deepEqual(order, ['outer', 'inner'])
})
