/** Maintenance of hosts of ESX clusters. Source: behaviour clustermgmt.md 1.4. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import type { OutsideVmFact } from '../../../src/drivers/simulated/external-facts.ts'
import { vcenterLogin } from '../../../src/seeds/demo/vcenters.ts'
import { advance, clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { aFault, noFaults, readFault } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { GiB } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
afterEach(async () => {
  await noFaults(app)
  await checkInvariants(app)
})
after(() => app.close())

const host = hostId('hp-e01-a')
const vcenter = (login: object = {}, address = '10.44.2.5') => ({
  vcenterInfo: { address: { ipv4: { value: address } }, credentials: { ...vcenterLogin, ...login } },
})
const ask = (what: 'enter' | 'exit', body: object): Promise<CallResult> =>
  app.call(
    'POST',
    `/clustermgmt/v4.2/operations/clusters/${ids.extern}/hosts/${host}/$actions/${what}-host-maintenance`,
    { body, requestId: randomUUID() },
  )
const done = async (what: 'enter' | 'exit', body: object = {}): Promise<any> =>
  app.task(await ask(what, { ...vcenter(), ...body }))
const stateOf = async (): Promise<string> =>
  (await app.call('GET', `${clustermgmt}/clusters/${ids.extern}/hosts/${host}`)).data.maintenanceState
const facts = () => app.world.collection<OutsideVmFact>('extern.vms')
const running = (): string[] =>
  [...facts().all()].flatMap(([extId, { vm }]) => (vm.powerState === 'ON' && vm.host?.extId === host ? extId : []))
const hostOf = (vm: string): string | undefined => facts().get(vm)?.vm.host?.extId
const changed = (extId: string, change: Partial<OutsideVmFact['vm']>): Promise<void> => {
  const fact = facts().get(extId) as OutsideVmFact
  return facts().put(extId, { ...fact, vm: { ...fact.vm, ...change } })
}
/** Like the smallest VM on the host, with another size. */
async function anotherVm(name: string, GiBs: number): Promise<string> {
  const [first] = running()
  const { vm, ...fact } = facts().get(first as string) as OutsideVmFact
  const extId = randomUUID()
  await facts().put(extId, { ...fact, vm: { ...vm, extId, name, host: { extId: host }, memorySizeBytes: GiBs * GiB } })
  return extId
}
async function removed(...vms: readonly string[]): Promise<void> {
  for (const vm of vms) await facts().remove(vm)
  await advance(app, 1)
}
const final = { error: 'CONFLICT', arguments: { fault: 'The VM did not move.' } }
const failingMove = (nth: number): Promise<unknown> =>
  aFault(app, { driverCall: { driver: 'externalHypervisor', method: 'moveVm' } }, final, { nth })

test('the vCenter must be named, answer at its address, and accept the credentials', async () => {
  assert.match(JSON.stringify((await ask('enter', {})).errors), /vcenterInfo.*is required for hosts of ESX clusters/)
  const refused = await ask('enter', vcenter({ password: 'Wrong.1' }))
  assert.deepEqual([refused.status, JSON.stringify(refused).includes('Wrong.1')], [400, false])
  assert.match(JSON.stringify(refused.errors), /which refuses these/)
  assert.equal((await ask('enter', vcenter({ username: 'admin' }))).status, 400)
  for (const elsewhere of [vcenter({}, '10.44.2.6'), vcenter({ port: 8443 })])
    assert.match(JSON.stringify((await ask('enter', elsewhere)).errors), /does not answer at vcenterInfo/)
  assert.equal(await stateOf(), 'normal')
})

