/** IPFIX exporters. Source: behaviour networking.md 1.17; RFC 7011. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { exporterFacts } from '../../../src/drivers/simulated/flow-exporters.ts'
import { Flows } from '../../../src/drivers/simulated/flows/flows.ts'
import { ids } from '../../support/clustermgmt.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { type Collector, type Message, startCollector } from '../../support/flow-collector.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { clusterScope, exporterBody, exporters } from '../../support/ipfix-exporters.ts'
import { unregister } from '../../support/registering.ts'
import type { CallResult, TestApp } from '../../support/start-app.ts'
import { changed, made, removed } from '../../support/vpcs.ts'

let app: TestApp
let collector: Collector
before(async () => {
  app = await startQuietDemo({ config: { allowAddress: ['127.0.0.0/8'] } })
  collector = await startCollector()
})
afterEach(() => checkInvariants(app))
after(async () => {
  collector.close()
  await app.close()
})

const create = (body: object): Promise<CallResult> => app.call('POST', exporters, { body })
const here = (more: object = {}): object => ({ collectorIp: '127.0.0.1', collectorPort: collector.port, ...more })
const pathsOf = (result: CallResult): (string | undefined)[] =>
  result.errors.map((error) => error.argumentsMap?.['attributePath'])
const sum = (messages: readonly Message[], name: string): number =>
  messages.flatMap(({ records }) => records).reduce((all, record) => all + Number(record[name]), 0)
/** To the next full minute, and so far beyond it. */
const minutes = (count: number): Promise<unknown> =>
  app.clock.advance(60_000 - (app.clock.now() % 60_000) + 60_000 * (count - 1))
async function received(work: () => Promise<unknown>): Promise<readonly Message[]> {
  const before = (await collector.settled()).length
  await work()
  return (await collector.settled()).slice(before)
}

test('hosts send the flows of each minute to the collector, with template, export time and sequence', async () => {
  await minutes(1)
  const path = await made(app, exporters, exporterBody('first', here()))
  const messages = await received(() => minutes(1))
  const to = app.clock.now()
  const hosts = new Set(
    exporterFacts(app.world)
      .get(path.slice(-36))!
      .hosts.map(({ hostExtId }) => hostExtId),
  )
  let bytes = 0
  const flows = new Flows(app.world)
  for (const time of [to - 30_000, to])
    for (const segmentExtId of flows.segmentsOn(hosts, time))
      flows.tableAt(segmentExtId, time)!.visit(time / 1000, (_, rate) => {
        bytes += 30 * rate
      })
  assert.ok(bytes > 0)
  assert.equal(sum(messages, 'octetDeltaCount'), bytes)
  assert.ok(messages.every(({ exportTime, bytes: size }) => exportTime === to / 1000 && size <= 1400))
  assert.ok(new Set(messages.map(({ observationDomain }) => observationDomain)).size > 1)
  const records = messages.flatMap((message) => message.records)
  assert.ok(
    records.every((record) => record['flowStartMilliseconds'] === to - 60_000 && record['flowEndMilliseconds'] === to),
  )
  assert.ok(records.some((record) => String(record['sourceIPv4Address']).startsWith('192.168.10.')))
  // The policy of the demo keeps the database from the outside.
  const kept = records.filter((record) => record['forwardingStatus'] === 128)
  assert.ok(kept.length > 0 && kept.every((record) => String(record['sourceIPv4Address']).startsWith('192.168.20.')))
  const more = await received(() => minutes(3))
  const sequences = new Map<number, number>()
  for (const { observationDomain, sequence, records: own } of [...messages, ...more]) {
    assert.equal(sequence, sequences.get(observationDomain) ?? 0)
    sequences.set(observationDomain, sequence + own.length)
  }
  await removed(app, path)
  assert.equal((await received(() => minutes(1))).length, 0)
})

