/**
 * Two running Hyperplanes register each other over their real interface.
 * Source: behaviour platform.md 4, 6, 12 (faults).
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { makeServerCertificate } from '../support/server-certificate.ts'
import { adminPassword, beginning, startApp, type TestApp } from '../support/start-app.ts'
import {
  clientOf,
  configOf,
  ended,
  freePort,
  hosts,
  idle,
  ownOf,
  Peers,
  register,
  tracesOf,
  unregister,
} from './peers.ts'

const nothing = { registered: [], managers: [], accounts: [] }

let parent: string
let peers: Peers
before(async () => {
  parent = mkdtempSync(join(tmpdir(), 'hyperplane-peers-'))
  peers = new Peers(parent, await freePort())
  await peers.seed()
})
afterEach(() => peers.endAll())
after(async () => {
  await peers.close()
  rmSync(parent, { recursive: true, force: true })
})

/** Nothing of a registration is left on either side. */
async function bothAreClean(...sides: readonly { client: ReturnType<typeof clientOf> }[]): Promise<void> {
  for (const { client } of sides) {
    await idle(client)
    assert.deepEqual(await tracesOf(client), nothing)
  }
}

test('a manager registers another running one: each shows the other, and the credentials are on no disk', async () => {
  const [near, far] = await Promise.all([peers.start('near'), peers.start('far')])
  const [nearOwn, farOwn] = [await ownOf(near.client), await ownOf(far.client)]
  const task = await ended(near.client, await register(near.client, hosts.far))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'RegisterPC')
  assert.deepEqual(
    task.entitiesAffected.map(({ extId }: any) => extId),
    [farOwn.extId, nearOwn.extId],
  )
  await idle(far.client)
  const expected = (own: { name: string; extId: string }) => ({
    registered: [own.name],
    managers: [own.name],
    accounts: [`manager-${own.extId}`],
  })
  assert.deepEqual(await tracesOf(near.client), expected(farOwn))
  assert.deepEqual(await tracesOf(far.client), expected(nearOwn))

  await unregister(near.client, farOwn.extId)
  await bothAreClean(near, far)
  const again = await ended(near.client, await register(near.client, hosts.far))
  assert.equal(again.status, 'SUCCEEDED', JSON.stringify(again.errorMessages))
  // The other side may leave as well.
  await idle(far.client)
  await unregister(far.client, nearOwn.extId)
  await idle(far.client)
  await bothAreClean(far, near)
  for (const { folder } of [near, far])
    for (const file of ['world.sqlite', 'world.sqlite-wal'])
      assert.ok(!contentOf(join(folder, file)).includes(adminPassword), file)
})

const contentOf = (file: string): Buffer => {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}

test('two concurrent mutual registrations end: both sides are registered, or neither', async () => {
  const [near, far] = await Promise.all([peers.start('near'), peers.start('far')])
  const [nearOwn, farOwn] = [await ownOf(near.client), await ownOf(far.client)]
  await Promise.all([
    register(near.client, hosts.far).then((task) => ended(near.client, task)),
    register(far.client, hosts.near).then((task) => ended(far.client, task)),
  ])
  await Promise.all([idle(near.client), idle(far.client)])
  const traces = [await tracesOf(near.client), await tracesOf(far.client)]
  const of = ({ name, extId }: { name: string; extId: string }) => ({
    registered: [name],
    managers: [name],
    accounts: [`manager-${extId}`],
  })
  assert.deepEqual(traces, traces[0]?.registered.length === 0 ? [nothing, nothing] : [of(farOwn), of(nearOwn)])
})

test('a wrong password fails the registration and leaves nothing on either side', async () => {
  const [near, far] = await Promise.all([peers.start('near'), peers.start('far')])
  const task = await ended(near.client, await register(near.client, hosts.far, { password: 'Wr0ng.Passw0rd.Far' }))
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30005'])
  assert.ok(!JSON.stringify(task).includes('Wr0ng.Passw0rd.Far'))
  await bothAreClean(near, far)
})

test('a certificate for another name is refused before any credential is sent', async () => {
  const { cert, key } = makeServerCertificate(['other.example'])
  const [tlsCert, tlsKey] = [join(parent, 'other.pem'), join(parent, 'other-key.pem')]
  writeFileSync(tlsCert, cert)
  writeFileSync(tlsKey, key)
  const [near, far] = await Promise.all([peers.start('near'), peers.start('far', { config: { tlsCert, tlsKey } })])
  const task = await ended(near.client, await register(near.client, hosts.far))
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30006'])
  assert.match(task.errorMessages[0].message, /for another name/)
  assert.deepEqual(task.subSteps ?? [], [], 'it came no further than the first step')
  await bothAreClean(near, far)
})