test('a request that is refused without the vCenter, or is repeated, does not sign in to the vCenter', async () => {
  const match = { driverCall: { driver: 'externalHypervisor', method: 'signIn' } }
  const signIns = await aFault(app, match, { delay: { fixed: 'PT0S' } }, { untilRemoved: true })
  const count = async (): Promise<number> => (await readFault(app, signIns)).timesFired
  const path = (cluster: string): string =>
    `/clustermgmt/v4.2/operations/clusters/${cluster}/hosts/${host}/$actions/enter-host-maintenance`
  const as = await aUser(app, ['Cluster Admin'], { host: { uuid: { eq: hostId('hp-n01-a') } } })
  const unseen = await app.call('POST', path(ids.extern), { body: vcenter(), requestId: randomUUID(), as })
  const elsewhere = await app.call('POST', path(ids.native), { body: vcenter(), requestId: randomUUID() })
  const incomplete = await ask('enter', vcenter({ password: undefined }))
  assert.deepEqual([unseen.status, elsewhere.status, incomplete.status, await count()], [404, 404, 400, 0])
  const requestId = randomUUID()
  const enter = () => app.call('POST', path(ids.extern), { body: vcenter(), requestId })
  const entered = await enter()
  await app.task(entered)
  assert.equal(await count(), 1)
  assert.deepEqual([(await enter()).data, await count()], [entered.data, 1])
  assert.equal((await done('exit')).status, 'SUCCEEDED')
})

test('the management moves running VMs to other hosts, and back afterwards', async () => {
  const vms = running()
  assert.ok(vms.length > 0)
  const entered = await done('enter')
  assert.equal(entered.status, 'SUCCEEDED', JSON.stringify(entered.errorMessages))
  assert.ok(!JSON.stringify(entered).includes(vcenterLogin.password))
  assert.equal(await stateOf(), 'in_maintenance')
  const details = new Map(entered.completionDetails.map(({ name, value }: any) => [name, value]))
  assert.deepEqual(new Set(details.get('vmExtIds') as string[]), new Set(vms))
  for (const vm of vms) assert.notEqual(hostOf(vm), host)
  await advance(app, 1)
  for (const vm of vms) {
    const { data } = await app.call('GET', `/vmm/v4.2/extern/config/vms/${vm}`)
    assert.deepEqual([data.powerState, data.host.extId], ['ON', hostOf(vm)])
  }
  const exited = await done('exit')
  assert.deepEqual([exited.status, exited.warnings], ['SUCCEEDED', undefined])
  assert.deepEqual(running().sort(), vms.sort())
  assert.equal(await stateOf(), 'normal')
})

test('a request to shut down VMs that cannot migrate is ignored with a warning, and nothing else is', async () => {
  const entered = await done('enter', { shouldShutdownNonMigratableUvms: true })
  assert.deepEqual(
    [entered.status, entered.warnings.map(({ message }: any) => message)],
    ['SUCCEEDED', ['shouldShutdownNonMigratableUvms was ignored: it is for native clusters only.']],
  )
  await done('exit')
  assert.equal((await done('enter')).warnings, undefined)
  await done('exit')
})

test('when a VM fails to move, those that moved before come back', async () => {
  const [first] = running()
  const second = await anotherVm('second', 64)
  await advance(app, 1)
  await failingMove(2)
  assert.equal((await done('enter')).status, 'FAILED')
  assert.equal(await stateOf(), 'normal')
  for (const each of [first as string, second]) assert.equal(hostOf(each), host)

  await noFaults(app)
  await changed(second, { memorySizeBytes: 4000 * GiB })
  await advance(app, 1)
  const full = await done('enter')
  assert.equal(full.errorMessages[0].code, 'VMM-40001')
  assert.match(full.errorMessages[0].message, /no host has room/)
  assert.equal(await stateOf(), 'normal')
  await removed(second)
})

/** Enters maintenance, which fails at the second VM; `act` runs once the first one is elsewhere. */
async function rolledBack(act: (first: string) => Promise<unknown>): Promise<{ first: string; second: string }> {
  const [first = ''] = running()
  const second = await anotherVm('second', 64)
  await failingMove(2)
  const acting = Promise.withResolvers<unknown>()
  const endWatch = app.world.watch(['extern.vms'], () => {
    if (hostOf(first) === host) return
    endWatch()
    act(first).then(acting.resolve, acting.reject)
  })
  assert.equal((await done('enter')).status, 'FAILED')
  await acting.promise
  assert.deepEqual([hostOf(second), await stateOf()], [host, 'normal'])
  return { first, second }
}