test('a rate limit bounds what each host sends, and drops the smallest flows', async () => {
  await minutes(1)
  const path = await made(app, exporters, exporterBody('all', here()))
  const all = await received(() => minutes(1))
  await changed(app, path, { exportRateLimitPerNodeBps: 1000 })
  assert.ok(all.length > 0)
  const limited = await received(() => minutes(1))
  const byHost = new Map<number, number>()
  for (const { observationDomain, bytes } of limited)
    byHost.set(observationDomain, (byHost.get(observationDomain) ?? 0) + bytes)
  assert.ok(byHost.size > 0 && [...byHost.values()].every((bytes) => 8 * bytes <= 60 * 1000))
  await removed(app, path)
})

test('nothing is sent to addresses that --allow-address does not permit, and an exporter for IPV6 alone exports no flows', async () => {
  await minutes(1)
  const closed = await made(app, exporters, exporterBody('closed'))
  const path = await made(
    app,
    exporters,
    exporterBody('v6', here({ exportScopes: [{ ...clusterScope(), ipFamily: 'V6' }] })),
  )
  assert.equal((await received(() => minutes(1))).length, 0)
  await changed(app, path, { exportScopes: [{ ...clusterScope(), ipFamily: 'V4' }] })
  assert.ok((await received(() => minutes(1))).length > 0)
  await removed(app, closed)
  await removed(app, path)
})

test('a host that fails exports nothing', async () => {
  await minutes(1)
  const path = await made(app, exporters, exporterBody('partial', here()))
  const domains = (messages: readonly Message[]) => new Set(messages.map(({ observationDomain }) => observationDomain))
  const all = domains(await received(() => minutes(1)))
  const host = (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${seedId('vm/web-01')}`)).data.host.extId
  await happen(app, { type: 'HOST_FAILS', host })
  assert.equal(domains(await received(() => app.clock.advance(60_000))).size, all.size - 1)
  await happen(app, { type: 'HOST_RETURNS', host })
  await removed(app, path)
})

test('an exporter is read back as it was sent, and its task names the cluster', async () => {
  const body = exporterBody('kept', { exportRateLimitPerNodeBps: 1_000_000 })
  const task = await app.task(await create(body))
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'kIPFIXExporterCreate'])
  const [{ extId, rel }, cluster] = task.entitiesAffected
  assert.deepEqual([rel, cluster.extId], ['networking:config:ipfix-exporter', ids.native])
  const { data } = await app.call('GET', `${exporters}/${extId}`)
  assert.deepEqual(
    [
      data.collectorIp,
      data.collectorPort,
      data.protocol,
      data.exportRateLimitPerNodeBps,
      data.exportScopes[0].ipFamily,
    ],
    ['192.0.2.10', 4739, 'UDP', 1_000_000, 'BOTH'],
  )
  await removed(app, `${exporters}/${extId}`)
})

test('invalid exporters are refused', async () => {
  const cases: readonly [string, object, number, (string | undefined)[]][] = [
    ['an unknown cluster', { exportScopes: [clusterScope(seedId('nothing'))] }, 404, ['exportScopes[0]/uuid']],
    ['a cluster as manager', { exportScopes: [{ ...clusterScope(), scopeType: 'PC' }] }, 404, ['exportScopes[0]/uuid']],
    ['one scope twice', { exportScopes: [clusterScope(), clusterScope()] }, 400, ['exportScopes[1]/uuid']],
  ]
  for (const [what, more, status, paths] of cases) {
    const result = await create(exporterBody('bad', more))
    const found = result.errors.map((error, index) => error.attributePath ?? pathsOf(result)[index])
    assert.deepEqual([result.status, found], [status, paths], what)
  }
  for (const more of [
    { collectorIp: '2001:db8::1' },
    { collectorIp: '300.1.1.1' },
    { collectorPort: 0 },
    { exportScopes: [] },
    { exportRateLimitPerNodeBps: 999 },
  ])
    assert.equal((await create(exporterBody('bad', more))).status, 400, JSON.stringify(more))
})

test('collector, port and scope of an exporter are unique together, also among concurrent requests and during an update', async () => {
  const results = await Promise.all(['one', 'two'].map((name) => create(exporterBody(name))))
  assert.deepEqual(results.map(({ status }) => status).sort(), [202, 409])
  const path = `${exporters}/${(await app.task(results.find(({ status }) => status === 202)!)).entitiesAffected[0].extId}`
  const other = await made(app, exporters, exporterBody('other', { collectorPort: 4740 }))
  const { data, etag } = await app.call('GET', other)
  const refused = await app.call('PUT', other, { body: { ...data, collectorPort: 4739 }, ifMatch: etag! })
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'ENTITY_ALREADY_EXISTS'])
  await removed(app, path)
  await changed(app, other, { collectorPort: 4739 })
  await removed(app, other)
})

test('a creation fails and leaves nothing when a host does not answer', async () => {
  const host = (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${seedId('vm/web-01')}`)).data.host.extId
  const before = (await app.call('GET', exporters)).total
  await happen(app, { type: 'HOST_AGENT_FALLS_SILENT', host })
  const started = await create(exporterBody('unreachable'))
  await app.clock.advance(600_000)
  const task = await app.task(started)
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /does not answer/)
  await happen(app, { type: 'HOST_AGENT_ANSWERS', host })
  assert.equal((await app.call('GET', exporters)).total, before)
  assert.ok(
    [...exporterFacts(app.world).all().values()].every(({ collector: { address } }) => address !== '192.0.2.10'),
  )
})

