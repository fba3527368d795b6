/** Flows, and what counts them. Source: behaviour networking.md 1.5, 1.7, 3.1, 3.3, 5 (36). */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { formatTime } from '../../../src/core/time/clock.ts'
import { Flows } from '../../../src/drivers/simulated/flows/flows.ts'
import { flowHistory } from '../../../src/drivers/simulated/flows/history.ts'
import { routeFacts } from '../../../src/drivers/simulated/router-facts.ts'
import { policyFacts } from '../../../src/drivers/simulated/routing-policies.ts'
import { ids } from '../../support/clustermgmt.ts'
import { startQuietDemo } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, bootDisk, changed as changedVm, type NativeCluster, nicOn } from '../../support/native-cluster.ts'
import { countersOf } from '../../support/policy-counters.ts'
import type { CallResult, TestApp } from '../../support/start-app.ts'
import { made, prefix, removed, routingPolicies } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
const [prod, nat, routed] = [seedId('vpc/prod'), seedId('subnet/ext-nat'), seedId('subnet/ext-routed')]
const statistics = (subnet: string, from: number, to: number, more = ''): Promise<CallResult> =>
  app.call(
    'GET',
    `/networking/v4.3/stats/vpc/${prod}/external-subnets/${subnet}?$startTime=${formatTime(from)}&$endTime=${formatTime(to)}${more}`,
  )
const prefixOf = { web: prefix('192.168.10.0/24'), db: prefix('192.168.20.0/24') }
/** Readings belong to whole 30 s. */
const align = (): Promise<unknown> => app.clock.advance(30_000 - (app.clock.now() % 30_000))
const sum = (values: readonly (string | number)[]): number => values.reduce<number>((all, one) => all + Number(one), 0)

async function bytesOfVm(extId: string, from: number, to: number, name: string): Promise<number> {
  const query = `$startTime=${formatTime(from)}&$endTime=${formatTime(to)}&$samplingInterval=30&$statType=SUM&$select=stats`
  const { data } = await app.call('GET', `/vmm/v4.2/ahv/stats/vms/${extId}?${query}`)
  return sum((data.stats ?? []).map((point: any) => point[name] ?? 0))
}
const runningIn = (vpc: string): readonly string[] => {
  const histories = [...flowHistory(app.world).nics.all().values()]
  return [
    ...new Set(
      histories.flatMap(({ periods }) =>
        periods.filter(({ value }) => value.vpcExtId === vpc).map(({ value }) => value.vmExtId),
      ),
    ),
  ]
}
const vmOfNic = (nicExtId: string | undefined): string | undefined =>
  flowHistory(app.world)
    .nics.get(nicExtId ?? '')
    ?.periods.at(-1)?.value.vmExtId

/** Counters of `prod` are zero at the time that is returned. */
async function counting(): Promise<number> {
  await align()
  await app.task(
    await app.call('POST', '/networking/v4.3/stats/routing-policies/$actions/clear', { body: { vpcExtId: prod } }),
  )
  return app.clock.now() - (app.clock.now() % 30_000)
}

const countedIn = (vpc: string): number =>
  sum(
    [...policyFacts(app.world).all().values()]
      .filter(({ vpcExtId }) => vpcExtId === vpc)
      .map(({ extId }) => {
        const { forward, reverse } = countersOf(new Flows(app.world), extId)!
        return forward.bytes + reverse.bytes
      }),
  )

/** Bytes that came through VPN connections into a VPC. */
function tunneledInto(vpc: string, from: number, to: number): number {
  let bytes = 0
  for (let time = from + 30_000; time <= to; time += 30_000)
    new Flows(app.world).tableAt(vpc, time)!.visit(time / 1000, ({ connectionExtId, kind }, rate) => {
      if (kind === 'ingress' && connectionExtId !== undefined) bytes += 30 * rate
    })
  return bytes
}

test('policies count the traffic that the NICs of a VPC send and the traffic that enters it from outside', async () => {
  const from = await counting()
  await app.clock.advance(300_000)
  const to = app.clock.now()
  const sent = sum(
    await Promise.all(runningIn(prod).map((vm) => bytesOfVm(vm, from, to, 'hypervisorNumTransmittedBytes'))),
  )
  const { data } = await statistics(nat, from + 30_000, to)
  const entered = 30 * sum(data.northSouthIngressBytesPerSec)
  const tunneled = tunneledInto(prod, from, to)
  assert.ok(sent > 0 && entered > 0 && tunneled > 0)
  assert.equal(countedIn(prod), sent + entered + tunneled)
})

