/** Registrations, register and unregister. Source: behaviour platform.md 14, statements 19 to 22. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Task } from '@hyperplane/contract/platform/task'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { DriverError } from '../../../src/core/tasks/define-task.ts'
import { RegistrationAttempt } from '../../../src/domains/platform/registration-attempt.ts'
import { remoteSides } from '../../../src/drivers/simulated/remote-managers.ts'
import { demoRemoteLogin, lab } from '../../../src/seeds/demo/registrations.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  forgetStretch,
  managers,
  register,
  registerBody,
  registrations,
  send,
  tagOfManager,
  unregister,
} from '../../support/registering.ts'
import { type CallOptions, startApp, type TestApp } from '../../support/start-app.ts'

const hosts = '/clustermgmt/v4.2/config/hosts'
const vms = '/vmm/v4.2/ahv/config/vms'
const labId = seedId(`cluster/${lab.name}`)
const extern = seedId('cluster/hp-extern-01')

let app: TestApp
before(async () => {
  app = await startApp()
})
after(async () => {
  await checkInvariants(app)
  await app.close()
})

/** Names of all that a list shows. */
const namesIn = async (path: string, name: string): Promise<string[]> =>
  (await app.call('GET', `${path}?$limit=100`)).data.map((entity: any) => entity[name])

async function labIsAbsent(): Promise<void> {
  assert.ok(!(await namesIn(hosts, 'hostName')).includes('hp-l03-a'))
  assert.ok(!(await namesIn(vms, 'name')).includes('lab-web'))
  assert.ok(!(await app.call('GET', registrations)).data.some((row: any) => row.remoteClusterExtId === labId))
}

test('the demo is registered with three clusters and a manager, all CONNECTED', async () => {
  const { data, total } = await app.call('GET', registrations)
  const shown = data.map((row: any) => [row.remoteClusterDetails.name, row.connectivityStatus])
  assert.deepEqual(shown, [
    ['hp-native-01', 'CONNECTED'],
    ['hp-extern-01', 'CONNECTED'],
    ['cloud-1', 'CONNECTED'],
    ['dr-site', 'CONNECTED'],
  ])
  assert.equal(total, 4)
  const [native] = data
  assert.equal(native.remoteClusterDetails.clusterType, 'AOS')
  assert.equal(native.remoteClusterDetails.externalAddress.ipv4.value, '10.44.1.10')
  assert.equal(native.remoteClusterDetails.nodeIpAddresses.length, 3)
  assert.deepEqual((await app.call('GET', `${registrations}/${native.extId}`)).data, native)
  const filter = encodeURIComponent(`remoteClusterExtId eq '${extern}' and connectivityStatus eq 'CONNECTED'`)
  assert.equal((await app.call('GET', `${registrations}?$filter=${filter}`)).total, 1)
})

test('registering lab-03 adds its hosts and VMs, unregistering removes them with their categories, and registering again restores the same ids', async () => {
  await labIsAbsent()
  const task = await app.task(await register(app, lab.address))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'RegisterAOS')
  assert.deepEqual(
    task.entitiesAffected.map(({ extId, rel }: any) => [extId, rel]),
    [
      [labId, 'clustermgmt:config:cluster'],
      [seedId('manager'), 'platform:management:domain_manager'],
    ],
  )
  assert.deepEqual(
    task.subSteps.map(({ name }: any) => name),
    ['reach the address', 'authenticate', 'precheck', 'exchange trust', 'import inventory', 'done'],
  )
  const found = (await app.call('GET', `${vms}?$filter=startswith(name,'lab-')`)).data
  assert.deepEqual(found.map(({ name }: any) => name).sort(), ['lab-db', 'lab-web'])
  assert.ok((await namesIn(hosts, 'hostName')).includes('hp-l03-a'))
  const [row] = (await app.call('GET', registrations)).data.filter((one: any) => one.remoteClusterExtId === labId)
  assert.equal(row.connectivityStatus, 'PENDING')
  await app.clock.advance(31_000)
  assert.equal((await app.call('GET', `${registrations}/${row.extId}`)).data.connectivityStatus, 'CONNECTED')

  // Another category than those of the demo, so that its count is the lab's alone.
  const category = await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'Lab', value: 'three' } })
  const path = `/clustermgmt/v4.2/config/clusters/${labId}/$actions/associate-categories`
  await app.task(await app.call('POST', path, { body: { categories: [category.data.extId] } }))
  const counts = async () =>
    (await app.call('GET', `/platform/v4.3/config/categories/${category.data.extId}?$expand=associations`)).data
      .associations ?? []
  assert.equal((await counts())[0].count, 1)

  const left = await app.task(await unregister(app, { extId: labId, name: lab.name }))
  assert.equal(left.status, 'SUCCEEDED', JSON.stringify(left.errorMessages))
  assert.equal(left.operation, 'UnregisterAOS')
  assert.deepEqual(
    left.subSteps.map(({ name }: any) => name),
    ['started', 'precheck', 'entities unconfigured', 'trust revoked', 'completed'],
  )
  await labIsAbsent()
  assert.deepEqual(await counts(), [])
  await checkInvariants(app)

  assert.equal((await app.task(await register(app, lab.address))).status, 'SUCCEEDED')
  const again = (await app.call('GET', `${vms}?$filter=startswith(name,'lab-')`)).data
  assert.deepEqual(again.map(({ extId }: any) => extId).sort(), found.map(({ extId }: any) => extId).sort())
  assert.ok((await app.call('GET', `${registrations}/${row.extId}`)).status === 200)
  assert.equal(again.find(({ name }: any) => name === 'lab-web').powerState, 'ON')
  await app.task(await unregister(app, { extId: labId }))
})

