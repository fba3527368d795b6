import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Address, parseHost, parsePrefix } from '../core/ip-address.ts'
import { type Candidate, routesBy, selected } from './route-selection.ts'

interface Named extends Candidate {
  readonly name: string
}

const to = (destination: string, name: string, more: Partial<Candidate> = {}): Named => ({
  name,
  prefix: parsePrefix(destination)!,
  priority: 700,
  since: 0,
  isUsable: true,
  ...more,
})
const namesOf = (routes: Iterable<Named>): string[] => [...routes].map(({ name }) => name).sort()

test('the router forwards by the route with the highest priority for a destination', () => {
  const routes = [
    to('10.0.0.0/8', 'dynamic', { priority: 700 }),
    to('10.0.0.0/8', 'static', { priority: 32768 }),
    to('10.1.0.0/16', 'longer', { priority: 300 }),
  ]
  assert.deepEqual(namesOf(selected(routes)), ['longer', 'static'])
})

test('the router falls back to a route of lower priority while the nexthop of the better one does not work', () => {
  const routes = [to('10.0.0.0/8', 'static', { priority: 32768, isUsable: false }), to('10.0.0.0/8', 'dynamic')]
  assert.deepEqual(namesOf(selected(routes)), ['dynamic'])
  assert.deepEqual(namesOf(selected([routes[0]!])), [])
})

test('the router keeps the older of two routes with equal priority, in any order', () => {
  const routes = [to('::/0', 'younger', { since: 2 }), to('::/0', 'older', { since: 1 })]
  assert.deepEqual(namesOf(selected(routes)), ['older'])
  assert.deepEqual(namesOf(selected(routes.toReversed())), ['older'])
})

test('the router shares traffic between multipath routes of equal priority only', () => {
  const one = to('10.0.0.0/8', 'one', { since: 1, isMultipath: true })
  const two = to('10.0.0.0/8', 'two', { since: 2, isMultipath: true })
  const worse = to('10.0.0.0/8', 'worse', { priority: 300, isMultipath: true })
  const single = to('10.0.0.0/8', 'single', { since: 3 })
  assert.deepEqual(namesOf(selected([worse, two, one, single])), ['one', 'two'])
  assert.deepEqual(namesOf(selected([one, { ...two, isUsable: false }])), ['one'])
})

test('the router follows the longest prefix that holds an address, in its own family', () => {
  const routes = [
    to('0.0.0.0/0', 'default'),
    to('10.0.0.0/8', 'ten'),
    to('10.1.0.0/16', 'longest'),
    to('10.1.0.0/16', 'equal'),
    to('::/0', 'sixth'),
  ]
  const found = (address: string): string[] => namesOf(routesBy(routes)(parseHost(address) as Address))
  assert.deepEqual(found('10.1.2.3'), ['equal', 'longest'])
  assert.deepEqual(found('10.2.0.1'), ['ten'])
  assert.deepEqual(found('10.255.255.255'), ['ten'])
  assert.deepEqual(found('192.0.2.1'), ['default'])
  assert.deepEqual(found('2001:db8::1'), ['sixth'])
  assert.deepEqual(namesOf(routesBy<Named>([])(parseHost('192.0.2.1') as Address)), [])
})
