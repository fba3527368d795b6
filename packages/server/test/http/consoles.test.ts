/** Consoles of VMs over WebSocket. Source: behaviour vmm.md 1.1, 3.8 (console refused). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import WebSocket from 'ws'
import { seedId } from '../../src/core/ids/named-id.ts'
import { type Clock, realClock } from '../../src/core/time/clock.ts'
import type { SecretReader } from '../../src/core/world.ts'
import { Consoles } from '../../src/domains/vmm/vm/console.ts'
import { ConsoleToken } from '../../src/domains/vmm/vm/console-token.ts'
import { consoleLimits } from '../../src/http/consoles.ts'
import { aRobot, grant } from '../api/iam/people.ts'
import { aFault, noFaults, unavailable } from '../support/faults.ts'
import { http } from '../support/http.ts'
import { aUser } from '../support/identities.ts'
import { aNativeCluster, aVm, bootDisk, changed, type NativeCluster } from '../support/native-cluster.ts'
import { sealerFor } from '../support/sealer.ts'
import { type CallOptions, startApp, type TestApp } from '../support/start-app.ts'
import { aWorld, inside } from '../support/worlds.ts'

const vms = '/vmm/v4.2/ahv/config/vms'

let app: TestApp
let url: string
let cluster: NativeCluster
let watched: string

/** Checks of open consoles; the tests run them instead of waiting. */
const checks = new Set<() => void>()
const clockOfChecks: Clock = {
  ...realClock,
  setTimer(milliseconds, work) {
    if (milliseconds !== consoleLimits.checkMillis) return realClock.setTimer(milliseconds, work)
    checks.add(work)
    return () => void checks.delete(work)
  },
}
function check(): void {
  const due = [...checks]
  checks.clear()
  for (const work of due) work()
}

before(async () => {
  app = await startApp({ config: { seed: 'empty' }, realClock: clockOfChecks, logLevel: 'silent' })
  url = (await app.listen()).url
  cluster = await aNativeCluster(app)
  watched = await running()
})
after(() => app.close())

async function running(on = app, at = cluster): Promise<string> {
  const { extId } = await aVm(on, at, { name: 'shown', disks: [bootDisk(at)] })
  assert.equal((await changed(on, extId, 'power-on')).status, 'SUCCEEDED')
  return extId
}
async function tokenOf(vm: string, on = app, options: CallOptions = {}): Promise<{ token: string; path: string }> {
  const started = await on.call('POST', `${vms}/${vm}/$actions/generate-console-token`, options)
  await on.runner.untilEnded(started.data.extId)
  const { completionDetails } = (await on.call('GET', `/platform/v4.3/config/tasks/${started.data.extId}`, options))
    .data
  const named = (wanted: string) => completionDetails.find(({ name }: any) => name === wanted).value
  return { token: named('VmConsoleToken'), path: named('WsUri') }
}

interface Opened {
  readonly socket: WebSocket
  /** The next screen that the service shows. */
  readonly screen: () => Promise<string>
  readonly closed: Promise<{ code: number; reason: string }>
}
function connect(path: string, options: WebSocket.ClientOptions = {}, at = url): Opened {
  const socket = new WebSocket(`${at.replace('http', 'ws')}${path}`, { handshakeTimeout: 5000, ...options })
  const waiting: string[] = []
  let heard: ((text: string) => void) | undefined
  socket.on('message', (data) => {
    const text = String(data)
    if (heard === undefined) waiting.push(text)
    else heard(text)
    heard = undefined
  })
  const closed = once(socket, 'close').then(([code, reason]) => ({ code, reason: String(reason) }))
  closed.catch(() => undefined)
  return {
    socket,
    closed,
    screen: () => {
      const [first] = waiting.splice(0, 1)
      return first === undefined ? new Promise((resolve) => (heard = resolve)) : Promise.resolve(first)
    },
  }
}
async function opened(vm = watched, on = app, options: WebSocket.ClientOptions = {}, at = url): Promise<Opened> {
  const { token, path } = await tokenOf(vm, on)
  const client = connect(`${path}?token=${token}`, options, at)
  await once(client.socket, 'open')
  return client
}
/** @returns status and code of the refusal */
async function refused(path: string, options: WebSocket.ClientOptions = {}): Promise<unknown[]> {
  const { socket } = connect(path, options)
  socket.on('error', () => undefined)
  const [, answer] = await once(socket, 'unexpected-response')
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  const { data } = JSON.parse(Buffer.concat(chunks).toString())
  return [answer.statusCode, data.error[0].code]
}
const wrongToken = [401, 'PLAT-10401']

