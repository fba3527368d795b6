/** Several processes on one data folder. Source: behaviour networking.md 5 (2); decision standbys-forward-connections. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { get } from 'node:http'
import { Agent, request } from 'node:https'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { ApiRefusal, type Client, type ClientOptions, createClient, createControlClient } from '@hyperplane/client'
import { newFolder, start } from '../support/service-process.ts'

const standbyLine = /^Standby of the process that holds \S+: (https?:\/\/\S+\/api)$/
const password = 'Correct-horse-1'
const folder = newFolder()
const launched = {
  argv: ['--standby', '--seed', 'tiny', '--rate-limits', 'off'],
  env: { HYPERPLANE_ADMIN_PASSWORD: password },
}
const agents: Agent[] = []
after(() => {
  for (const agent of agents) agent.destroy()
})

type Service = Awaited<ReturnType<typeof start>>
let active: Service
let standbys: readonly [Service, Service]
let subnet: { readonly extId: string }
before(async () => {
  active = await start(folder, launched)
  standbys = await Promise.all([start(folder, launched, standbyLine), start(folder, launched, standbyLine)])
  const client = clientOf(active)
  const ipv4 = {
    ipSubnet: { ip: { value: '10.30.0.0' }, prefixLength: 16 },
    defaultGatewayIp: { value: '10.30.0.1' },
    poolList: [{ startIp: { value: '10.30.0.2' }, endIp: { value: '10.30.7.209' } }],
  }
  const started = await client.networking.createSubnet({
    body: { name: 'shared', subnetType: 'VLAN', networkId: 7, ipConfig: [{ ipv4 }] },
  })
  const { entitiesAffected = [] } = await client.completed(started)
  subnet = { extId: entitiesAffected[0]?.extId ?? '' }
})

/** Its connections come from `localAddress`. */
function connectionsTo({ url }: Service, localAddress = '127.0.0.1') {
  const ca = readFileSync(join(folder, 'tls', 'cert.pem'))
  const agent = new Agent({ ca, keepAlive: true, maxSockets: 16, localAddress })
  agents.push(agent)
  const fetch: NonNullable<ClientOptions['fetch']> = (target, { method, headers, body }) =>
    new Promise((resolve, reject) => {
      const sent = request(target, { method, headers, agent }, (answer) => {
        const header = { get: (name: string) => answer.headers[name.toLowerCase()]?.toString() ?? null }
        const read = text(answer)
        read.then(() => resolve({ status: answer.statusCode ?? 0, headers: header, text: () => read }), reject)
      })
      sent.on('error', reject).end(body)
    })
  return { url: new URL(url).origin, username: 'admin', password, fetch, pollMilliseconds: 10 }
}
const clientOf = (service: Service): Client => createClient(connectionsTo(service))

/** A request whose connection breaks is repeated by `later`. @returns the id of the task */
async function reserve(client: Client, requestId: string, later = client, repeats = 3): Promise<string> {
  const body = { reserveType: 'IP_ADDRESS_COUNT', count: 1 } as const
  try {
    const { data } = await client.networking.reserveIpsBySubnetId({ path: subnet, body, requestId })
    return data.extId as string
  } catch (error) {
    if (error instanceof ApiRefusal || repeats === 0) throw error
    return reserve(later, requestId, later, repeats - 1)
  }
}

/** Each of the started tasks reserved one address, and nothing else did. */
async function assertReserved(client: Client, started: readonly string[]): Promise<void> {
  const filter = "operation eq 'kSubnetReserveIp'"
  const pending = `${filter} and status in ('QUEUED','RUNNING')`
  while ((await client.platform.listTasks({ filter: pending })).total !== 0);
  const pages = Array.from({ length: Math.ceil(started.length / 100) }, (_, page) =>
    client.platform.listTasks({ filter, orderby: 'createdTime', limit: 100, page }),
  )
  const answers = await Promise.all(pages)
  const tasks = answers.flatMap(({ data }) => data)
  const addresses = tasks.map(({ status, completionDetails: [result] = [] }) => {
    assert.equal(status, 'SUCCEEDED')
    return JSON.parse(result?.value as string).reserved_ips[0]
  })
  assert.equal(answers[0]?.total, started.length)
  assert.deepEqual(tasks.map(({ extId }) => extId).sort(), started.toSorted())
  assert.equal(new Set(addresses).size, started.length)
  const { data } = await client.networking.getSubnetById({ path: subnet })
  assert.equal(data.ipUsage?.numFreeIPs, 2000 - started.length)
}

