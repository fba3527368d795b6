import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Operation } from '@hyperplane/contract'
import { type Caller, systemCaller } from '../caller.ts'
import { KeptReads } from './kept-reads.ts'
import type { ApiRequest, Outcome } from './request.ts'

const caller: Caller = { ...systemCaller('t'), type: 'LOCAL', credential: 'basic' }
const request: ApiRequest = {
  method: 'GET',
  path: '/a',
  query: '',
  headers: {},
  address: '',
  profile: 'spec',
  unknown: 'refuse',
}
const outcome: Outcome = { reply: { status: 200, data: { extId: '1' } } } as unknown as Outcome

const operation = {} as Operation

const keptIn = (reads: KeptReads, by = caller): Outcome | undefined => reads.find(request, by)?.outcome

function keep(reads: KeptReads, begun: number): void {
  for (const _ of [1, 2]) reads.keep(request, begun, { operation, caller, outcome, trace: undefined, rendered: {} })
}

test('a commit, and a change of rights without one, drop what was kept', () => {
  const [store, access] = [{ transactions: 3 }, { changes: 5 }]
  const reads = new KeptReads(store, access)
  for (const change of [() => store.transactions++, () => access.changes++]) {
    keep(reads, reads.now)
    assert.equal(keptIn(reads), outcome)
    change()
    assert.equal(keptIn(reads), undefined)
  }
})

test('an answer that was begun before a change of rights is not kept after it', () => {
  const access = { changes: 5 }
  const reads = new KeptReads({ transactions: 3 }, access)
  const begun = reads.now
  access.changes++
  keep(reads, begun)
  assert.equal(keptIn(reads), undefined)
})

test('nothing is kept where another store decides who may read', () => {
  assert.equal(new KeptReads({ transactions: 3 }, { changes: undefined }).mayHold(request), false)
})

test('an answer is found only by the sign-in that got it', () => {
  const reads = new KeptReads({ transactions: 3 }, { changes: 5 })
  keep(reads, reads.now)
  const again: Caller = { ...caller, groups: [...caller.groups] }
  assert.equal(keptIn(reads, again), undefined)
  const elsewhere: Caller = { ...caller, address: '192.0.2.7' }
  assert.equal(keptIn(reads, elsewhere), outcome)
})
