import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tooFewDomains } from './cluster-rules.ts'

test('blocks in one rack count as one rack, and blocks whose rack has no name as racks of their own', () => {
  const problem = (...racks: (string | undefined)[]): string | undefined => {
    const hosts: any = racks.map((rackName, index) => ({ extId: `${index}`, blockSerial: `BL${index}`, rackName }))
    return tooFewDomains(2, 'RACK', [], hosts, { drivesOf: () => [] } as any)
  }
  assert.match(problem('r1', 'r1', 'r2') ?? '', /need 3 racks; the cluster has 2/)
  assert.equal(problem('r1', 'r2', 'r3'), undefined)
  assert.equal(problem('r1', undefined, undefined), undefined)
})
