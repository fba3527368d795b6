/** Rsyslog servers and the lines that they get. Source: behaviour clustermgmt.md 1.10, 1.11, 5 (41). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { syslogLines } from '../../../src/core/syslog-counts.ts'
import type { ClusterFact } from '../../../src/drivers/simulated/hardware.ts'
import { advance, clustermgmt, hostId, ids, putFresh, setFault } from '../../support/clustermgmt.ts'
import { driven } from '../../support/driven.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster } from '../../support/native-cluster.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { type Receiver, relpReceiver, tcpReceiver, udpReceiver } from '../../support/syslog-receivers.ts'

let app: TestApp
let slow: TestApp
before(async () => {
  app = await startApp({ config: { allowAddress: ['127.0.0.0/8'] } })
  slow = await startApp({ config: { durations: 'natural' } })
})
afterEach(async () => {
  await noFaults(app)
  await checkInvariants(app)
})
after(async () => {
  await app.close()
  await slow.close()
})

const pathOf = (cluster: string): string => `${clustermgmt}/clusters/${cluster}/rsyslog-servers`
const addressOf = (value: string) => ({ ipv4: { value } })
let names = 0
const bodyOf = (more: object = {}): any => {
  const number = ++names
  return {
    ...{ serverName: `logs-${number}`, ipAddress: addressOf('10.44.9.9'), port: 20_000 + number },
    ...{ networkProtocol: 'UDP', modules: [{ name: 'AUDIT', logSeverityLevel: 'INFO' }] },
    ...more,
  }
}
const post = (cluster: string, body: object, options: CallOptions = {}): Promise<CallResult> =>
  app.call('POST', pathOf(cluster), { body, requestId: randomUUID(), ...options })
async function made(cluster: string, body: object): Promise<string> {
  const task = await app.task(await post(cluster, body))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return `${pathOf(cluster)}/${task.entitiesAffected[0].extId}`
}
const deleted = async (path: string): Promise<any> =>
  app.task(await app.call('DELETE', path, { requestId: randomUUID() }))
const list = async (cluster: string): Promise<any[]> => (await app.call('GET', pathOf(cluster))).data
const settingsOf = (cluster: string, at = app): readonly any[] =>
  at.world.collection<ClusterFact>('hardware.clusters').get(cluster)?.settings.RSYSLOG_SERVER_CONFIG ?? []
const refusal = ({ status, errors }: CallResult): string =>
  `${status} ${errors?.[0]?.errorGroup}: ${errors?.map(({ message }) => message).join(' ')}`

test('a server is stored in the settings of the cluster, changed and removed', async () => {
  const { extId: cluster } = await aNativeCluster(app)
  const body = bodyOf()
  const task = await app.task(await post(cluster, body))
  assert.deepEqual(
    [task.operation, task.entitiesAffected.map(({ rel }: any) => rel)],
    ['Create Rsyslog Server', ['clustermgmt:config:rsyslog-server', 'clustermgmt:config:cluster']],
  )
  const path = `${pathOf(cluster)}/${task.entitiesAffected[0].extId}`
  const { data } = await app.call('GET', path)
  assert.deepEqual([data.serverName, data.modules[0].shouldLogMonitorFiles], [body.serverName, true])
  assert.equal(data.receiver, undefined)
  assert.deepEqual(await list(cluster), [data])
  assert.deepEqual(
    settingsOf(cluster).map(({ serverName, port }) => [serverName, port]),
    [[body.serverName, body.port]],
  )
  const opened = await app.task(await putFresh(app, path, { ...body, port: 601, ipAddress: addressOf('127.0.0.1') }))
  assert.deepEqual([opened.status, opened.warnings], ['SUCCEEDED', undefined])
  assert.equal((await app.call('GET', path)).data.port, 601)
  assert.equal(settingsOf(cluster)[0].port, 601)
  assert.equal((await app.task(await putFresh(app, path, body))).warnings.length, 1)
  const removed = await deleted(path)
  assert.deepEqual([removed.status, removed.warnings], ['SUCCEEDED', undefined])
  assert.equal((await app.call('GET', path)).status, 404)
  assert.deepEqual([await list(cluster), settingsOf(cluster)], [[], []])
})

test('41. a PUT with another serverName is refused', async () => {
  const { extId: cluster } = await aNativeCluster(app)
  const body = bodyOf()
  const path = await made(cluster, body)
  assert.match(refusal(await putFresh(app, path, { ...body, serverName: 'other' })), /^400/)
  assert.equal((await app.call('PUT', path, { body })).status, 428)
})

test('bad bodies name all their faults', async () => {
  const cluster = ids.native
  const modules = ['AUDIT', 'AUDIT'].map((name) => ({ name, logSeverityLevel: 'INFO' }))
  const { status, errors } = await post(cluster, bodyOf({ ipAddress: {}, modules }))
  assert.equal(status, 400)
  assert.deepEqual(
    errors?.map(({ attributePath, argumentsMap }) => attributePath ?? argumentsMap?.['attributePath']),
    ['ipAddress', 'modules[1]'],
  )
  assert.match(refusal(await post(cluster, bodyOf({ port: 0 }))), /^400/)
  assert.match(refusal(await post(cluster, bodyOf({ networkProtocol: 'TLS' }))), /^400/)
  assert.match(refusal(await post(randomUUID(), bodyOf())), /^404/)
})

test('names and receivers are unique within a cluster, also among requests at once, and ten is the limit', async () => {
  const { extId: cluster } = await aNativeCluster(app)
  const body = bodyOf()
  const answers = await Promise.all([post(cluster, body), post(cluster, { ...body, port: 999 })])
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409])
  for (const answer of answers) if (answer.status === 202) await app.task(answer)
  const { port } = (await list(cluster))[0]
  assert.match(refusal(await post(cluster, bodyOf({ port }))), /^409/)
  const path = await made(cluster, bodyOf())
  const { data: other } = await app.call('GET', path)
  assert.match(refusal(await putFresh(app, path, { ...other, port })), /^409/)
  const { extId: elsewhere } = await aNativeCluster(app)
  await made(elsewhere, body)
  for (let count = 3; count <= 10; count++) await made(cluster, bodyOf())
  assert.match(refusal(await post(cluster, bodyOf())), /^422.*at most 10, found 11/)
})

test('a create that waits while others fill the cluster fails at the limit, and a full cluster is still updated', async () => {
  const { extId: cluster } = await aNativeCluster(app)
  for (let count = 1; count <= 8; count++) await made(cluster, bodyOf())
  const full = bodyOf()
  const path = await made(cluster, full)
  const answers = await Promise.all([bodyOf(), bodyOf()].map((body) => post(cluster, body)))
  assert.deepEqual(
    answers.map(({ status }) => status),
    [202, 202],
  )
  const tasks = await Promise.all(answers.map((answer) => app.task(answer)))
  assert.deepEqual(tasks.map(({ status }) => status).sort(), ['FAILED', 'SUCCEEDED'])
  const failed = tasks.find(({ status }) => status === 'FAILED')
  assert.match(failed.errorMessages[0].message, /at most 10, found 11/)
  assert.deepEqual([(await list(cluster)).length, settingsOf(cluster).length], [10, 10])
  assert.equal((await app.task(await putFresh(app, path, { ...full, port: 601 }))).status, 'SUCCEEDED')
})

/** A cluster whose changes take time. */
async function aSlowCluster(...servers: readonly object[]) {
  const { extId: cluster } = await driven(slow, aNativeCluster(slow))
  const send = async (method: string, path: string, more: object = {}): Promise<CallResult> => {
    const { etag } = method === 'PUT' ? await slow.call('GET', path) : {}
    return slow.call(method, path, { requestId: randomUUID(), body: more, ...(etag && { ifMatch: etag }) })
  }
  const results = (answers: readonly CallResult[]): Promise<string[]> =>
    Promise.all(
      answers.map(async (answer) => {
        const { status, errorMessages } = await driven(slow, slow.task(answer))
        return errorMessages === undefined ? status : `${status} ${errorMessages[0].errorGroup}`
      }),
    )
  const paths: string[] = []
  for (const body of servers) {
    const task = await driven(slow, slow.task(await send('POST', pathOf(cluster), body)))
    paths.push(`${pathOf(cluster)}/${task.entitiesAffected[0].extId}`)
  }
  return { cluster, paths, send, results }
}