test('a VM of the registered lab can be changed, and is unregistered with its changes', async () => {
  await app.task(await register(app, lab.address))
  const path = `${vms}/${seedId('vm/lab-db')}`
  const off = await app.call('POST', `${path}/$actions/power-off`, {
    ifMatch: (await app.call('GET', path)).etag as string,
    requestId: randomUUID(),
  })
  assert.equal((await app.task(off)).status, 'SUCCEEDED')
  await app.task(await unregister(app, { extId: labId }))
  await app.task(await register(app, lab.address))
  assert.equal((await app.call('GET', path)).data.powerState, 'OFF')
  await app.task(await unregister(app, { extId: labId }))
})

test('registering with a wrong password fails the task, adds nothing, and stores the password nowhere', async () => {
  const password = 'Wr0ng.Lab.Passw0rd'
  const task = await app.task(await register(app, lab.address, { password }))
  assert.equal(task.status, 'FAILED')
  assert.deepEqual(
    [task.errorMessages[0].code, task.errorMessages[0].errorGroup],
    ['DM-30005', 'REMOTE_AUTHENTICATION_FAILED'],
  )
  assert.ok(task.errorMessages[0].message.includes(lab.address))
  assert.ok(!JSON.stringify(task).includes(password))
  assert.ok(!task.errorMessages[0].message.includes(demoRemoteLogin.username))
  await labIsAbsent()
  assert.equal((await app.store.find(RegistrationAttempt)).length, 0)
  assert.ok(!readFileSync(join(app.folder, 'world.sqlite')).includes(password))
})

test('credentials are deleted once trust is established: no row holds them, sealed or not', async () => {
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const other = await startApp({
    beforeStep: async (definition, step, phase) => {
      if (definition !== 'platform.register-remote' || step !== 'import inventory' || phase !== 'run') return
      reached.resolve()
      await goOn.promise
    },
  })
  try {
    const started = await register(other, lab.address)
    await reached.promise
    assert.equal((await other.store.find(RegistrationAttempt)).length, 0)
    goOn.resolve()
    assert.equal((await other.task(started)).status, 'SUCCEEDED')
    assert.ok(!readFileSync(join(other.folder, 'world.sqlite')).includes(demoRemoteLogin.password))
  } finally {
    goOn.resolve()
    await other.close()
  }
})

test('registering an address that is being registered is refused as busy, naming the running task', async () => {
  const goOn = Promise.withResolvers<void>()
  const other = await startApp({
    beforeStep: async (_definition, step) => {
      if (step === 'precheck') await goOn.promise
    },
  })
  try {
    const first = await register(other, lab.address)
    const second = await register(other, lab.address)
    assert.equal(second.status, 409)
    assert.equal(second.errors[0]?.errorGroup, 'ENTITY_BUSY')
    assert.equal(second.errors[0]?.argumentsMap?.['taskExtId'], first.data.extId)
    goOn.resolve()
    assert.equal((await other.task(first)).status, 'SUCCEEDED')
    const third = await register(other, lab.address)
    assert.deepEqual([third.status, third.errors[0]?.code], [409, 'DM-30003'])
  } finally {
    goOn.resolve()
    await other.close()
  }
})

