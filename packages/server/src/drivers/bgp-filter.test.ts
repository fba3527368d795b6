import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseHost, parsePrefix } from '../core/ip-address.ts'
import { type FilterTerms, maximumPrefixes, type Offer, reasonsToIgnore } from './bgp-filter.ts'

const terms: FilterTerms = {
  localAsn: 65010,
  own: [parsePrefix('192.168.10.0/24')!],
  external: [parsePrefix('10.44.4.0/24')!],
}
const offer = (prefix: string, more: Partial<Offer> = {}): Offer => ({
  prefix: parsePrefix(prefix)!,
  nexthop: parseHost('10.44.4.21')!,
  autonomousSystemPath: [65001],
  ...more,
})

test('the router ignores host routes, loops, unreachable nexthops and prefixes of its own, and says why', () => {
  const offers = [
    offer('10.200.0.0/24'),
    offer('10.200.1.1/32'),
    offer('10.200.2.0/24', { autonomousSystemPath: [65001, 65010] }),
    offer('10.200.3.0/24', { nexthop: parseHost('198.51.100.1')! }),
    offer('192.168.0.0/16'),
    offer('0.0.0.0/0'),
  ]
  assert.deepEqual(reasonsToIgnore(offers, terms), [
    undefined,
    'a host route',
    'the AS path holds the local AS number 65010',
    'the nexthop 198.51.100.1 is not on the external subnet',
    'overlaps 192.168.10.0/24 of the VPC',
    undefined,
  ])
})

test('the router takes no more prefixes than a session may bring, and does not count ignored ones', () => {
  const many = Array.from({ length: maximumPrefixes + 1 }, (_, index) => offer(`10.${index}.0.0/16`))
  const reasons = reasonsToIgnore([offer('10.200.1.1/32'), ...many], terms)
  assert.deepEqual(
    reasons.filter((reason) => reason !== undefined),
    ['a host route', 'beyond 250 prefixes of this session'],
  )
  assert.equal(reasons.at(-1), 'beyond 250 prefixes of this session')
})