test('the policy of a subnet counts exactly the bytes that its NICs send, within the subnet too', async () => {
  await align()
  const policies = await Promise.all(
    ['web', 'db'].map((name, index) => {
      const source = { addressType: 'SUBNET', subnetPrefix: prefixOf[name as keyof typeof prefixOf] }
      const policyMatch = { source, destination: { addressType: 'ANY' }, protocolType: 'ANY' }
      const policies = [{ policyMatch, policyAction: { actionType: 'PERMIT' } }]
      return made(app, routingPolicies, { name, priority: 800 + index, vpcExtId: prod, policies })
    }),
  )
  const from = await counting()
  await app.clock.advance(300_000)
  const to = app.clock.now()
  for (const [index, name] of ['web', 'db'].entries()) {
    const { data } = await app.call('GET', `/networking/v4.3/config/subnets/${seedId(`subnet/${name}`)}/vnics`)
    const vms = [...new Set<string>(data.map(({ vmReference }: any) => vmReference))]
    const sent = sum(await Promise.all(vms.map((vm) => bytesOfVm(vm, from, to, 'hypervisorNumTransmittedBytes'))))
    assert.ok(sent > 0)
    assert.equal(countersOf(new Flows(app.world), policies[index]!.slice(-36))!.forward.bytes, sent, name)
  }
  for (const policy of policies) await removed(app, policy)
})

test('the NICs of a VPC receive the traffic that arrives from neighbours and from outside', async () => {
  await align()
  const time = app.clock.now()
  const arriving = new Map<string, number>()
  new Flows(app.world).tableAt(prod, time)!.visit(time / 1000, ({ destination, decision }, rate) => {
    const vm = vmOfNic(destination.nicExtId)
    if (vm !== undefined && decision.arrives) arriving.set(vm, (arriving.get(vm) ?? 0) + 30 * rate)
  })
  assert.ok(arriving.size > 1)
  for (const [vm, bytes] of arriving)
    assert.equal(await bytesOfVm(vm, time - 30_000, time, 'hypervisorNumReceivedBytes'), bytes, vm)
})

test('a policy that denies counts the traffic that it drops, which neither arrives nor leaves', async () => {
  const from = await counting()
  await app.clock.advance(60_000)
  const between = app.clock.now()
  const received = (vm: string, since: number, till: number) => bytesOfVm(vm, since, till, 'hypervisorNumReceivedBytes')
  const all = runningIn(prod)
  assert.ok(sum(await Promise.all(all.map((vm) => received(vm, from, between)))) > 0)
  const any = { addressType: 'ANY' }
  const deny = await made(app, routingPolicies, {
    name: 'quarantine',
    priority: 900,
    vpcExtId: prod,
    policies: [
      { policyMatch: { source: any, destination: any, protocolType: 'ANY' }, policyAction: { actionType: 'DENY' } },
    ],
  })
  await app.clock.advance(60_000)
  const to = app.clock.now()
  const sent = await Promise.all(all.map((vm) => bytesOfVm(vm, between, to, 'hypervisorNumTransmittedBytes')))
  assert.ok(sum(sent) > 0)
  assert.equal(sum(await Promise.all(all.map((vm) => received(vm, between, to)))), 0)
  assert.ok(countersOf(new Flows(app.world), deny.slice(-36))!.forward.bytes >= sum(sent))
  const { data } = await statistics(nat, between + 30_000, to)
  assert.equal(sum(data.northSouthEgressBytesPerSec), 0)
  assert.ok(sum(data.northSouthIngressBytesPerSec) > 0, 'clients still reach the floating IP of web-01')
  // The past stays as it was.
  assert.ok(sum(await Promise.all(all.map((vm) => received(vm, from, between)))) > 0)
  await removed(app, deny)
})

test('totals of a VPC never fall and grow by the rates, also over long intervals, and equal requests have equal answers', async () => {
  await align()
  const to = app.clock.now()
  for (const [interval, type] of [
    [30, 'LAST'],
    [300, 'AVG'],
  ] as const) {
    const request = () =>
      statistics(nat, to - 3_600_000, to, `&$samplingInterval=${interval}&$statType=${type}&$limit=100`)
    const { data } = await request()
    for (const what of ['EgressBytes', 'EgressPackets', 'IngressBytes', 'IngressPackets']) {
      const [totals, rates] = [data[`northSouth${what}Abs`], data[`northSouth${what}PerSec`]].map((each: string[]) =>
        each.map(Number),
      )
      assert.ok(totals!.length > 10)
      for (const [index, total] of totals!.entries())
        if (index > 0)
          assert.ok(Math.abs(total - totals![index - 1]! - interval * rates![index]!) <= interval / 2, what)
    }
    assert.deepEqual((await request()).data, data)
  }
})

