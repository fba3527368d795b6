/** Subnets that move to the advanced stack. Source: behaviour networking.md 1.4, 5 (45). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { Task } from '@hyperplane/contract/platform/task'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { fabricFacts } from '../../../src/drivers/simulated/network-fabric.ts'
import { portFacts } from '../../../src/drivers/simulated/port-stacks.ts'
import { hostId, ids, setFault } from '../../support/clustermgmt.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, bootDisk, booted, type NativeCluster, nicOn, readVm } from '../../support/native-cluster.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import { aSubnet, demoSubnet, recount } from '../../support/subnets.ts'
import { put } from '../../support/vpcs.ts'

const cluster = { extId: ids.native, imageExtId: seedId('image/ubuntu-24.04.qcow2') } as NativeCluster
let app: TestApp
const steps = new Steps()
let release = (): void => undefined
let vlan = 3700
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
})
afterEach(async () => {
  steps.failing = undefined
  release()
  for (const letter of ['a', 'b', 'c', 'd']) await setFault(app, hostId(`hp-n01-${letter}`))
  await recount(app)
  await checkInvariants(app)
})
after(() => app.close())

const idOf = (path: string): string => path.slice(-36)
const migrate = (...paths: string[]): Promise<CallResult> =>
  app.call('POST', '/networking/v4.3/config/$actions/migrate-subnets', {
    body: { subnets: paths.map((path) => ({ subnetUuid: idOf(path) })) },
  })
const basic = (name: string): Promise<string> => {
  const third = ++vlan - 3700
  const ranges = { ipv4: `10.64.${third}.0/24`, pools: [[`10.64.${third}.10`, `10.64.${third}.90`]] }
  return aSubnet(app, ranges as never, { clusterReference: ids.native, networkId: vlan, name })
}
const aGuest = async (subnet: string): Promise<any> => {
  const { extId } = await aVm(app, cluster, {
    name: `on ${subnet.slice(-4)}`,
    disks: [bootDisk(cluster)],
    nics: [nicOn(idOf(subnet)), nicOn(idOf(subnet))],
  })
  await booted(app, extId)
  return readVm(app, extId)
}
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const shown = async (path: string): Promise<unknown[]> => {
  const { isAdvancedNetworking, migrationState } = await read(path)
  return [isAdvancedNetworking, migrationState]
}
const isAdvanced = (path: string): boolean => fabricFacts(app.world).subnets.get(idOf(path))?.isAdvanced === true
const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.errorGroup]

test('a subnet moves to the advanced stack with its vNICs, which keep MAC and addresses', async () => {
  const subnet = await basic('moves')
  const before = await aGuest(subnet)
  const { ipUsage, extId } = await read(subnet)
  const task = await app.task(await migrate(subnet))
  assert.deepEqual([task.operation, task.status], ['kSubnetsMigrate', 'SUCCEEDED'])
  assert.deepEqual(
    task.entitiesAffected.map(({ extId: id, rel }: any) => [id, rel]),
    [[extId, 'networking:config:subnet']],
  )
  assert.deepEqual(await shown(subnet), [true, 'COMPLETED'])
  assert.equal(isAdvanced(subnet), true)
  assert.deepEqual([...portFacts(app.world).all()], [])
  assert.deepEqual((await readVm(app, before.extId)).nics, before.nics)
  assert.deepEqual((await read(subnet)).ipUsage, ipUsage)
  assert.deepEqual(refusal(await migrate(subnet)), [409, 'CONFLICT'])
})

test('a vNIC that fails to move keeps its subnet in the basic stack, and the migration of the other subnet continues', async () => {
  const [good, bad] = [await basic('good'), await basic('bad')]
  const near = await aGuest(good)
  let far = await aGuest(bad)
  while (far.host.extId === near.host.extId) far = await aGuest(bad)
  await setFault(app, far.host.extId, { isAgentSilent: true })
  const task = await app.task(await migrate(good, bad))
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /stack: bad\./)
  assert.deepEqual(await shown(bad), [undefined, 'FAILED'])
  assert.deepEqual(await shown(good), [true, 'COMPLETED'])
  assert.deepEqual([isAdvanced(bad), isAdvanced(good)], [false, true])
  assert.deepEqual([...portFacts(app.world).all()], [])
  for (const guest of [near, far]) assert.deepEqual((await readVm(app, guest.extId)).nics, guest.nics)
  await setFault(app, far.host.extId)
  assert.equal((await app.task(await migrate(bad))).status, 'SUCCEEDED')
  assert.deepEqual(await shown(bad), [true, 'COMPLETED'])
})

test('a failure after the vNICs have moved moves them back', async () => {
  const subnet = await basic('late')
  await aGuest(subnet)
  steps.failing = 'networking.migrate-subnet switch stack'
  const started = await migrate(subnet)
  assert.equal((await app.task(started)).status, 'FAILED')
  assert.deepEqual([...portFacts(app.world).all()], [])
  assert.deepEqual([isAdvanced(subnet), await shown(subnet)], [false, [undefined, 'FAILED']])
})

test('a failed migration leaves nothing of a vNIC that was deleted after it had moved', async () => {
  const subnet = await basic('deleted')
  await aGuest(subnet)
  release = steps.hold('networking.migrate-subnet move vNICs')
  const started = await migrate(subnet)
  while ((await read(subnet)).migrationState === undefined) await new Promise((resolve) => setTimeout(resolve, 10))
  const gone = { nicExtId: randomUUID(), subnetExtId: idOf(subnet), isAdvanced: true }
  await app.drivers.networkFabric.movePort(gone)
  const match = { driverCall: { driver: 'networkFabric', method: 'movePort' } }
  await aFault(app, match, { error: 'INTERNAL_ERROR' }, { nth: 1 })
  release()
  assert.equal((await app.task(started)).status, 'FAILED')
  await noFaults(app)
  assert.deepEqual([...portFacts(app.world).all()], [])
})

test('no more than four subnets migrate at once', async () => {
  const paths: string[] = []
  for (let index = 0; index < 6; index++) paths.push(await basic(`many ${index}`))
  release = steps.hold('networking.migrate-subnet move vNICs')
  const started = await migrate(...paths)
  await app.store.transaction(async () => undefined)
  for (let tries = 0; tries < 50; tries++) await new Promise((resolve) => setTimeout(resolve, 10))
  const states = await Promise.all(paths.map(async (path) => (await read(path)).migrationState))
  assert.equal(states.filter((state) => state === 'IN_PROGRESS').length, 4)
  assert.equal((await put(app, paths[5]!, { description: 'x' })).status, 409)
  assert.deepEqual(refusal(await migrate(paths[5]!)), [409, 'ENTITY_BUSY'])
  release()
  const task = await app.task(started)
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal(task.subTasks.length, 6)
  for (const path of paths) assert.deepEqual(await shown(path), [true, 'COMPLETED'])
})

test('subnets that cannot migrate are refused before the task', async () => {
  const subnet = await basic('refused')
  assert.equal((await migrate(subnet, subnet)).status, 400)
  const missing = randomUUID()
  const unknown = await migrate(missing)
  assert.deepEqual([unknown.status, unknown.errors[0]?.code], [404, 'NETWORKING-10060'])
  const text = `Failed to migrate subnet of this request as a referenced resource was not found - subnet ${missing} not found`
  assert.equal(unknown.errors[0]?.message, text)
  const overlay = await migrate(demoSubnet('web'))
  assert.deepEqual([...refusal(overlay), overlay.errors[0]?.code], [409, 'CONFLICT', 'NETWORKING-10089'])
  assert.deepEqual(refusal(await migrate(demoSubnet('ext-nat'))), [409, 'CONFLICT'])
  const two = await migrate(demoSubnet('web'), demoSubnet('ext-nat'))
  assert.equal(two.errors.length, 2)
  assert.deepEqual(await shown(subnet), [undefined, undefined])
})

test('a task that fails before its first subtask leaves its subnets free', async () => {
  const subnet = await basic('free')
  steps.failing = 'networking.migrate-subnets migrate subnets'
  const task = await app.task(await migrate(subnet))
  assert.equal(task.status, 'FAILED')
  const { extId } = task
  assert.equal((await app.store.transaction((store) => store.findWhere(Task, { 'parentTask/extId': extId }))).length, 0)
  steps.failing = undefined
  assert.equal((await app.task(await migrate(subnet))).status, 'SUCCEEDED')
})