test('a change that waits for others is judged by the servers that they leave', async () => {
  const [one, two] = [bodyOf(), bodyOf()]
  const { cluster, paths, send, results } = await aSlowCluster(one, two)
  const [path = '', second = ''] = paths
  const answers = [
    await send('PUT', path, { ...one, port: 601 }),
    await send('PUT', second, { ...two, port: 601 }),
    await send('DELETE', path),
    await send('PUT', path, { ...one, port: 602 }),
  ]
  assert.deepEqual(await results(answers), [
    'SUCCEEDED',
    'FAILED ENTITY_ALREADY_EXISTS',
    'SUCCEEDED',
    'FAILED ENTITY_NOT_FOUND',
  ])
  for (const servers of [settingsOf(cluster, slow), (await slow.call('GET', pathOf(cluster))).data])
    assert.deepEqual(
      servers.map(({ serverName, port }: any) => [serverName, port]),
      [[two.serverName, two.port]],
    )
})

test('a queued change does not overwrite a change that was made at the cluster in the meantime', async () => {
  const [one, first, two, three] = [bodyOf(), bodyOf(), bodyOf(), bodyOf()]
  const { cluster, paths, send, results } = await aSlowCluster(one)
  const [path = ''] = paths
  const answers = [
    await send('POST', pathOf(cluster), first),
    await send('POST', pathOf(cluster), two),
    await send('PUT', path, { ...one, port: 601 }),
    await send('DELETE', path),
  ]
  const atCluster = [{ ...two, port: 9 }, three]
  await slow.world.collection<any>('hardware.clusters').put(cluster, { settings: { RSYSLOG_SERVER_CONFIG: atCluster } })
  assert.deepEqual(await results(answers), [
    'SUCCEEDED',
    'FAILED ENTITY_ALREADY_EXISTS',
    'FAILED ENTITY_NOT_FOUND',
    'SUCCEEDED',
  ])
  assert.deepEqual(
    settingsOf(cluster, slow).map(({ serverName, port }) => [serverName, port]),
    [...atCluster, first].map(({ serverName, port }) => [serverName, port]),
  )
})

