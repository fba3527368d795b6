import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Family,
  formatAddress,
  formatPrefix,
  fromSortable,
  notAHost,
  parseAddress,
  parsePrefix,
  prefixOf,
  toSortable,
} from './ip-address.ts'

const canonical = (family: Family, text: string): string | undefined => {
  const address = parseAddress(family, text)
  return address === undefined ? undefined : formatAddress(address)
}

const spellings: readonly (readonly [Family, string, string | undefined])[] = [
  ['IPV4', '10.0.0.1', '10.0.0.1'],
  ['IPV4', '255.255.255.255', '255.255.255.255'],
  ['IPV4', '999.1.1.1', undefined],
  ['IPV4', '10.0.0', undefined],
  ['IPV4', '1.2.3.4.5', undefined],
  ['IPV6', 'FD00:100:0:0::1A', 'fd00:100::1a'],
  ['IPV6', '::', '::'],
  ['IPV6', '::1', '::1'],
  ['IPV6', '1::', '1::'],
  ['IPV6', '2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['IPV6', '2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
  ['IPV6', '2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
  ['IPV6', '::ffff:192.0.2.1', '::ffff:c000:201'],
  ['IPV6', '64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ['IPV6', 'fe80::1%eth0', undefined],
  ['IPV6', '1:2:3:4:5:6:7', undefined],
  ['IPV6', '1:2:3:4:5:6:7:8:9', undefined],
  ['IPV6', '1:2:3:4:5:6::8', '1:2:3:4:5:6:0:8'],
  ['IPV6', '1:2:3:4::5:6:7:8', undefined],
  ['IPV6', '1::2::3', undefined],
  ['IPV6', ':1:2', undefined],
  ['IPV6', '12345::', undefined],
  ['IPV6', '192.0.2.1::', undefined],
]

test('every spelling of an address has one canonical form', () => {
  for (const [family, given, expected] of spellings) assert.equal(canonical(family, given), expected, given)
})

test('the order of the sortable texts is the order of the addresses', () => {
  const texts = ['10.0.0.9', '10.0.0.10', '9.255.255.255', '192.0.2.1']
  const sorted = texts.map((text) => toSortable(parseAddress('IPV4', text)!)).sort()
  assert.deepEqual(
    sorted.map((text) => formatAddress(fromSortable('IPV4', text))),
    ['9.255.255.255', '10.0.0.9', '10.0.0.10', '192.0.2.1'],
  )
})

test('the host bits of a prefix are cleared', () => {
  assert.equal(formatPrefix(prefixOf(parseAddress('IPV4', '10.1.2.3')!, 20)), '10.1.0.0/20')
  assert.equal(formatPrefix(prefixOf(parseAddress('IPV6', 'fd00:100::1a')!, 64)), 'fd00:100::/64')
})

test('addresses that cannot belong to a host are recognised', () => {
  const refused = ['0.0.0.0', '127.0.0.1', '224.0.0.1', '239.1.2.3']
  for (const text of refused) assert.ok(notAHost(parseAddress('IPV4', text)!), text)
  for (const text of ['::', '::1', 'ff02::1', '::ffff:10.0.0.1']) assert.ok(notAHost(parseAddress('IPV6', text)!), text)
  assert.equal(notAHost(parseAddress('IPV4', '10.0.0.1')!), undefined)
  assert.equal(notAHost(parseAddress('IPV6', 'fe80::1')!), undefined)
})

test('a CIDR text is read in both families, and another text is refused', () => {
  const texts = ['10.1.2.3/8', '2001:db8::1/64', '0.0.0.0/0'].map((text) => formatPrefix(parsePrefix(text)!))
  assert.deepEqual(texts, ['10.0.0.0/8', '2001:db8::/64', '0.0.0.0/0'])
  for (const text of ['10.0.0.0', '10.0.0.0/33', '10.0.0/8', '10.0.0.0/8/8', '10.0.0.0/', 'x/8', '::/129'])
    assert.equal(parsePrefix(text), undefined, text)
})
