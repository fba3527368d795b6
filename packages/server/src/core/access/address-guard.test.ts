import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AddressRefusal, createAddressGuard, isNetwork } from './address-guard.ts'

const names: Readonly<Record<string, readonly string[]>> = {
  'directory.example.com': ['192.0.2.7'],
  'both.example.com': ['127.0.0.1', '192.0.2.8', '2001:db8::8'],
  'rebound.example.com': ['169.254.169.254'],
  'empty.example.com': [],
}
const resolve = async (host: string): Promise<readonly string[]> => names[host] ?? assert.fail(`asked for ${host}`)
const guard = createAddressGuard({ allowed: [], resolve })

describe('without --allow-address', () => {
  const refused = [
    ['127.0.0.1', /loopback/],
    ['127.9.9.9', /loopback/],
    ['::1', /loopback/],
    ['[::1]', /loopback/],
    ['::ffff:127.0.0.1', /loopback/],
    ['::FFFF:7F00:1', /loopback/],
    ['64:ff9b::7f00:1', /loopback/],
    ['2002:7f00:1::', /loopback/],
    ['169.254.169.254', /metadata/],
    ['::ffff:169.254.169.254', /metadata/],
    ['fd00:ec2::254', /metadata/],
    ['100.100.100.200', /metadata/],
    ['2002:6464:64c8::1', /metadata/],
    ['64:ff9b::192.0.0.192', /metadata/],
    ['169.254.1.1', /link-local/],
    ['fe80::1', /link-local/],
    ['fe80::1%eth0', /link-local/],
    ['64:ff9b::169.254.7.7', /link-local/],
    ['0.0.0.0', /no single host/],
    ['::', /no single host/],
    ['::127.0.0.1', /no single host/],
    ['224.0.0.1', /no single host/],
  ] as const
  for (const [address, kind] of refused) {
    test(`${address} is refused; the message says what it is and which option allows it`, async () => {
      await assert.rejects(guard.addressesOf(address), (error: Error) => {
        assert.ok(error instanceof AddressRefusal)
        assert.match(error.message, kind)
        assert.match(error.message, /--allow-address/)
        return true
      })
    })
  }

  for (const address of [
    '10.0.0.5',
    '192.168.1.1',
    '203.0.113.9',
    'fd12:3456::1',
    '2001:db8::1',
    '64:ff9b::c000:207',
  ]) {
    test(`${address} may be called`, async () => {
      assert.deepEqual(await guard.addressesOf(address), [address])
    })
  }
})

test('a name is checked by its resolved addresses, and only these are called', async () => {
  assert.deepEqual(await guard.addressesOf('Directory.Example.com'), ['192.0.2.7'])
  await assert.rejects(guard.addressesOf('rebound.example.com'), /resolves to 169\.254\.169\.254, a metadata address/)
  await assert.rejects(guard.addressesOf('empty.example.com'), /a name without an address/)
})

test('of several addresses only the allowed ones are returned', async () => {
  assert.deepEqual(await guard.addressesOf('both.example.com'), ['192.0.2.8', '2001:db8::8'])
})

test('networks that --allow-address names are open, and no others', async () => {
  const opened = createAddressGuard({ allowed: ['127.0.0.0/8', 'fe80::/64'], resolve })
  assert.deepEqual(await opened.addressesOf('127.0.0.1'), ['127.0.0.1'])
  assert.deepEqual(await opened.addressesOf('::ffff:127.0.0.1'), ['::ffff:127.0.0.1'])
  assert.deepEqual(await opened.addressesOf('fe80::7'), ['fe80::7'])
  assert.deepEqual(await opened.addressesOf('both.example.com'), ['127.0.0.1', '192.0.2.8', '2001:db8::8'])
  await assert.rejects(opened.addressesOf('::1'), AddressRefusal)
  await assert.rejects(opened.addressesOf('169.254.169.254'), AddressRefusal)
})