test('viewers read and may not write; the manager has rsyslog servers too', async () => {
  const viewer = await aUser(app, ['Cluster Viewer'])
  assert.equal((await app.call('GET', pathOf(ids.native), { as: viewer })).status, 200)
  assert.equal((await post(ids.native, bodyOf(), { as: viewer })).status, 403)
  assert.equal((await deleted(await made(ids.manager, bodyOf()))).status, 'SUCCEEDED')
})

test('a cluster that refuses the settings keeps the former ones, and so do the rows', async () => {
  const { extId: cluster } = await aNativeCluster(app)
  const body = bodyOf()
  const path = await made(cluster, body)
  const final = { error: 'CONFLICT', arguments: { fault: 'The cluster refuses.' } }
  await aFault(app, { driverCall: { driver: 'hardware', method: 'writeSettings' } }, final)
  assert.equal((await app.task(await post(cluster, bodyOf()))).status, 'FAILED')
  assert.equal((await app.task(await putFresh(app, path, { ...body, port: 9 }))).status, 'FAILED')
  assert.equal((await deleted(path)).status, 'FAILED')
  assert.deepEqual(
    (await list(cluster)).map(({ port }) => port),
    [body.port],
  )
  assert.deepEqual(
    settingsOf(cluster).map(({ port }) => port),
    [body.port],
  )
  await noFaults(app)
  assert.equal((await deleted(path)).status, 'SUCCEEDED')
  await setFault(app, cluster, { isDown: true })
  assert.match(refusal(await post(cluster, bodyOf())), /^503 CLUSTER_UNREACHABLE/)
})

test('servers that somebody changed at the cluster show at the next look of the monitor', async () => {
  const { extId: cluster } = await aNativeCluster(app)
  const [one, two, three] = [bodyOf(), bodyOf(), bodyOf()]
  for (const body of [one, two]) await made(cluster, body)
  const facts = app.world.collection<any>('hardware.clusters')
  const exchanged = [{ ...one, port: two.port }, { ...two, port: one.port }, three]
  await facts.put(cluster, { settings: { RSYSLOG_SERVER_CONFIG: exchanged } })
  await advance(app, 31)
  const shown = async (): Promise<any[]> => (await list(cluster)).map(({ serverName, port }) => [serverName, port])
  assert.deepEqual(
    await shown(),
    exchanged.map(({ serverName, port }) => [serverName, port]),
  )
  await facts.put(cluster, { settings: {} })
  await advance(app, 31)
  assert.deepEqual(await shown(), [])
})