test('a rollback leaves a VM where its owner has migrated it', async () => {
  let plan: string | undefined
  const { first, second } = await rolledBack((vm) => {
    plan = hostOf(vm)
    const elsewhere = ['hp-e01-b', 'hp-e01-c'].map(hostId).find((one) => one !== plan) as string
    return changed(vm, { host: { extId: elsewhere } })
  })
  assert.ok(![host, plan].includes(hostOf(first)))
  await changed(first, { host: { extId: host } })
  await removed(second)
})

test('a rollback moves no VM back that its owner has stopped', async () => {
  const { first, second } = await rolledBack((vm) => changed(vm, { powerState: 'OFF' }))
  assert.notEqual(hostOf(first), host)
  await changed(first, { powerState: 'ON', host: { extId: host } })
  await removed(second)
})

test('a rollback leaves VMs elsewhere when the host has become full', async () => {
  let third = ''
  const { first, second } = await rolledBack(async () => (third = await anotherVm('third', 4000)))
  assert.notEqual(hostOf(first), host)
  await changed(first, { host: { extId: host } })
  await removed(second, third)
})

test('without a rollback the host stays closed, and a later rollback returns what the first attempt moved', async () => {
  const vms = running()
  const [first = ''] = vms
  await failingMove(1)
  assert.equal((await done('enter', { shouldRollbackOnFailure: false })).status, 'FAILED')
  assert.equal(await stateOf(), 'entering_maintenance')
  await noFaults(app)
  const large = await anotherVm('large', 300)
  await failingMove(2)
  assert.equal((await done('enter', { shouldRollbackOnFailure: false })).status, 'FAILED')
  assert.notEqual(hostOf(first), host)
  await noFaults(app)
  await failingMove(1)
  assert.equal((await done('enter')).status, 'FAILED')
  assert.deepEqual([hostOf(first), await stateOf()], [host, 'normal'])
  await noFaults(app)
  await removed(large)
  assert.equal((await done('enter')).status, 'SUCCEEDED')
  assert.equal((await done('exit')).status, 'SUCCEEDED')
  assert.deepEqual(running().sort(), vms.sort())
})

test('a management that is lost after the sign-in ends the task, and keeps no host from leaving maintenance', async () => {
  const faults = app.world.collection<object>('extern.faults')
  await faults.put(ids.extern, { isAway: true, isUnnoticed: true })
  assert.equal((await done('enter')).status, 'FAILED')
  assert.equal(await stateOf(), 'normal')
  await faults.remove(ids.extern)
  assert.equal((await done('enter')).status, 'SUCCEEDED')
  await faults.put(ids.extern, { isAway: true, isUnnoticed: true })
  const exited = await done('exit')
  assert.equal(exited.status, 'SUCCEEDED')
  assert.match(JSON.stringify(exited.warnings), /stay where they are: the vCenter does not answer/)
  await faults.remove(ids.extern)
  assert.equal(await stateOf(), 'normal')
})

test('a vCenter without a declared login accepts every one, and one whose password changed refuses the old one', async () => {
  const vcenters = app.world.collection<object>('extern.vcenters')
  const declared = vcenters.get(ids.extern) as object
  await vcenters.remove(ids.extern)
  const anyone = vcenter({ username: 'anyone', password: 'Any.1' }, '10.44.2.6')
  for (const what of ['enter', 'exit'] as const) assert.equal((await done(what, anyone)).status, 'SUCCEEDED')
  await vcenters.put(ids.extern, declared)
  await happen(app, { type: 'EXTERNAL_MANAGEMENT_CHANGES_PASSWORD', cluster: 'hp-extern-01' })
  assert.match(JSON.stringify((await ask('enter', vcenter())).errors), /which refuses these/)
  assert.equal(await stateOf(), 'normal')
})