test('a token opens the console once, and the boot log is shown', async () => {
  const { token, path } = await tokenOf(watched)
  const client = connect(`${path}?token=${token}`)
  assert.match(await client.screen(), /^Firmware: \d+ vCPUs, \d+ MiB of memory/)
  assert.deepEqual(await refused(`${path}?token=${token}`), wrongToken)
  client.socket.close()
  assert.equal((await client.closed).code, 1005)
})

test('the screen follows the boot to the login prompt', async () => {
  const vm = await running()
  const client = await opened(vm)
  const first = await client.screen()
  await app.clock.advance(600_000)
  let screen = first
  while (!screen.endsWith('login:')) screen = await client.screen()
  assert.ok(screen.startsWith(first), screen)
  assert.match(screen, /Kernel: .* starts\n/)
  client.socket.terminate()
})

test('a guest without a bootable device says so', async () => {
  const { extId } = await aVm(app, cluster)
  assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
  await app.clock.advance(60_000)
  const client = await opened(extId)
  assert.match(await client.screen(), /no bootable device$/)
  client.socket.terminate()
})

test('a text message shows the screen again', async () => {
  const client = await opened()
  const screen = await client.screen()
  client.socket.send('again')
  assert.equal(await client.screen(), screen)
  client.socket.terminate()
})

test('wrong, missing and expired tokens and those of other VMs are refused alike, and leave no console open', async () => {
  const { token, path } = await tokenOf(watched)
  const other = await running()
  for (const target of [
    path,
    `${path}?token=`,
    `${path}?token=wrong`,
    `${path}?token=${token}x`,
    `/console/vms/${other}?token=${token}`,
    `/console/vms/${randomUUID()}?token=${token}`,
  ])
    assert.deepEqual(await refused(target), wrongToken, target)
  await app.clock.advance(5 * 60_000)
  assert.deepEqual(await refused(`${path}?token=${token}`), wrongToken)
})

test('a page of another origin and a request without a valid handshake are refused, and the token stays', async () => {
  const { token, path } = await tokenOf(watched)
  const target = `${path}?token=${token}`
  assert.deepEqual(await refused(target, { origin: 'https://other.example' }), [403, 'PLAT-10403'])
  const { status, json } = await http(url, target, { headers: { connection: 'Upgrade', upgrade: 'websocket' } })
  assert.deepEqual([status, json.data.error[0].code], [400, 'PLAT-10003'])
  const client = connect(target, { origin: url })
  await client.screen()
  client.socket.terminate()
})

test('requests for other protocols and other paths are answered as usual', async () => {
  const upgrade = { connection: 'Upgrade', upgrade: 'h2c' }
  assert.equal((await http(url, `/api${vms}`, { headers: upgrade })).status, 200)
  const websocket = { connection: 'Upgrade', upgrade: 'websocket' }
  assert.equal((await http(url, `/api${vms}`, { headers: websocket })).status, 200)
  assert.equal((await http(url, '/console/vms/none', { headers: websocket })).status, 404)
})