describe('with --offline', () => {
  const offline = createAddressGuard({ allowed: ['127.0.0.0/8', '10.0.0.0/8'], isOffline: true, resolve })

  for (const host of ['10.0.0.5', '192.0.2.7', '2001:db8::1', 'directory.example.com', 'unknown.example.com'])
    test(`${host} is refused without asking the resolver, and the message names the option`, async () => {
      await assert.rejects(offline.addressesOf(host), { name: 'AddressRefusal', message: /beyond.*--offline/ })
      assert.match(offline.refusalOf(host) ?? '', /--offline/)
    })

  test('loopback may be called where --allow-address opens it, and only there', async () => {
    assert.deepEqual(await offline.addressesOf('127.0.0.1'), ['127.0.0.1'])
    assert.deepEqual(await offline.addressesOf('staging.localhost'), ['127.0.0.1'])
    await assert.rejects(offline.addressesOf('::1'), /a loopback address.*--allow-address/)
  })
})

describe('a guard of registrations', () => {
  const closed = createAddressGuard({ allowed: [], isClosed: true, resolve })
  const open = createAddressGuard({ allowed: ['192.0.2.7'], isClosed: true, resolve })

  for (const host of ['10.0.0.5', '2001:db8::1', 'directory.example.com'])
    test(`refuses ${host} at once, and names both options`, async () => {
      assert.match(closed.refusalOf(host) ?? '', /outside the simulated world.*--allow-outbound.*--allow-address/)
      await assert.rejects(closed.addressesOf(host), /outside the simulated world/)
    })

  test('still reports a loopback address as such', () =>
    assert.match(closed.refusalOf('127.0.0.1') ?? '', /a loopback address/))

  test('admits networks of --allow-address, and checks a name by its addresses', async () => {
    assert.equal(open.refusalOf('192.0.2.7'), undefined)
    assert.equal(open.refusalOf('directory.example.com'), undefined)
    assert.deepEqual(await open.addressesOf('directory.example.com'), ['192.0.2.7'])
    await assert.rejects(open.addressesOf('both.example.com'), /resolves to 127\.0\.0\.1, a loopback address/)
  })
})

test('names below localhost are loopback, whatever the resolver answers', async () => {
  const opened = createAddressGuard({ allowed: ['127.0.0.0/8'], resolve })
  assert.deepEqual(await opened.addressesOf('Staging.LOCALHOST'), ['127.0.0.1'])
  await assert.rejects(guard.addressesOf('staging.localhost'), /a loopback address/)
})

test('concurrent look-ups of one name share one query', async () => {
  const answer = Promise.withResolvers<readonly string[]>()
  let questions = 0
  const askSlowly = (): Promise<readonly string[]> => {
    questions++
    return answer.promise
  }
  const slow = createAddressGuard({ allowed: [], resolve: askSlowly })
  const waiting = [slow.addressesOf('slow.example.com'), slow.addressesOf('slow.example.com')]
  answer.resolve(['192.0.2.1'])
  assert.deepEqual(await Promise.all(waiting), [['192.0.2.1'], ['192.0.2.1']])
  assert.equal(questions, 1)
})

test('a look-up fails when the resolver does not answer in time', async () => {
  let ring = (): void => undefined
  const setTimer = (_: number, run: () => void) => {
    ring = run
    return () => undefined
  }
  const mute = createAddressGuard({ allowed: [], resolve: () => new Promise(() => undefined), real: { setTimer } })
  const asked = mute.addressesOf('mute.example.com')
  ring()
  await assert.rejects(asked, { code: 'EAI_AGAIN' })
})

test('a network is an address, with or without the length of its prefix', () => {
  const judged = [
    '10.0.0.0/8',
    '10.1.2.3',
    '::1',
    'fd00::/8',
    '10.0.0.0/33',
    '::/129',
    'host',
    '10.0.0.0/',
    '1.2.3.4/8/8',
  ]
  assert.deepEqual(judged.filter(isNetwork), ['10.0.0.0/8', '10.1.2.3', '::1', 'fd00::/8'])
})