const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID())
let first: readonly string[]

test('1,000 parallel reservations over an active process and its standby get 1,000 different addresses', async () => {
  const [direct, forwarded] = [clientOf(active), clientOf(standbys[0])]
  first = await Promise.all(ids(1000).map((id, index) => reserve(index % 2 === 0 ? direct : forwarded, id)))
  await assertReserved(forwarded, first)
})

test('a call over a standby has the address of its client in the journal, and links to the port that was called', async () => {
  const connection = connectionsTo(standbys[0], '127.0.0.5')
  const headers = { authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` }
  const url = `${connection.url}/api/platform/v4.3/config/categories`
  const answer = await connection.fetch(url, { method: 'GET', headers })
  assert.equal(answer.status, 200)
  const { metadata } = JSON.parse(await answer.text())
  assert.ok(metadata.links[0].href.startsWith(url), metadata.links[0].href)
  const calls = await createControlClient(connection).listCalls({ filter: "address eq '127.0.0.5'" })
  assert.deepEqual(
    calls.data.map(({ operation }) => operation),
    ['platform.listCategories'],
  )
})

test('a header of the PROXY protocol is refused as bad input on the ports for clients', async () => {
  for (const { url } of [active, standbys[0]]) {
    const { port, hostname } = new URL(url)
    const client = connect(Number(port), hostname)
    client.write('PROXY TCP4 192.0.2.7 192.0.2.8 1 2\r\nGET /api HTTP/1.1\r\nHost: localhost\r\n\r\n')
    assert.match(await text(client), /^HTTP\/1\.1 400 .*its method is none of HTTP\/1\.1/s)
  }
})

test('only the owner of the data folder can use its socket', () => {
  assert.equal(statSync(join(folder, 'https.sock')).mode & 0o777, 0o600)
})

test('a standby ends on SIGTERM, and the others still serve', async () => {
  const another = await start(folder, launched, standbyLine)
  const client = clientOf(another)
  await client.platform.listCategories()
  assert.equal(await another.end('SIGTERM'), 0)
  await assert.rejects(client.platform.listCategories(), { code: 'ECONNREFUSED' })
  for (const service of [active, ...standbys]) await clientOf(service).platform.listCategories()
})

test('when the active process is killed a standby takes over, and repeated requests reserve nothing twice', async () => {
  const survivors = standbys.map(clientOf)
  const clients = [clientOf(active), ...survivors]
  let answered = 0
  const second = ids(600).map(async (id, index) => {
    const own = survivors[index % 2] as Client
    const task = await reserve(clients[index % 3] as Client, id, own)
    if (++answered === 200) active.end('SIGKILL')
    return { id, task }
  })
  const started = await Promise.all(second)
  for (const client of survivors) await assertReserved(client, [...first, ...started.map(({ task }) => task)])
  const repeated = started
    .slice(0, 50)
    .map(async ({ id, task }) => assert.equal(await reserve(survivors[0]!, id), task))
  await Promise.all(repeated)
})

test('after the other processes were stopped, the last one answers', async () => {
  assert.equal(await standbys[0].end('SIGTERM'), 0)
  await clientOf(standbys[1]).platform.listCategories()
  assert.equal(await standbys[1].end('SIGTERM'), 0)
})

test('with --http, a standby keeps its port when it takes over', async () => {
  const data = newFolder()
  const plain = { ...launched, argv: ['--http', '--standby', '--seed', 'empty'] }
  const first = await start(data, plain)
  const { url, end } = await start(data, plain, standbyLine)
  const refused = async () => {
    const [answer] = await once(get(`${url}/iam/v4.1.b2/authn/users`, { agent: false }), 'response')
    assert.equal(answer.statusCode, 401)
  }
  await refused()
  await first.end('SIGKILL')
  await refused()
  assert.equal(await end('SIGTERM'), 0)
})
