import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assignSlots, misplaced, type SlotWish, slotsOn, wishOf } from './slots.ts'

const wish = (busType: SlotWish['busType'], index?: number): SlotWish => ({
  path: 'disks[0]',
  busType,
  ...(index === undefined ? {} : { index }),
})
const indexes = (wishes: readonly SlotWish[], taken: Parameters<typeof assignSlots>[1] = []): readonly number[] =>
  assignSlots(wishes, taken).slots.map(({ index }) => index)

test('without an address a disk takes the lowest free index, in the order of the body', () => {
  assert.deepEqual(indexes([wish('SCSI'), wish('SCSI')]), [0, 1])
  assert.deepEqual(indexes([wish('SCSI')], [{ busType: 'SCSI', index: 0 }]), [1])
})

test('parts that name an index are placed first, at any position of the list', () => {
  assert.deepEqual(indexes([wish('SCSI'), wish('SCSI', 0), wish('SCSI')]), [1, 0, 2])
})

test('each bus counts for itself', () => {
  assert.deepEqual(indexes([wish('SCSI'), wish('IDE'), wish('SATA')]), [0, 0, 0])
})

test('a taken address is refused with 409, as is a bus that is full', () => {
  assert.equal(assignSlots([wish('SCSI', 3), wish('SCSI', 3)], []).refusals[0]?.appMessage.code, 'VMM-30106')
  const many = Array.from({ length: slotsOn.IDE + 1 }, () => wish('IDE'))
  const { slots, refusals } = assignSlots(many, [])
  assert.equal(slots.length, slotsOn.IDE)
  assert.equal(refusals[0]?.status, 409)
})

test('an index beyond the bus is a fault of the body', () => {
  assert.equal(misplaced([wish('IDE', 4), wish('SCSI', 255)]).length, 1)
  assert.equal(misplaced([wish('IDE', 4)])[0]?.status, 400)
})

test('an index without a bus is ignored', () => {
  assert.deepEqual(wishOf('disks[0]', { index: 9 }, 'SCSI'), { path: 'disks[0]', busType: 'SCSI' })
  assert.deepEqual(wishOf('disks[0]', { busType: 'SATA', index: 2 }, 'SCSI'), {
    path: 'disks[0]',
    busType: 'SATA',
    index: 2,
  })
})
