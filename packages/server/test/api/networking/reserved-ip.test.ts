/** Reservations of addresses. Source: behaviour networking.md 1.3, 5 (1, 3 to 13). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { AddressRun } from '@hyperplane/contract/networking/address-lease'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  addressesOfTask,
  aSubnet,
  assign,
  demoSubnet,
  recount,
  reserve,
  unreserve,
  usageOf,
} from '../../support/subnets.ts'

let app: TestApp
before(async () => {
  app = await startApp({ unchecked: 'leases are held by ids of no entity' })
})
afterEach(() => recount(app))
after(() => app.close())

const one = { reserveType: 'IP_ADDRESS_COUNT', count: 1 }
const ten = { ipv4: '10.20.0.0/24', pools: [['10.20.0.10', '10.20.0.19']] } as const
const v4 = (value: string) => ({ ipv4: { value } })
const groupOf = (result: { errors: readonly { errorGroup?: string }[] }): string | undefined =>
  result.errors[0]?.errorGroup

test('1,000 parallel reservations get 1,000 different addresses, and the pool has 1,000 fewer', async () => {
  const subnet = await aSubnet(app, { ipv4: '10.30.0.0/16', pools: [['10.30.0.2', '10.30.7.209']] })
  const before = (await usageOf(app, subnet)).numFreeIPs
  assert.equal(before, 2000)
  const started = await Promise.all(Array.from({ length: 1000 }, () => reserve(app, subnet, one)))
  const addresses = (await Promise.all(started.map((task) => addressesOfTask(app, task)))).flat()
  assert.equal(new Set(addresses).size, 1000)
  const usage = await usageOf(app, subnet)
  assert.equal(usage.numFreeIPs, 1000)
  assert.equal(usage.ipPoolUsages[0].numTotalIPs, 2000)
  assert.equal(usage.numAssignedIPs, 0)
})

test('of 50 concurrent requests for one of 10 free addresses exactly 10 succeed', async () => {
  const subnet = await aSubnet(app, ten)
  const results = await Promise.all(Array.from({ length: 50 }, () => reserve(app, subnet, one)))
  assert.equal(results.filter((result) => result.status === 202).length, 10)
  const refused = results.filter((result) => result.status === 409)
  assert.equal(refused.length, 40)
  assert.ok(refused.every((result) => groupOf(result) === 'IP_POOL_EXHAUSTED'))
  assert.equal((await usageOf(app, subnet)).numFreeIPs, 0)
})

test('when two clients reserve the same address, one succeeds', async () => {
  const subnet = await aSubnet(app, ten)
  const body = { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [v4('10.20.0.77')] }
  const results = await Promise.all([reserve(app, subnet, body), reserve(app, subnet, body)])
  assert.deepEqual(results.map((result) => result.status).sort(), [202, 409])
  const refused = results.find((result) => result.status === 409)!
  assert.equal(groupOf(refused), 'IP_ADDRESS_UNAVAILABLE')
  assert.match(refused.errors[0]!.message, /10\.20\.0\.77 is already reserved/)
})

test('concurrent reservations and NIC assignments never share an address', async () => {
  const subnet = await aSubnet(app, ten)
  const reservations = Array.from({ length: 8 }, () => reserve(app, subnet, one))
  const nics = Array.from({ length: 8 }, () => assign(app, subnet, randomUUID()).catch(() => undefined))
  const reserved = (await Promise.all(reservations)).filter((result) => result.status === 202).length
  const assigned = (await Promise.all(nics)).filter((address) => address !== undefined).length
  assert.equal(reserved + assigned, 10)
  const usage = await usageOf(app, subnet)
  assert.equal(usage.numFreeIPs, 0)
  assert.equal(usage.numAssignedIPs, assigned)
})

test('reserving three addresses by count takes the lowest free ones and returns them ascending in one completion detail', async () => {
  const subnet = await aSubnet(app, ten)
  await assign(app, subnet, randomUUID(), '10.20.0.11')
  const started = await reserve(app, subnet, { reserveType: 'IP_ADDRESS_COUNT', count: 3, clientContext: 'three' })
  assert.deepEqual(await addressesOfTask(app, started), ['10.20.0.10', '10.20.0.12', '10.20.0.13'])
  const task = await app.task(started)
  assert.equal(task.operation, 'kSubnetReserveIp')
  assert.equal(task.operationDescription, 'Reserve or Unreserve IP on Managed Subnet')
  assert.deepEqual(task.entitiesAffected, [{ extId: subnet.slice(-36), rel: 'networking:config:subnet' }])
  assert.ok(started.location?.endsWith(started.data.extId))
})

test('pools are used in the order of their list, and from the start address on', async () => {
  const pools = [
    ['10.20.0.100', '10.20.0.101'],
    ['10.20.0.10', '10.20.0.19'],
  ] as const
  const subnet = await aSubnet(app, { ipv4: '10.20.0.0/24', pools })
  const first = await reserve(app, subnet, { reserveType: 'IP_ADDRESS_COUNT', count: 3 })
  assert.deepEqual(await addressesOfTask(app, first), ['10.20.0.10', '10.20.0.100', '10.20.0.101'])
  const later = await reserve(app, subnet, { ...one, startIpAddress: v4('10.20.0.15') })
  assert.deepEqual(await addressesOfTask(app, later), ['10.20.0.15'])
})

test('gateway, network and broadcast address inside a pool are skipped', async () => {
  const subnet = await aSubnet(app, { ipv4: '10.20.0.0/29', pools: [['10.20.0.0', '10.20.0.7']] })
  const usage = await usageOf(app, subnet)
  assert.equal(usage.ipPoolUsages[0].numTotalIPs, 5)
  const started = await reserve(app, subnet, { reserveType: 'IP_ADDRESS_COUNT', count: 5 })
  assert.equal((await addressesOfTask(app, started)).at(-1), '10.20.0.6')
  assert.equal((await reserve(app, subnet, one)).status, 409)
})

test('a reservation that is repeated ten times with one request id is made once', async () => {
  const subnet = await aSubnet(app, ten)
  const requestId = randomUUID()
  const body = { reserveType: 'IP_ADDRESS_COUNT', count: 3 }
  const results = []
  for (let index = 0; index < 10; index++) results.push(await reserve(app, subnet, body, { requestId }))
  assert.equal(new Set(results.map((result) => result.data.extId)).size, 1)
  assert.equal((await usageOf(app, subnet)).numFreeIPs, 7)
  const other = await reserve(app, subnet, one, { requestId })
  assert.deepEqual([other.status, groupOf(other)], [422, 'IDEMPOTENCY_KEY_REUSED'])
})

test('a range that contains an assigned address is refused and reserves nothing', async () => {
  const subnet = await aSubnet(app, ten)
  await assign(app, subnet, randomUUID(), '10.20.0.52')
  const body = { reserveType: 'IP_ADDRESS_RANGE', startIpAddress: v4('10.20.0.50'), count: 5 }
  const refused = await reserve(app, subnet, body)
  assert.deepEqual([refused.status, groupOf(refused)], [409, 'IP_ADDRESS_UNAVAILABLE'])
  assert.match(refused.errors[0]!.message, /10\.20\.0\.52 is already assigned/)
  assert.equal((await app.call('GET', `${subnet}/reserved-ips`)).total, 0)
  const free = await reserve(app, subnet, { ...body, startIpAddress: v4('10.20.0.60') })
  assert.deepEqual((await addressesOfTask(app, free)).length, 5)
})

test('unreserve by client context frees exactly the addresses of that context, and repeated frees nothing', async () => {
  const subnet = await aSubnet(app, ten)
  await reserve(app, subnet, { ...one, count: 2, clientContext: 'a' })
  await reserve(app, subnet, { ...one, count: 2, clientContext: 'ab' })
  const body = { unreserveType: 'CONTEXT', clientContext: 'a' }
  assert.deepEqual(await addressesOfTask(app, await unreserve(app, subnet, body)), ['10.20.0.10', '10.20.0.11'])
  const left = await app.call('GET', `${subnet}/reserved-ips`)
  assert.deepEqual(
    left.data.map((item: any) => item.clientContext),
    ['ab', 'ab'],
  )
  assert.deepEqual(await addressesOfTask(app, await unreserve(app, subnet, body)), [])
})

test('unreserve of an assigned address is refused, and frees nothing', async () => {
  const subnet = await aSubnet(app, ten)
  const nic = randomUUID()
  await assign(app, subnet, nic, '10.20.0.11')
  await reserve(app, subnet, one)
  const ipAddresses = [v4('10.20.0.10'), v4('10.20.0.11')]
  const refused = await unreserve(app, subnet, { unreserveType: 'IP_ADDRESS_LIST', ipAddresses })
  assert.equal(refused.status, 409)
  assert.match(refused.errors[0]!.message, /10\.20\.0\.11/)
  const usage = await usageOf(app, subnet)
  assert.deepEqual([usage.numAssignedIPs, usage.numFreeIPs], [1, 8])
  const withContext = { unreserveType: 'IP_ADDRESS_LIST', ipAddresses: ipAddresses.slice(0, 1), clientContext: 'x' }
  assert.equal((await unreserve(app, subnet, withContext)).status, 409)
})

test('a freed address that is the lowest is reserved next', async () => {
  const subnet = await aSubnet(app, ten)
  await reserve(app, subnet, { ...one, count: 10 })
  const range = { unreserveType: 'IP_ADDRESS_RANGE', startIpAddress: v4('10.20.0.14'), count: 2 }
  assert.deepEqual(await addressesOfTask(app, await unreserve(app, subnet, range)), ['10.20.0.14', '10.20.0.15'])
  assert.deepEqual(await addressesOfTask(app, await reserve(app, subnet, one)), ['10.20.0.14'])
})

test('every spelling of an IPv6 address means the same address', async () => {
  const subnet = await aSubnet(app, { ipv6: 'fd00:200::/64' })
  const body = (value: string) => ({ reserveType: 'IP_ADDRESS_LIST', ipAddresses: [{ ipv6: { value } }] })
  const first = await reserve(app, subnet, body('fd00:200::1a'))
  assert.deepEqual(await addressesOfTask(app, first), ['fd00:200::1a'])
  const second = await reserve(app, subnet, body('FD00:200:0:0::1A'))
  assert.deepEqual([second.status, groupOf(second)], [409, 'IP_ADDRESS_UNAVAILABLE'])
  const shown = (await app.call('GET', subnet)).data.reservedIpAddresses
  assert.deepEqual(shown, [{ ipv6: { value: 'fd00:200::1a', prefixLength: 128 } }])
  assert.equal((await app.call('GET', `${subnet}/reserved-ips`)).total, 0)
})

test('100 addresses of an IPv6 /64 take the lowest ones and one run, and all counts fit into JSON numbers', async () => {
  const ranges = { ipv6: 'fd00:300::/64', pools6: [['fd00:300::', 'fd00:300::ffff:ffff:ffff:ffff']] } as const
  const subnet = await aSubnet(app, ranges)
  const addresses = await addressesOfTask(app, await reserve(app, subnet, { ...one, count: 100 }))
  assert.deepEqual([addresses[0], addresses.at(-1)], ['fd00:300::2', 'fd00:300::65'])
  // A look-up reads runs of leased addresses, however large the pool is.
  const runs = await app.store.findWhere(AddressRun, { subnetExtId: subnet.slice(-36) })
  assert.equal(runs.length, 1)
  const usage = await usageOf(app, subnet)
  assert.equal(usage.numFreeIPs, Number.MAX_SAFE_INTEGER)
  assert.equal(usage.ipPoolUsages, undefined)
})

test('a reservation task that was accepted before a stop of the service finishes after its restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-reserve-'))
  let letGo = (): void => undefined
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const beforeStep = (definition: string) => (definition === 'networking.reserve-addresses' ? held : undefined)
  const first = await startApp({ folder, beforeStep })
  const subnet = await aSubnet(first, ten)
  const started = await reserve(first, subnet, { ...one, count: 3 })
  const closing = first.close()
  letGo()
  await closing

  const second = await startApp({ folder })
  try {
    assert.deepEqual(
      await addressesOfTask(second, started.data.extId as never).catch(() => second.task(started.data.extId)),
      ['10.20.0.10', '10.20.0.11', '10.20.0.12'],
    )
    assert.equal((await usageOf(second, subnet)).numFreeIPs, 7)
    await recount(second)
  } finally {
    await second.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a reservation whose task fails is released', async () => {
  const failing = await startApp({
    beforeStep(definition, _step, phase) {
      if (definition === 'networking.reserve-addresses' && phase === 'run') throw new Error('the responders are gone')
    },
    logLevel: 'silent',
  })
  try {
    const subnet = await aSubnet(failing, ten)
    const task = await failing.task(await reserve(failing, subnet, { ...one, count: 4 }))
    assert.equal(task.status, 'FAILED')
    assert.ok(task.errorMessages.length > 0)
    assert.equal((await usageOf(failing, subnet)).numFreeIPs, 10)
    await recount(failing)
  } finally {
    await failing.close()
  }
})

test('a field that does not belong to the reserve type and a missing one are reported together', async () => {
  const subnet = await aSubnet(app, ten)
  const refused = await reserve(app, subnet, { reserveType: 'IP_ADDRESS_RANGE', ipAddresses: [v4('10.20.0.10')] })
  assert.equal(refused.status, 400)
  assert.deepEqual(refused.errors.map((error) => error.argumentsMap?.['attributePath']).sort(), [
    'count',
    'ipAddresses',
    'startIpAddress',
  ])
  assert.equal(refused.errors[0]!.code, 'NETWORKING-10001')
  const outside = await reserve(app, subnet, { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [v4('10.21.0.10')] })
  assert.equal(outside.status, 400)
  const broadcast = await reserve(app, subnet, { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [v4('10.20.0.255')] })
  assert.equal(broadcast.status, 400)
})

test('an unmanaged subnet has no addresses to reserve, and an empty list', async () => {
  const subnet = demoSubnet('vlan-200-static')
  const refused = await reserve(app, subnet, one)
  assert.equal(refused.status, 400)
  assert.match(refused.errors[0]!.message, /subnet vlan-200-static is not managed/)
  const list = await app.call('GET', `${subnet}/reserved-ips`)
  assert.deepEqual([list.status, list.total], [200, 0])
})

test('invalid reservations are refused at once and reserve nothing', async () => {
  const subnet = await aSubnet(app, ten)
  const bodies = [
    { reserveType: 'IP_ADDRESS_COUNT', count: 2 ** 63 },
    { reserveType: 'IP_ADDRESS_COUNT', count: 1001 },
    { reserveType: 'IP_ADDRESS_COUNT', count: 0 },
    { reserveType: 'IP_ADDRESS_LIST', ipAddresses: Array.from({ length: 256 }, (_, index) => v4(`10.20.0.${index}`)) },
    { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [v4('999.1.1.1')] },
    { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [{ ipv6: { value: 'fe80::1%eth0' } }] },
    { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [v4('10.20.0.10'), v4('10.20.0.10')] },
    { reserveType: 'IP_ADDRESS_LIST', ipAddresses: [{ ...v4('10.20.0.10'), ipv6: { value: 'fd00::1' } }] },
    [one],
  ]
  for (const body of bodies)
    assert.equal((await reserve(app, subnet, body)).status, 400, JSON.stringify(body).slice(0, 80))
  assert.equal((await usageOf(app, subnet)).numFreeIPs, 10)
})

test('the demo has no reservation, and reservations can be ordered by the number of their address', async () => {
  const path = `${demoSubnet('vlan-100-app')}/reserved-ips`
  assert.equal((await app.call('GET', path)).total, 0)
  const subnet = await aSubnet(app, { ipv4: '10.20.0.0/24', pools: [['10.20.0.9', '10.20.0.10']] })
  await reserve(app, subnet, { ...one, count: 2 })
  const ordered = await app.call('GET', `${subnet}/reserved-ips?$orderby=ipv4Address`)
  assert.deepEqual(
    ordered.data.map((item: any) => item.ipv4Address),
    ['10.20.0.9', '10.20.0.10'],
  )
})

test('reservations are filtered by the text of their address, and ordered by its number', async () => {
  const subnet = await aSubnet(app, { ipv4: '10.20.0.0/24', pools: [['10.20.0.8', '10.20.0.20']] })
  await addressesOfTask(app, await reserve(app, subnet, { ...one, count: 13 }))
  const filter = encodeURIComponent("endswith(ipv4Address,'9') or ipv4Address eq '10.20.0.10'")
  const listed = async (query: string): Promise<{ total?: number; found: string[] }> => {
    const { data, total } = await app.call('GET', `${subnet}/reserved-ips?$filter=${filter}${query}`)
    return { total, found: data.map((item: any) => item.ipv4Address) }
  }
  const [nine, ten, nineteen] = ['10.20.0.9', '10.20.0.10', '10.20.0.19']
  assert.equal((await listed('')).total, 3)
  assert.deepEqual(await listed('&$orderby=ipv4Address desc'), { total: 3, found: [nineteen, ten, nine] })
  assert.deepEqual(await listed('&$orderby=ipv4Address&$limit=2'), { total: 3, found: [nine, ten] })
  assert.deepEqual(await listed('&$orderby=ipv4Address&$limit=2&$page=1'), { total: 3, found: [nineteen] })
})