for (const [event, action, reason] of [
  ['stopped', 'power-off', 'the VM is OFF'],
  ['deleted', 'delete', 'the VM was deleted'],
] as const)
  test(`the console of a VM that is ${event} ends`, async () => {
    const vm = await running()
    const client = await opened(vm)
    await changed(app, vm, action)
    const { code, reason: found } = await client.closed
    // A deleted VM is switched off first.
    assert.ok(code === 1000 && [reason, 'the VM is OFF'].includes(found), `${code} ${found}`)
  })

test('a host that refuses the console answers 503, and the token opens it afterwards', async () => {
  const { token, path } = await tokenOf(watched)
  const driverCall = { driver: 'hypervisor', method: 'openConsole' }
  await aFault(app, { driverCall }, unavailable)
  try {
    assert.deepEqual(await refused(`${path}?token=${token}`), [503, 'PLAT-10503'])
  } finally {
    await noFaults(app)
  }
  const client = connect(`${path}?token=${token}`)
  await client.screen()
  client.socket.terminate()
})

test('a message that is too long, or not text, ends the console with the code of RFC 6455', async () => {
  const long = await opened()
  long.socket.send('x'.repeat(consoleLimits.messageBytes + 1))
  assert.equal((await long.closed).code, 1009)
  const binary = await opened()
  binary.socket.send(Buffer.from([1, 2]))
  assert.equal((await binary.closed).code, 1003)
})

test('a console that nobody uses ends, and so does that of a client that does not answer pings', async () => {
  const idle = await opened()
  for (let checked = 0; checked < consoleLimits.idleChecks; checked++) {
    const ponged = once(idle.socket, 'ping')
    check()
    await ponged
    // Answered in order: the pong was read before.
    idle.socket.ping()
    await once(idle.socket, 'pong')
  }
  check()
  assert.deepEqual(await idle.closed, { code: 1000, reason: 'the console was idle' })
  const deaf = await opened(watched, app, { autoPong: false } as WebSocket.ClientOptions)
  check()
  check()
  assert.equal((await deaf.closed).code, 1006)
})

test('a console over TLS ends with the service', async () => {
  const own = await startApp({ config: { seed: 'empty', http: false } })
  const at = (await own.listen()).url
  const vm = await running(own, await aNativeCluster(own))
  const client = await opened(vm, own, { rejectUnauthorized: false }, at)
  await client.screen()
  await own.close()
  assert.equal((await client.closed).code, 1001)
})

test('a token opens consoles of its own world only; its removal ends them; unknown worlds look like wrong tokens', async () => {
  await aWorld(app, 'watched', { preset: 'demo' })
  const world = inside(app, 'watched')
  const runner = (await app.worlds.get('watched')?.instance())?.runner
  world.task = async ({ data }: any) => {
    await runner?.untilEnded(data.extId)
    return (await world.call('GET', `/platform/v4.3/config/tasks/${data.extId}`)).data
  }
  const { token, path } = await tokenOf(seedId('vm/web-01'), world)
  const headers = { 'X-World': 'watched' }
  assert.deepEqual(await refused(`${path}?token=${token}`), wrongToken)
  assert.deepEqual(await refused(`${path}?token=${token}`, { headers: { 'X-World': 'nowhere' } }), wrongToken)
  const client = connect(`${path}?token=${token}`, { headers })
  await client.screen()
  assert.ok((await app.call('DELETE', '/control/v1/worlds/watched')).status < 300)
  assert.equal((await client.closed).code, 1001)
})

const users = '/iam/v4.1.b2/authn/users'
const policies = '/iam/v4.1.b2/authz/authorization-policies'
/** Changes an entity with its own tag. */
async function change(method: 'DELETE' | 'POST', path: string, action = '', body?: object): Promise<void> {
  const { etag = '' } = await app.call('GET', path)
  const { status, errors } = await app.call(method, `${path}${action}`, { ...(body && { body }), ifMatch: etag })
  assert.ok(status < 300, JSON.stringify(errors))
}
const idOf = async (user: string): Promise<string> =>
  (await app.call('GET', `${users}?$filter=username eq '${user.split(':')[0]}'`)).data[0].extId