test('servers of a profile are those of its clusters, and a change of one of them is drift', async () => {
  const { extId: cluster } = await aNativeCluster(app)
  const server = bodyOf()
  const profiles = `${clustermgmt}/cluster-profiles`
  const created = await app.task(
    await app.call('POST', profiles, {
      body: { name: `with-${server.serverName}`, rsyslogServerList: [server] },
      requestId: randomUUID(),
    }),
  )
  const profile = `${profiles}/${created.entitiesAffected[0].extId}`
  const apply = await app.call('POST', `${profile}/$actions/apply`, {
    body: { clusters: [{ uuid: cluster }] },
    requestId: randomUUID(),
  })
  assert.equal((await app.task(apply)).status, 'SUCCEEDED')
  const [row] = await list(cluster)
  assert.deepEqual([row.serverName, row.port], [server.serverName, server.port])
  const compliance = async (): Promise<any> => (await app.call('GET', profile)).data.clusters[0]
  assert.equal((await compliance()).isCompliant, true)
  const path = `${pathOf(cluster)}/${row.extId}`
  assert.equal((await app.task(await putFresh(app, path, { ...server, port: 1514 }))).status, 'SUCCEEDED')
  const { isCompliant, configDrifts } = await compliance()
  assert.deepEqual([isCompliant, configDrifts], [false, ['RSYSLOG_SERVER_CONFIG']])
  assert.equal((await app.task(await putFresh(app, path, server))).status, 'SUCCEEDED')
  assert.equal((await compliance()).isCompliant, true)
})

/** A server of the cluster that sends to this receiver. */
const sendingTo = (
  { port }: Receiver,
  cluster: string,
  networkProtocol: string,
  ...modules: readonly [name: string, logSeverityLevel: string, shouldLogMonitorFiles?: boolean][]
): Promise<string> =>
  made(
    cluster,
    bodyOf({
      ...{ ipAddress: addressOf('127.0.0.1'), port, networkProtocol },
      modules: modules.map(([name, logSeverityLevel, shouldLogMonitorFiles = true]) => ({
        ...{ name, logSeverityLevel, shouldLogMonitorFiles },
      })),
    }),
  )
const anOperation = async (cluster: string, at: TestApp = app): Promise<string> => {
  const name = `container-${randomUUID().slice(0, 8)}`
  const answer = await at.call('POST', `${clustermgmt}/storage-containers`, {
    body: { name },
    clusterId: cluster,
    requestId: randomUUID(),
  })
  await at.task(answer)
  return answer.data.extId
}

for (const [protocol, receiverOf] of [
  ['UDP', udpReceiver],
  ['TCP', tcpReceiver],
  ['RELP', relpReceiver],
] as const)
  test(`over ${protocol}, a cluster sends its audit records and tasks, and those of no other cluster`, async () => {
    const receiver = await receiverOf()
    const path = await sendingTo(receiver, ids.native, protocol, ['AUDIT', 'INFO'], ['GENESIS', 'INFO'])
    await anOperation(ids.extern)
    const task = await anOperation(ids.native)
    const started = await receiver.received(new RegExp(`GENESIS.*${task}.*started`))
    const ended = await receiver.received(new RegExp(`GENESIS.*${task}.*succeeded`))
    const audit = await receiver.received(new RegExp(`AUDIT.*${task}`))
    assert.match(audit, /^<110>1 \S+Z hp-native-01 AUDIT - createStorageContainer \[hyperplane@32473 .*\] admin called/)
    assert.match(ended, /^<134>1 /)
    const order = [audit, started, ended].map((message) => receiver.messages.indexOf(message))
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    )
    assert.equal(receiver.messages.filter((message) => message.includes(' createStorageContainer ')).length, 1)
    await deleted(path)
    await receiver.close()
  })

test('severities and modules choose the lines: refusals are warnings of API_AUDIT only', async () => {
  const receiver = await tcpReceiver()
  const path = await sendingTo(receiver, ids.manager, 'TCP', ['API_AUDIT', 'WARNING'], ['AUDIT', 'ERROR'])
  await anOperation(ids.native)
  assert.equal((await post(ids.native, bodyOf({ port: 0 }))).status, 400)
  const refused = await receiver.received(/API_AUDIT/)
  assert.match(refused, /^<108>1 .* API_AUDIT - createRsyslogServer .*: 400/)
  assert.deepEqual(receiver.messages, [refused])
  await deleted(path)
  await receiver.close()
})

test('an alert of the cluster is a line of its monitors, which a module may leave out', async () => {
  const [with_, without] = [await tcpReceiver(), await tcpReceiver()]
  const paths = [
    await sendingTo(with_, ids.cloud, 'TCP', ['GENESIS', 'CRITICAL']),
    await sendingTo(without, ids.cloud, 'TCP', ['GENESIS', 'DEBUG', false]),
  ]
  const host = hostId('hp-c01-a')
  await setFault(app, host, { isDown: true, since: app.clock.now() })
  await advance(app, 1)
  assert.match(await with_.received(/HOST_FAILED/), /^<130>1 .* cloud-1 GENESIS .*The host hp-c01-a does not answer/)
  await setFault(app, host)
  await advance(app, 1)
  await anOperation(ids.cloud)
  await without.received(/createStorageContainer|Create/)
  assert.ok(without.messages.every((message) => !message.includes('HOST_FAILED')))
  for (const path of paths) await deleted(path)
  for (const receiver of [with_, without]) await receiver.close()
})