test('there are at most eight exporters', async () => {
  const paths: string[] = []
  for (let port = 5000; (await app.call('GET', exporters)).total! < 8; port++)
    paths.push(await made(app, exporters, exporterBody(`many-${port}`, { collectorPort: port })))
  const refused = await create(exporterBody('ninth', { collectorPort: 6000 }))
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [422, 'LIMIT_EXCEEDED'])
  for (const path of paths) await removed(app, path)
})

test('the exporter of the demo covers all clusters, and loses a cluster that is unregistered', async () => {
  const demo = (await app.call('GET', `${exporters}/${seedId('ipfix-exporter/flows')}`)).data
  assert.deepEqual([demo.name, demo.exportScopes[0].scopeType], ['flows', 'PC'])
  const cloud = seedId('cluster/cloud-1')
  const both = await made(app, exporters, exporterBody('both', { exportScopes: [clusterScope(), clusterScope(cloud)] }))
  const only = await made(
    app,
    exporters,
    exporterBody('only', { collectorPort: 4750, exportScopes: [clusterScope(cloud)] }),
  )
  const task = await app.task(await unregister(app, { extId: cloud }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  await app.clock.advance(5000)
  const scopesOf = async (path: string) =>
    ((await app.call('GET', path)).data.exportScopes ?? []).map(({ uuid }: any) => uuid)
  assert.deepEqual(await scopesOf(both), [ids.native])
  assert.deepEqual(await scopesOf(only), [])
  assert.deepEqual(exporterFacts(app.world).get(only.slice(-36))!.hosts, [])
  await removed(app, both)
  await removed(app, only)
})

test('a jump of the clock does not flood the collector', async () => {
  await minutes(1)
  const path = await made(app, exporters, exporterBody('far', here()))
  const began = Date.now()
  const messages = await received(() => app.clock.advance(6 * 3_600_000))
  const batches = new Set(messages.map(({ exportTime }) => exportTime)).size
  const realSeconds = Math.ceil((Date.now() - began) / 1000) + 1
  assert.ok(batches > 0 && batches <= 30 * realSeconds, `${batches} batches in ${realSeconds} s`)
  assert.equal(Math.max(...messages.map(({ exportTime }) => exportTime)) * 1000 <= app.clock.now(), true)
  await removed(app, path)
})