test('a problem on the remote side fails the task with its reason, and leaves nothing', async () => {
  const sides = remoteSides(app.world)
  const side = sides.get(labId)!
  const faults = app.world.collection<object>('remotes.faults')
  const wrong: readonly (readonly [string, () => Promise<void>, string, RegExp])[] = [
    ['unreachable', () => faults.put(labId, { isUnreachable: true }), 'DM-30004', /does not answer/],
    ['wrong certificate', () => faults.put(labId, { hasWrongCertificate: true }), 'DM-30006', /certificate/],
    ['too old', () => sides.put(labId, { ...side, version: '7.0' }), 'DM-30006', /version 7\.0/],
    ['another major version', () => sides.put(labId, { ...side, version: '6.8' }), 'DM-30006', /version 6\.8/],
    ['clock ahead', () => sides.put(labId, { ...side, clockSkewSeconds: 30 }), 'DM-30006', /30 s ahead/],
    ['clock behind', () => sides.put(labId, { ...side, clockSkewSeconds: -45 }), 'DM-30006', /45 s behind/],
    [
      'registered elsewhere',
      () => sides.put(labId, { ...side, trusts: [randomUUID()] }),
      'DM-30006',
      /another manager/,
    ],
  ]
  for (const [what, make, code, text] of wrong) {
    await make()
    const task = await app.task(await register(app, lab.address))
    assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', code], what)
    assert.match(task.errorMessages[0].message, text)
    await faults.remove(labId)
    await sides.put(labId, side)
    await labIsAbsent()
  }
  const manager = await app.task(await register(app, lab.address, { isManager: true }))
  assert.match(manager.errorMessages[0].message, /it is a cluster, where a domain manager was expected/)
})

test('29 s of clock skew and a version two minors apart do not prevent a registration', async () => {
  const sides = remoteSides(app.world)
  const side = sides.get(labId)!
  await sides.put(labId, { ...side, clockSkewSeconds: 29, version: '7.1' })
  const task = await app.task(await register(app, lab.address))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  await app.task(await unregister(app, { extId: labId }))
  await sides.put(labId, side)
})

test('a failure after the trust exchange revokes the trust and leaves nothing of the registration', async () => {
  const other = await startApp({
    beforeStep: (_definition, step, phase) => {
      if (step === 'import inventory' && phase === 'record') throw DriverError.final('no room')
    },
  })
  try {
    const task = await other.task(await register(other, lab.address))
    assert.equal(task.status, 'FAILED')
    assert.deepEqual(remoteSides(other.world).get(labId)?.trusts, [])
    assert.equal((await other.call('GET', registrations)).total, 4)
    await checkInvariants(other)
  } finally {
    await other.close()
  }
})

test('an impossible registration is refused at once', async () => {
  const refused = async (address: object | string, code: string, status: number): Promise<void> => {
    const result = await register(app, address)
    assert.deepEqual([result.status, result.errors[0]?.code], [status, code], JSON.stringify(address))
  }
  await refused('10.44.1.9', 'PLAT-10008', 400)
  await refused('127.0.0.1', 'PLAT-10008', 400)
  await refused('169.254.169.254', 'PLAT-10008', 400)
  await refused({ ipv6: { value: '::1' } }, 'PLAT-10008', 400)
  await refused({}, 'PLAT-10008', 400)
  await refused('10.44.1.10', 'DM-30003', 409)
  const reference = (extId: string) => send(app, 'register', { remoteCluster: { extId } })
  assert.equal((await reference(seedId('manager'))).status, 400)
  assert.equal((await reference(extern)).errors[0]?.code, 'DM-30003')
  assert.equal((await reference(randomUUID())).status, 404)
  const body = registerBody(lab.address) as any
  delete body.remoteCluster.remoteCluster.credentials
  assert.equal((await send(app, 'register', body)).status, 400)
})