test('totals of a VPC do not fall while its default route flaps, although only the last periods are kept', async () => {
  await align()
  const attachments = flowHistory(app.world).attachments
  const [before, to] = [attachments.get(`${prod}/${nat}`)!, app.clock.now()]
  const { value } = before.periods.at(-1)!
  const flaps = Array.from({ length: 500 }, (_, index) => ({
    from: to - (500 - index) * 60_000,
    ...(index < 499 && { to: to - (499 - index) * 60_000 }),
    value: { ...value, isExit: index % 2 === 0 },
  }))
  await attachments.put(`${prod}/${nat}`, { periods: flaps })
  const totalAt = async (time: number): Promise<number> =>
    Number((await statistics(nat, time - 60_000, time)).data.northSouthEgressBytesAbs.at(-1))
  const total = await totalAt(to)
  assert.ok(total > 0)
  const routes = routeFacts(app.world)
  const [extId, route] = [...routes.all()].find(
    ([, { prefix, vpcExtId }]) => prefix === '0.0.0.0/0' && vpcExtId === prod,
  )!
  for (let flap = 0; flap < 3; flap++) {
    await routes.remove(extId)
    await app.clock.advance(60_000)
    await routes.put(extId, route)
    await app.clock.advance(60_000)
  }
  assert.ok((await totalAt(to)) >= total)
  assert.ok((await totalAt(to + 360_000)) > total)
  await attachments.put(`${prod}/${nat}`, before)
})

test('only the subnet of the default route and of floating IPs carries traffic, and another subnet is not found', async () => {
  await align()
  const to = app.clock.now()
  const { data } = await statistics(routed, to - 600_000, to)
  assert.equal(data.northSouthEgressBytesAbs.length, 21)
  assert.equal(sum(data.northSouthEgressBytesAbs), 0)
  for (const [vpc, subnet] of [
    [prod, seedId('subnet/web')],
    [prod, seedId('nothing')],
    [seedId('nothing'), nat],
  ]) {
    const path = `/networking/v4.3/stats/vpc/${vpc}/external-subnets/${subnet}?$startTime=${formatTime(to - 60_000)}&$endTime=${formatTime(to)}`
    const refused = await app.call('GET', path)
    assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [404, 'ENTITY_NOT_FOUND'])
  }
})

test('flows of a VPC with thousands of NICs are drawn while the event loop has its turns, and are the same', async () => {
  const { nics } = flowHistory(app.world)
  const { value } = [...nics.all().values()]
    .flatMap(({ periods }) => periods)
    .find((each) => each.value.vpcExtId === prod)!
  const many = Array.from({ length: 2000 }, (_, index) => `nic-${index}`)
  await nics.putAll(
    new Map(many.map((id) => [id, { periods: [{ from: 0, value: { ...value, vmExtId: `of-${id}` } }] }])),
  )
  const time = app.clock.now()
  const flowsOf = (flows: Flows): readonly unknown[] => {
    const found: unknown[] = []
    flows.tableAt(prod, time)!.visit(time / 1000, (flow, rate) => found.push([flow, rate]))
    return found
  }
  const flows = new Flows(app.world)
  let turns = 0
  let isDrawn = false
  const count = (): void => {
    turns++
    if (!isDrawn) setImmediate(count)
  }
  setImmediate(count)
  const drawing = flows.prepare(prod, time)
  assert.equal(flows.prepare(prod, time), drawing)
  await drawing
  isDrawn = true
  assert.ok(turns > 2)
  assert.equal(flows.prepare(prod, time), undefined)
  const prepared = flowsOf(flows)
  assert.ok(prepared.length > 2000)
  assert.deepEqual(prepared, flowsOf(new Flows(app.world)))
  for (const id of many) await nics.remove(id)
})

test('pages slice the samples, and selection keeps id and type', async () => {
  await align()
  const to = app.clock.now()
  const all = (await statistics(nat, to - 900_000, to, '&$limit=100')).data
  const second = (await statistics(nat, to - 900_000, to, '&$page=1&$limit=10&$select=northSouthEgressBytesAbs')).data
  assert.deepEqual(second.northSouthEgressBytesAbs, all.northSouthEgressBytesAbs.slice(10, 20))
  assert.deepEqual(
    Object.keys(second)
      .filter((name) => !name.startsWith('$'))
      .sort(),
    ['extId', 'northSouthEgressBytesAbs', 'statType'],
  )
})

test('the deletion of a VM, or a new neighbour, does not change past samples', async () => {
  const body = { name: 'short-lived', disks: [bootDisk(cluster)], nics: [nicOn(seedId('subnet/web'))] }
  const { extId } = await aVm(app, cluster, body)
  await changedVm(app, extId, 'power-on')
  await align()
  await app.clock.advance(300_000)
  const to = app.clock.now()
  const past = async () => (await statistics(nat, to - 600_000, to)).data
  const before = await past()
  await changedVm(app, extId, 'power-off')
  await changedVm(app, extId, 'delete')
  await app.clock.advance(60_000)
  assert.deepEqual(await past(), before)
})
