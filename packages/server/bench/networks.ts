/** Measures a large network in one process, without TLS: many subnets, addresses, and routes of one VPC. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { seedId } from '../src/core/ids/named-id.ts'
import { routeFacts } from '../src/drivers/simulated/router-facts.ts'
import { routesOfRouter } from '../src/drivers/simulated/router-tables.ts'
import { startApp, type TestApp } from '../test/support/start-app.ts'
import { aSubnet, reserve } from '../test/support/subnets.ts'
import { aVpc } from '../test/support/vpcs.ts'

/** Milliseconds: median and 99th percentile. */
export interface Times {
  readonly p50: number
  readonly p99: number
}

export interface NetworkTimes {
  /** One more subnet; includes the task. */
  readonly create: Times
  /** One address is reserved in the subnet that has all others; includes the task. */
  readonly reserve: Times
  /** Page of 50. */
  readonly list: Times
  /** Processor time: the routes of a VPC with 1,000 static ones. */
  readonly routes: number
  /** A VPC with 500 subnets. */
  readonly vpc: Times
}

const subnets = '/networking/v4.3/config/subnets'
const [routesOfVpc, subnetsOfVpc, asked] = [1000, 500, 200]

export async function measureNetworks(count: number, addresses: number): Promise<NetworkTimes> {
  const app = await startApp({
    ...{
      durable: true,
      limits: { subnets: 10 * count, reservedAddressesOfSubnet: 2 * addresses },
      unchecked: 'a check of so many rows takes minutes',
    },
    config: { seed: 'demo', clock: 'real', rateLimits: 'off' },
  })
  try {
    await many(count, (index) =>
      aSubnet(app, { ipv4: '10.50.0.0/24' }, { name: `subnet-${index}`, networkId: index % 4096 }),
    )
    const large = await aSubnet(app, { ipv4: '10.0.0.0/8', pools: [['10.0.0.2', '10.255.255.200']] })
    await many(addresses / 1000, async () =>
      ended(app, await reserve(app, large, { reserveType: 'IP_ADDRESS_COUNT', count: 1000 })),
    )
    const one = { reserveType: 'IP_ADDRESS_COUNT', count: 1 }
    return {
      create: await times(() => aSubnet(app, { ipv4: '10.40.0.0/24' })),
      reserve: await times(async () => ended(app, await reserve(app, large, one))),
      list: await afterChanges(app, async () => {
        const { status, data } = await app.call('GET', `${subnets}?$limit=50&$page=${Math.floor(count / 100)}`)
        assert.deepEqual([status, data.length], [200, 50])
      }),
      routes: await routes(app),
      vpc: await vpc(app),
    }
  } finally {
    await app.close()
  }
}

async function routes(app: TestApp): Promise<number> {
  const vpcExtId = seedId('vpc/prod')
  assert.ok((await app.store.find(BgpSession)).length > 0)
  const facts = Array.from({ length: routesOfVpc }, (_, index) => {
    const extId = randomUUID()
    const prefix = `172.${16 + (index >> 8)}.${index & 255}.0/24`
    return [extId, { extId, vpcExtId, prefix, nexthop: { subnetExtId: seedId('subnet/ext-nat') }, since: 0 }] as const
  })
  await routeFacts(app.world).putAll(new Map(facts))
  for (let turn = 0; turn < 20; turn++) routesOfRouter(app.world, vpcExtId)
  const began = process.cpuUsage()
  for (let turn = 0; turn < asked; turn++) routesOfRouter(app.world, vpcExtId)
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1000 / asked
}

async function vpc(app: TestApp): Promise<Times> {
  const path = await aVpc(app)
  const inVpc = { subnetType: 'OVERLAY', networkId: undefined, vpcReference: path.slice(-36) }
  for (let index = 0; index < subnetsOfVpc; index++)
    await aSubnet(app, { ipv4: `10.${index >> 8}.${index & 255}.0/24` }, inVpc)
  return afterChanges(app, () => app.call('GET', path))
}

async function ended(app: TestApp, started: Awaited<ReturnType<TestApp['call']>>): Promise<void> {
  const task = await app.task(started)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
}

/** Several at once. */
async function many(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  const together = 20
  for (let from = 0; from < count; from += together)
    await Promise.all(Array.from({ length: Math.min(together, count - from) }, (_, index) => work(from + index)))
}

/** A change of the store before each read: otherwise the second one gets the answer of the first. */
async function afterChanges(app: TestApp, read: () => Promise<unknown>): Promise<Times> {
  return times(read, async () => {
    const body = { key: 'bench', value: randomUUID() }
    assert.equal((await app.call('POST', '/platform/v4.3/config/categories', { body })).status, 201)
  })
}

/** @param before not timed */
async function times(work: () => Promise<unknown>, before?: () => Promise<unknown>): Promise<Times> {
  const found: number[] = []
  for (let turn = 0; turn < asked; turn++) {
    await before?.()
    const began = performance.now()
    await work()
    found.push(performance.now() - began)
  }
  found.sort((a, b) => a - b)
  return { p50: found[asked >> 1] as number, p99: found[Math.floor(asked * 0.99)] as number }
}