test('a registration refuses an API key as password, unless the other side created it for this manager', async () => {
  const refused = await register(app, '10.46.1.77', { isManager: true, password: 'hpk_of.an.operator' })
  assert.deepEqual([refused.status, refused.errors[0]?.code], [400, 'PLAT-10008'])
  assert.ok(!JSON.stringify(refused.errors).includes('hpk_of'))
  const username = `manager-${seedId('manager')}`
  const asked = await register(app, '10.46.1.9', { isManager: true, username, password: 'hpk_made.for.us' })
  assert.deepEqual([asked.status, asked.errors[0]?.code], [409, 'DM-30003'], 'what else stands in the way is looked at')
})

test('register and unregister need the tag of this manager, and its id', async () => {
  const path = `${managers}/${seedId('manager')}/$actions/register`
  const options: CallOptions = { body: registerBody(lab.address), requestId: randomUUID() }
  assert.equal((await app.call('POST', path, options)).status, 428)
  const stale = await tagOfManager(app)
  await app.task(await register(app, lab.address, { password: 'Wr0ng.Lab.Passw0rd' }))
  assert.equal((await app.call('POST', path, { ...options, ifMatch: stale })).status, 412)
  const remote = seedId('manager/dr-site')
  const tag = (await app.call('GET', `/platform/v4.3/config/domain-managers/${remote}`)).etag as string
  const elsewhere = `${managers}/${remote}/$actions/register`
  assert.equal((await app.call('POST', elsewhere, { ...options, ifMatch: tag })).status, 404)
})

test('unregister of the hosting cluster, or of one with a profile, is refused with every reason at once', async () => {
  const native = await unregister(app, { extId: seedId('cluster/hp-native-01') })
  assert.deepEqual([native.status, native.errors[0]?.code], [409, 'DM-30007'])
  assert.match(native.errors[0]!.message, /hosts the manager/)
  assert.match(native.errors[0]!.message, /networks of several clusters: .*web-01/)
  const profiled = await unregister(app, { extId: extern })
  assert.equal(profiled.errors[0]?.code, 'DM-30007')
  assert.match(profiled.errors[0]!.message, /cluster profile "baseline"/)
  assert.equal((await unregister(app, { extId: randomUUID() })).status, 404)
  assert.equal((await unregister(app, { extId: extern, name: 'other' })).status, 400)
})

test('$dryrun of unregister reports the entities that would be removed, and changes nothing', async () => {
  const before = await app.call('GET', `${registrations}`)
  const cloud = seedId('cluster/cloud-1')
  const task = await app.task(await unregister(app, { extId: cloud }, '?$dryrun=true'))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'UnregisterAOS-dryrun')
  const changes = task.completionDetails.find(({ name }: any) => name === 'changes').value.map(({ map }: any) => map)
  const of = (kind: string) => changes.find(({ attribute }: any) => attribute === kind)
  assert.deepEqual([of('Host').from, of('Host').to], ['3', '0'])
  assert.equal(of('AwsSubnet').from, '12')
  assert.deepEqual((await app.call('GET', registrations)).data, before.data)
  const blocked = await app.task(await unregister(app, { extId: extern }, '?$dryrun=true'))
  assert.deepEqual([blocked.status, blocked.errorMessages[0].code], ['FAILED', 'DM-30007'])
})

test('$dryrun of register reports what would be added, keeps no credentials and changes nothing', async () => {
  const task = await app.task(await register(app, lab.address, {}, '?$dryrun=true'))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const changes = task.completionDetails.find(({ name }: any) => name === 'changes').value.map(({ map }: any) => map)
  assert.deepEqual(changes.find(({ attribute }: any) => attribute === 'Vm')?.to, '2')
  await labIsAbsent()
  const stored = (await app.store.get(Task, task.extId)) as any
  assert.deepEqual([stored.runner.input, stored.runner.outputs], [undefined, undefined])
  const blocked = await app.task(await register(app, lab.address, { password: 'Wr0ng.Lab.Passw0rd' }, '?$dryrun=true'))
  assert.equal(blocked.errorMessages[0].code, 'DM-30005')
})

test('a manager at which a layer-2 stretch ends is unregistered only after the stretch is deleted', async () => {
  const remote = seedId('manager/dr-site')
  const refused = await unregister(app, { extId: remote })
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  assert.match(refused.errors[0]!.message, /"dr-site" cannot be unregistered: the layer-2 stretch "web-stretch" ends/)
  const rehearsed = await app.task(await unregister(app, { extId: remote }, '?$dryrun=true'))
  assert.equal(rehearsed.errorMessages[0].code, 'DM-30007')
  await forgetStretch(app)
  const plan = await app.task(await unregister(app, { extId: remote }, '?$dryrun=true'))
  assert.equal(plan.status, 'SUCCEEDED')
})

