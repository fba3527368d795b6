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

test('who waits takes no turns, and leaves the processor to the work', async (t) => {
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

test('work that rests is not waited for, and is again once it goes on', async () => {
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

test('work that hangs is waited for once; when it goes on after all, it is waited for again', async () => {
  const attendance = new ActivityTracker(0)
  const gate = Promise.withResolvers<void>()
  void attendance.track(() => gate.promise)
  await attendance.settled()
  await attendance.settled()
  gate.resolve()
  await attendance.settled()
})

test('work that lasts is waited for beyond all patience, and what comes after it has the whole of that', async () => {
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
  // Without anything to wait for, it is as before.
  assert.equal(await attendance.lengthy(async () => 'done'), 'done')
})

test('work that rests while it lasts is not waited for: time may be what it waits for', async () => {
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

test('work that other work begins is attended by itself', async () => {
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