async function takePolicy(user: string): Promise<void> {
  const [{ extId }] = (await app.call('GET', `${policies}?$filter=contains(displayName,'${user.split(':')[0]}')`)).data
  await change('DELETE', `${policies}/${extId}`)
}
const deactivate = async (user: string): Promise<void> =>
  change('POST', `${users}/${await idOf(user)}`, '/$actions/change-state', { status: 'INACTIVE' })
const resetPassword = async (user: string): Promise<void> =>
  change('POST', `${users}/${await idOf(user)}`, '/$actions/reset-password', { newPassword: 'An.0ther.Passw0rd!' })

interface Operator {
  readonly options: CallOptions
  readonly loses: () => Promise<unknown>
}
const person = (loses: (user: string) => Promise<void>) => async (): Promise<Operator> => {
  const user = await aUser(app, ['Virtual Machine Operator'])
  return { options: { as: user }, loses: () => loses(user) }
}
/** Its user keeps another key. */
async function withKey(loses: (key: string) => Promise<unknown>): Promise<Operator> {
  const { extId, keyExtId, apiKey } = await aRobot(app)
  await grant(app, 'Virtual Machine Operator', extId)
  const keys = `${users}/${extId}/keys`
  assert.equal((await app.call('POST', keys, { body: { name: 'second', keyType: 'API_KEY' } })).status, 201)
  return { options: { apiKey }, loses: () => loses(`${keys}/${keyExtId}`) }
}

for (const [event, operator] of [
  ['the policy that gave it is deleted', person(takePolicy)],
  ['its user is deactivated', person(deactivate)],
  ['an administrator resets the password of its user', person(resetPassword)],
  ['the API key that asked for it is revoked', () => withKey((key) => change('POST', key, '/$actions/revoke'))],
  ['the API key that asked for it is deleted', () => withKey((key) => change('DELETE', key))],
] as const) {
  test(`a console ends within 5 s when ${event}, and an unused token opens nothing`, async () => {
    const { options, loses } = await operator()
    const [used, unused] = [await tokenOf(watched, app, options), await tokenOf(watched, app, options)]
    const client = connect(`${used.path}?token=${used.token}`)
    await client.screen()
    await app.clock.advance(5000)
    assert.equal(client.socket.readyState, WebSocket.OPEN)
    await loses()
    await app.clock.advance(5000)
    assert.deepEqual(await client.closed, { code: 1008, reason: 'the user may not open this console any more' })
    assert.deepEqual(await refused(`${unused.path}?token=${unused.token}`), wrongToken)
  })
}

test('a console that is being opened while its service stops is refused, and its token stays', async () => {
  const own = await startApp({ config: { seed: 'empty' }, logLevel: 'silent' })
  try {
    const vm = await running(own, await aNativeCluster(own))
    const { token } = await tokenOf(vm, own)
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    const { clock, drivers, store } = own
    const secrets: SecretReader = {
      open: (kind, extId, path, value) =>
        sealerFor(own).open((value as { $sealed: string }).$sealed, `${kind}/${extId}/${path}`),
    }
    const openConsole = async (): Promise<void> => {
      ask()
      await answered
    }
    const hypervisor = { ...drivers.hypervisor, openConsole }
    const consoles = new Consoles({ access: { scope: () => 'all' }, clock, drivers: { hypervisor }, secrets, store })
    const opening = consoles.open(vm, token)
    await asked
    consoles.close()
    answer()
    await assert.rejects(opening, { key: 'SERVICE_UNAVAILABLE' })
    assert.equal(await own.store.count(ConsoleToken), 1)
  } finally {
    await own.close()
  }
})

test('used tokens are removed from the store', async () => {
  const before = await app.store.count(ConsoleToken)
  const client = await opened()
  assert.equal(await app.store.count(ConsoleToken), before)
  client.socket.terminate()
})
