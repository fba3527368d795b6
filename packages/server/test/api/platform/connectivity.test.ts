/** Clusters that do not answer. Source: behaviour platform.md 6, 14 (statement 22); clustermgmt.md 1.2. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { happen } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { forgetStretch, register, registrations, unregister } from '../../support/registering.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

const extern = seedId('cluster/hp-extern-01')
const containers = '/clustermgmt/v4.2/config/storage-containers'

let app: TestApp
let atStep: (step: string, phase: string) => Promise<void>
before(async () => {
  app = await startApp({ beforeStep: async (_definition, step, phase) => atStep(step, phase) })
})
beforeEach(() => {
  atStep = async () => undefined
})
after(() => app.close())

const cutOff = (cluster: string) => happen(app, { type: 'CLUSTER_CUT_OFF', cluster })
const heal = (cluster: string) => happen(app, { type: 'CLUSTER_RETURNS', cluster })
const stateOf = async (remoteExtId: string): Promise<any> =>
  (await app.call('GET', registrations)).data.find((row: any) => row.remoteClusterExtId === remoteExtId)
const newContainer = (name: string): Promise<CallResult> =>
  app.call('POST', containers, { body: { name }, clusterId: extern, requestId: randomUUID() })
/** Minutes of server time pass, probe by probe. */
async function pass(seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left -= 30) {
    await app.clock.advance(30_000)
    // What a timer began may still be on its way to the store.
    await app.store.transaction(async () => undefined)
    await new Promise(setImmediate)
  }
}

test('an unreachable cluster is DISCONNECTED within two minutes: mutations are 503, reads succeed; reachable again, it is CONNECTED', async () => {
  await cutOff(extern)
  await pass(30)
  assert.equal((await stateOf(extern)).connectivityStatus, 'CONNECTED', 'one miss is not enough')
  await pass(90)
  const row = await stateOf(extern)
  assert.equal(row.connectivityStatus, 'DISCONNECTED')
  assert.match(row.metadata.attributes.find(({ name }: any) => name === 'disconnectedBecause').value, /no answer/)
  const refused = await newContainer('late')
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [503, 'CLUSTER_UNREACHABLE'])
  assert.equal(refused.headers['Retry-After'], '5')
  assert.equal((await app.call('GET', `/clustermgmt/v4.2/config/clusters/${extern}`)).status, 200)
  assert.equal((await unregister(app, { extId: seedId('cluster/cloud-1') })).status, 202, 'others are not concerned')

  await heal(extern)
  const still = await newContainer('early')
  assert.deepEqual(
    [still.status, still.errors[0]?.errorGroup],
    [503, 'CLUSTER_UNREACHABLE'],
    'until a probe has seen it',
  )
  await pass(30)
  const healed = await stateOf(extern)
  assert.equal(healed.connectivityStatus, 'CONNECTED')
  assert.deepEqual(
    healed.metadata.attributes.map(({ name }: any) => name),
    ['certificateSha256'],
  )
  assert.equal((await app.task(await newContainer('again'))).status, 'SUCCEEDED')
  await app.runner.idle()
  assert.deepEqual(
    (await app.call('GET', `${containers}?$limit=100`)).data.filter(({ name }: any) =>
      ['late', 'early'].includes(name),
    ),
    [],
  )
})

test('a task that loses its cluster while it runs ends FAILED with BACKEND_TIMEOUT and leaves nothing', async () => {
  let isCut = false
  atStep = async (step, phase) => {
    if (step !== 'apply to the cluster' || phase !== 'run' || isCut) return
    isCut = true
    await cutOff(extern)
  }
  const task = await app.task(await newContainer('lost'))
  assert.ok(isCut)
  assert.deepEqual([task.status, task.errorMessages[0].errorGroup], ['FAILED', 'BACKEND_TIMEOUT'])
  await heal(extern)
  await app.runner.idle()
  assert.ok(!(await app.call('GET', `${containers}?$limit=100`)).data.some(({ name }: any) => name === 'lost'))
  await checkInvariants(app)
})

test('a manager that shows another certificate is DISCONNECTED, with the cause', async () => {
  const remote = seedId('manager/dr-site')
  await happen(app, { type: 'REMOTE_CERTIFICATE_CHANGES', remote })
  await pass(120)
  const row = await stateOf(remote)
  assert.equal(row.connectivityStatus, 'DISCONNECTED')
  assert.match(row.metadata.attributes.find(({ name }: any) => name === 'disconnectedBecause').value, /certificate/)
  await happen(app, { type: 'REMOTE_CERTIFICATE_RESTORED', remote })
  await pass(30)
  assert.equal((await stateOf(remote)).connectivityStatus, 'CONNECTED')
})

test('a cluster that does not answer cannot be unregistered; a manager can, with a warning', async () => {
  const lab = seedId('cluster/lab-03')
  assert.equal((await app.task(await register(app, '10.44.5.10'))).status, 'SUCCEEDED')
  await cutOff(lab)
  const refused = await unregister(app, { extId: lab })
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [503, 'CLUSTER_UNREACHABLE'])
  await heal(lab)
  assert.equal((await app.task(await unregister(app, { extId: lab }))).status, 'SUCCEEDED')
  const remote = seedId('manager/dr-site')
  await forgetStretch(app)
  await happen(app, { type: 'REMOTE_CUT_OFF', remote })
  const task = await app.task(await unregister(app, { extId: remote }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.match(task.warnings[0].message, /could not be notified/)
})

test('probes do not raise the version of a registration', async () => {
  const { extId } = await stateOf(seedId('cluster/hp-native-01'))
  const { etag } = await app.call('GET', `${registrations}/${extId}`)
  await cutOff(seedId('cluster/hp-native-01'))
  await pass(120)
  assert.equal((await app.call('GET', `${registrations}/${extId}`)).etag, etag)
  await heal(seedId('cluster/hp-native-01'))
})