test('an unreachable receiver delays no other, and gets queued lines once and in order when it is back', async () => {
  const receiver = await relpReceiver()
  const path = await sendingTo(receiver, ids.native, 'RELP', ['AUDIT', 'INFO'])
  const first = await anOperation(ids.native)
  await receiver.received(new RegExp(first))
  await receiver.close()
  const meanwhile = [await anOperation(ids.native), await anOperation(ids.native)]
  await receiver.open()
  const last = await anOperation(ids.native)
  await receiver.received(new RegExp(last))
  const tasks = receiver.messages.flatMap((message) => /task="([^"]+)"/.exec(message)?.[1] ?? [])
  assert.deepEqual(
    [first, ...meanwhile, last].map((task) => tasks.filter((one) => one === task).length),
    [1, 1, 1, 1],
  )
  const positions = [first, ...meanwhile, last].map((task) => tasks.indexOf(task))
  assert.deepEqual(
    positions,
    positions.toSorted((a, b) => a - b),
  )
  await deleted(path)
  await receiver.close()
})

test('over RELP, a line whose acknowledgement was lost is sent again', async () => {
  const losing = new Set<string>()
  const receiver = await relpReceiver((message) => {
    if (losing.has(message)) return true
    losing.add(message)
    return false
  })
  const path = await sendingTo(receiver, ids.native, 'RELP', ['AUDIT', 'INFO'])
  const task = await anOperation(ids.native)
  await receiver.received(new RegExp(task))
  const end = performance.now() + 10_000
  const copies = (): number => receiver.messages.filter((message) => message.includes(task)).length
  while (copies() < 2 && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal(copies(), 2)
  await deleted(path)
  await receiver.close()
})

test('an address that --allow-address does not open gets nothing, and creation and update say so', async () => {
  const closed = await startApp()
  const [udp, tcp] = [await udpReceiver(), await tcpReceiver()]
  try {
    for (const [networkProtocol, { port }] of [
      ['UDP', udp],
      ['TCP', tcp],
    ] as const) {
      const body = bodyOf({ ipAddress: addressOf('127.0.0.1'), port, networkProtocol })
      const answer = await closed.call('POST', pathOf(ids.native), { body, requestId: randomUUID() })
      const task = await closed.task(answer)
      assert.equal(task.status, 'SUCCEEDED')
      const path = `${pathOf(ids.native)}/${task.entitiesAffected[0].extId}`
      for (const { warnings } of [task, await closed.task(await putFresh(closed, path, body))])
        assert.match(warnings?.[0].message, /No line is sent to 127\.0\.0\.1 now: .*--allow-address/)
    }
    await anOperation(ids.native, closed)
    await new Promise((resolve) => setTimeout(resolve, 200))
    assert.deepEqual([udp.messages, tcp.messages], [[], []])
  } finally {
    await closed.close()
    for (const receiver of [udp, tcp]) await receiver.close()
  }
})

test('the metrics count sent and lost lines, and the receiver learns how many it missed', async () => {
  const receiver = await tcpReceiver()
  const path = await sendingTo(receiver, ids.native, 'TCP', ['LCM', 'INFO'], ['AUDIT', 'INFO'])
  const line = (number: number) => ({
    ...({ module: 'LCM', severity: 'INFO', time: app.clock.now(), id: 'test', text: `line ${number}.` } as const),
  })
  app.world.log.write(ids.native, line(0))
  await receiver.received(/line 0\./)
  const before = { ...syslogLines }
  await receiver.close()
  await new Promise((resolve) => setTimeout(resolve, 50))
  for (let number = 1; number <= 1200; number++) app.world.log.write(ids.native, line(number))
  assert.equal(syslogLines.lost - before.lost, 200)
  await receiver.open()
  await receiver.received(/line 1200\./)
  const arrived = receiver.messages.slice(1).map((message) => /(\d+ lines were lost|line \d+)/.exec(message)?.[1])
  assert.deepEqual(arrived.slice(0, 2), ['200 lines were lost', 'line 201'])
  assert.equal(arrived.length, 1001)
  assert.equal(syslogLines.sent - before.sent, 1001)
  await deleted(path)
  await receiver.close()
})