test('dr-site can be unregistered and registered again as a manager', async () => {
  const remote = seedId('manager/dr-site')
  const left = await app.task(await unregister(app, { extId: remote }))
  assert.deepEqual([left.status, left.operation], ['SUCCEEDED', 'UnregisterPC'])
  assert.equal((await app.call('GET', `/platform/v4.3/config/domain-managers/${remote}`)).status, 404)
  const task = await app.task(await register(app, '10.46.1.9', { isManager: true }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'RegisterPC')
  assert.equal(task.entitiesAffected[0].rel, 'platform:management:domain_manager')
  const shown = await app.call('GET', `/platform/v4.3/config/domain-managers/${remote}`)
  assert.equal(shown.data.config.name, 'dr-site')
})

test('the account of a registered manager may only read this manager and unregister itself', async () => {
  const remote = seedId('manager/dr-site')
  const users = (await app.call('GET', `/iam/v4.1.b2/authn/users?$filter=username eq 'manager-${remote}'`)).data
  const key = await app.call('POST', `/iam/v4.1.b2/authn/users/${users[0].extId}/keys`, {
    body: { name: 'stolen', keyType: 'API_KEY' },
  })
  const { apiKey } = key.data.keyDetails
  const asManager = (method: string, path: string, more: CallOptions = {}) =>
    app.call(method, path, { ...more, apiKey })
  assert.equal((await asManager('GET', `/platform/v4.3/config/domain-managers/${seedId('manager')}`)).status, 200)
  for (const path of [registrations, vms, '/iam/v4.1.b2/authn/users'])
    assert.equal((await asManager('GET', path)).status, 403, path)
  const leave = async (extId: string) =>
    asManager('POST', `${managers}/${seedId('manager')}/$actions/unregister`, {
      body: { extId },
      ifMatch: await tagOfManager(app),
      requestId: randomUUID(),
    })
  assert.equal((await leave(seedId('cluster/cloud-1'))).status, 403)
  const left = await leave(remote)
  assert.equal(left.status, 202, JSON.stringify(left.errors))
  assert.equal((await app.task(left)).status, 'SUCCEEDED')
  assert.equal((await leave(remote)).status, 401, 'the key went with the registration')
})

test('a cluster with external VMs and datastores returns complete when it is registered again, and never by itself', async () => {
  const other = await startApp()
  try {
    const externVms = '/vmm/v4.2/extern/config/vms'
    const datastores = '/clustermgmt/v4.2/config/storage-containers/datastores'
    const shown = async () => {
      const lists = [externVms, `/clustermgmt/v4.2/config/clusters/${extern}/hosts`]
      const answers = await Promise.all(lists.map((path) => other.call('GET', path)))
      return answers.map(({ data }) => data?.map(({ extId }: any) => extId).sort())
    }
    const before = await shown()
    assert.ok(before[0].length > 0)
    const profile = seedId('cluster-profile/baseline')
    const leave = `/clustermgmt/v4.2/config/cluster-profiles/${profile}/$actions/disassociate-cluster`
    const body = { clusters: [{ uuid: extern }] }
    assert.equal(
      (await other.task(await other.call('POST', leave, { body, requestId: randomUUID() }))).status,
      'SUCCEEDED',
    )
    const left = await other.task(await unregister(other, { extId: extern }))
    assert.equal(left.status, 'SUCCEEDED', JSON.stringify(left.errorMessages))
    // Polls of the hypervisor's management go on.
    for (let polls = 0; polls < 3; polls++) await other.clock.advance(30_000)
    assert.deepEqual((await other.call('GET', externVms)).data, [])
    assert.equal((await other.call('GET', datastores, { clusterId: extern })).data?.length ?? 0, 0)
    await checkInvariants(other)
    const back = await other.task(await register(other, '10.44.2.10'))
    assert.equal(back.status, 'SUCCEEDED', JSON.stringify(back.errorMessages))
    assert.deepEqual(await shown(), before)
    await checkInvariants(other)
  } finally {
    await other.close()
  }
})
