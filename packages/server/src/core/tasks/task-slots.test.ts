import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TaskSlots } from './task-slots.ts'

const always = (_task: string): boolean => true

function waiting(count: number, tasks: string): TaskSlots {
  const places = new TaskSlots(count)
  for (const task of tasks.split(' ')) places.wait(task, task[0] as string)
  return places
}

function begin(places: TaskSlots, mayRun = always): string {
  const begun: string[] = []
  for (let next = places.take(mayRun); next !== undefined; next = places.take(mayRun)) begun.push(next)
  return begun.join(' ')
}

function wholeOrder(places: TaskSlots): string {
  const order: string[] = []
  for (let next = places.take(always); next !== undefined; next = places.take(always)) {
    order.push(next)
    places.forget(next)
  }
  return order.join(' ')
}

test('identities take turns, and each has its tasks in the order of acceptance', () => {
  assert.equal(wholeOrder(waiting(1, 'a1 a2 a3 a4 b1 b2 c1')), 'a1 b1 c1 a2 b2 a3 a4')
})

test('one task does not wait for a thousand of another identity', () => {
  const places = new TaskSlots(1)
  for (let n = 0; n < 1000; n++) places.wait(`a${n}`, 'a')
  assert.equal(begin(places), 'a0')
  places.wait('b0', 'b')
  places.forget('a0')
  assert.equal(begin(places), 'b0')
})

test('a free slot goes to the identity that holds the fewest', () => {
  const places = waiting(4, 'a1 a2 a3 a4 a5 a6')
  assert.equal(begin(places), 'a1 a2 a3 a4')
  for (const task of ['b1', 'b2', 'b3', 'c1']) places.wait(task, task[0] as string)
  places.forget('a1')
  assert.equal(begin(places), 'b1')
  places.forget('a2')
  assert.equal(begin(places), 'c1', 'b holds one already')
  places.forget('a3')
  assert.equal(begin(places), 'a5', 'all hold one, and the turn of a was the longest ago')
})

test('a task that may not run yet is passed by later ones, of its own identity first', () => {
  const places = waiting(2, 'a1 a2 a3 b1')
  assert.equal(
    begin(places, (task) => task !== 'a1'),
    'a2 b1',
  )
  places.forget('a2')
  assert.equal(begin(places), 'a1')
})

test('a task that waits for its subtasks needs no slot, and takes one when it continues', () => {
  const places = waiting(1, 'a1 a2 a3')
  assert.equal(begin(places), 'a1')
  places.release('a1')
  assert.equal(begin(places), 'a2')
  places.hold('a1')
  places.forget('a2')
  assert.equal(begin(places), '')
  places.forget('a1')
  assert.equal(begin(places), 'a3')
})

test('a bypassed task holds no slot', () => {
  const places = waiting(1, 'a1 a2')
  places.bypass('a1')
  assert.equal(begin(places), 'a2')
  places.forget('a1')
  assert.equal(begin(places), '', 'a2 still runs')
})