test('another major version, a different clock and an equal seed are reported together', async () => {
  const near = await peers.start('near')
  const far = await peers.start('far', { version: '1.4.0', startAt: beginning + 45_000 })
  const task = await ended(near.client, await register(near.client, hosts.far))
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30006'])
  assert.match(task.errorMessages[0].message, /version 1\.4\.0/)
  assert.match(task.errorMessages[0].message, /45 s ahead/)
  await bothAreClean(near, far)
  await far.end()
  const twin = await peers.start('far', { folder: peers.folder('near') })
  const itself = await ended(near.client, await register(near.client, hosts.far))
  assert.match(itself.errorMessages[0].message, /made from the same seed/)
  await bothAreClean(near, twin)
})

test('an unused address, and a service that is not a manager, fail the registration', async () => {
  const near = await peers.start('near')
  const task = await ended(near.client, await register(near.client, hosts.far))
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30004'])
  await bothAreClean(near)
})

test('a manager that cannot be called back is not registered', async () => {
  const near = await peers.start('near')
  const far = await peers.start('far', { config: { allowAddress: [] } })
  const task = await ended(near.client, await register(near.client, hosts.far))
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'DM-30006'])
  assert.match(task.errorMessages[0].message, /loopback/)
  await bothAreClean(near, far)
})

/** The near side in this process, where its time can be moved. */
async function withNear(work: (app: TestApp) => Promise<void>): Promise<void> {
  const app = await startApp({ folder: peers.folder('near'), config: configOf('near', peers.port) })
  try {
    await app.listen()
    await work(app)
  } finally {
    await app.close()
  }
}
const near = (): ReturnType<typeof clientOf> => clientOf(hosts.near, peers.port)

async function registrationOf(extId: string): Promise<any> {
  const own = await ownOf(near())
  const path = { domainManagerExtId: own.extId }
  const rows = (await near().platform.listRegistrations({ path })).data
  return rows.find(({ remoteClusterExtId }) => remoteClusterExtId === extId)
}
/** Probes run until the registration has this state; each waits for a real answer. */
async function until(app: TestApp, extId: string, status: string): Promise<any> {
  for (let probes = 0; probes < 20; probes++) {
    const row = await registrationOf(extId)
    if (row?.connectivityStatus === status) return row
    await app.clock.advance(30_000)
    await app.store.transaction(async () => undefined)
  }
  assert.fail(`it did not become ${status}`)
}
const causeIn = (row: any): string =>
  row.metadata.attributes.find(({ name }: any) => name === 'disconnectedBecause')?.value ?? ''

test('a changed certificate, no answer and revoked trust make a registration DISCONNECTED, each with its cause', () =>
  withNear(async (app) => {
    let far = await peers.start('far')
    const { folder } = far
    const farOwn = await ownOf(far.client)
    assert.equal((await ended(near(), await register(near(), hosts.far))).status, 'SUCCEEDED')
    assert.equal((await registrationOf(farOwn.extId)).connectivityStatus, 'PENDING')
    await until(app, farOwn.extId, 'CONNECTED')

    await far.end()
    assert.match(causeIn(await until(app, farOwn.extId, 'DISCONNECTED')), /no answer/)
    const { cert, key } = makeServerCertificate([hosts.far])
    const [tlsCert, tlsKey] = [join(parent, 'new.pem'), join(parent, 'new-key.pem')]
    writeFileSync(tlsCert, cert)
    writeFileSync(tlsKey, key)
    far = await peers.start('far', { folder, config: { tlsCert, tlsKey } })
    for (let probe = 0; probe < 4; probe++) await app.clock.advance(30_000)
    await untilCause(app, farOwn.extId, /another certificate than the trusted one/)
    await far.end()
    far = await peers.start('far', { folder })
    await until(app, farOwn.extId, 'CONNECTED')

    // The far side leaves while this one cannot be told.
    await app.store.transaction(async () => undefined)
    await far.end()
    far = await peers.start('far', { folder, config: { allowAddress: [] } })
    await unregister(far.client, (await ownOf(near())).extId)
    await idle(far.client)
    await untilCause(app, farOwn.extId, /does not trust this manager any more/)
    const left = await ended(near(), await unregister(near(), farOwn.extId))
    assert.equal(left.status, 'SUCCEEDED', JSON.stringify(left.errorMessages))
    await bothAreClean({ client: near() }, far)
  }))

async function untilCause(app: TestApp, extId: string, cause: RegExp): Promise<void> {
  for (let probes = 0; probes < 20; probes++) {
    const row = await registrationOf(extId)
    if (row.connectivityStatus === 'DISCONNECTED' && cause.test(causeIn(row))) return
    await app.clock.advance(30_000)
    await app.store.transaction(async () => undefined)
  }
  assert.fail(`the cause did not become ${cause}: ${causeIn(await registrationOf(extId))}`)
}
