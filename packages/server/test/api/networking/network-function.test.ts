/** Network functions. Source: behaviour networking.md 1.1, 1.15, 1.22, 3.4, 5 (40). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { functionFacts } from '../../../src/drivers/simulated/network-functions.ts'
import { ids } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aVm, booted, change, changed, type NativeCluster, nicOn, readVm, tagOf } from '../../support/native-cluster.ts'
import { anAppliance, functionBody, functionNic, networkFunctions, pairOf } from '../../support/network-functions.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import { made, put, removed } from '../../support/vpcs.ts'
import { aRobot, aRole, grant } from '../iam/people.ts'

let app: TestApp
const steps = new Steps()
let release = (): void => undefined
let count = 0
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
})
afterEach(async () => {
  steps.failing = undefined
  release()
  for (const { extId } of (await app.call('GET', networkFunctions)).data)
    await removed(app, `${networkFunctions}/${extId}`)
  assert.deepEqual([...functionFacts(app.world).functions.all()], [])
  await checkInvariants(app)
})
after(() => app.close())

const appliance = (more: object = {}) => anAppliance(app, `firewall ${++count}`, more)
const runningAppliance = async () => {
  const found = await appliance()
  await booted(app, found.vm)
  return found
}
const create = (body: object): Promise<CallResult> => app.call('POST', networkFunctions, { body })
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const statesOf = async (path: string): Promise<unknown[]> =>
  (await read(path)).nicPairs.map((pair: any) => [pair.highAvailabilityState, pair.dataPlaneHealthStatus])
const forwardingOf = async (path: string) =>
  (await app.drivers.networkFabric.networkFunction(path.slice(-36)))?.forwarding
const pathsOf = ({ status, errors }: CallResult): unknown[] => [
  status,
  ...errors.map((error) => error.argumentsMap?.['attributePath']).sort(),
]
const pass = async (seconds: number): Promise<void> => {
  await app.clock.advance(1000 * seconds)
  await app.clock.settled()
}

test('a function stores its defaults, appears twice in its task and is programmed into the network', async () => {
  const one = await runningAppliance()
  const task = await app.task(await create(functionBody('plain', [one], { failureHandling: 'NO_ACTION' })))
  assert.deepEqual([task.operation, task.status], ['kNetworkFunctionCreate', 'SUCCEEDED'])
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['networking:config:network-function', 'Networking:config:network-function', 'vmm:ahv:config:vm'],
  )
  assert.equal(task.entitiesAffected[0].extId, task.entitiesAffected[1].extId)
  const path = `${networkFunctions}/${task.entitiesAffected[0].extId}`
  const { failureHandling, trafficForwardingMode, dataPlaneHealthCheckConfig: check, nicPairs } = await read(path)
  assert.deepEqual([failureHandling, trafficForwardingMode], ['FAIL_CLOSE', 'INLINE'])
  assert.deepEqual(
    [check.intervalSecs, check.timeoutSecs, check.successThreshold, check.failureThreshold],
    [5, 1, 3, 3],
  )
  assert.deepEqual([nicPairs[0].vmReference, nicPairs[0].isEnabled], [one.vm, true])
  await pass(15)
  assert.deepEqual(await statesOf(path), [['ACTIVE', 'HEALTHY']])
  assert.equal(await forwardingOf(path), 'REDIRECTED')
})

test('unknown NICs fail the task with the stated text, and leave nothing behind', async () => {
  const nicPairs = [{ ingressNicReference: randomUUID(), egressNicReference: randomUUID() }]
  const started = await create(functionBody('unknown', [], { nicPairs }))
  assert.equal(started.status, 202)
  const task = await app.task(started)
  assert.equal(task.status, 'FAILED')
  assert.match(
    task.errorMessages[0].message,
    /^Failed to Create Network Function due to an invalid input parameter - Failed to configure network function/,
  )
  assert.deepEqual((await app.call('GET', networkFunctions)).data, [])
})

test('NICs of the wrong type, of two VMs, of a VM other than the named one, and of another function fail the task', async () => {
  const [one, two] = [await appliance(), await appliance()]
  const plain = await aVm(app, { extId: ids.native } as NativeCluster, {
    name: 'plain',
    nics: [nicOn(seedId('subnet/web'))],
  })
  const failing = async (nicPairs: object[], expected: RegExp): Promise<void> => {
    const task = await app.task(await create(functionBody('unfit', [], { nicPairs })))
    assert.equal(task.status, 'FAILED')
    assert.match(task.errorMessages[0].message, expected)
  }
  await failing([pairOf({ ...one, ingress: plain.nics[0].extId })], /not a NETWORK_FUNCTION_NIC|not found in VM/)
  await failing(
    [pairOf({ ...one, ingress: one.egress, egress: one.ingress })],
    /not a NETWORK_FUNCTION_NIC of type INGRESS/,
  )
  await failing([pairOf({ ...one, egress: two.egress })], /not found in VM/)
  await failing([pairOf(one, { vmReference: two.vm })], /belong to VM/)
  await made(app, networkFunctions, functionBody('first', [one]))
  await failing([pairOf(one)], /belongs to another network function/)
})

test('two pairs in one VM fail the task', async () => {
  const nics = [functionNic('INGRESS'), functionNic('EGRESS'), functionNic('INGRESS'), functionNic('EGRESS')]
  const one = await appliance({ nics })
  const [, , third, fourth] = (await readVm(app, one.vm)).nics
  const twin = { vm: one.vm, ingress: third.extId, egress: fourth.extId }
  const task = await app.task(await create(functionBody('twins', [one, twin])))
  assert.match(task.errorMessages[0].message, /two pairs need two VMs/)
})

test('of two functions that claim one NIC concurrently, one succeeds', async () => {
  const one = await appliance()
  const started = [await create(functionBody('racing', [one])), await create(functionBody('raced', [one]))]
  const ends = await Promise.all(started.map(async (each) => (await app.task(each)).status))
  assert.deepEqual(ends.sort(), ['FAILED', 'SUCCEEDED'])
})

test('faults that follow from the body alone are reported together', async () => {
  const one = await appliance()
  const vtap = functionBody('vtap', [one], {
    trafficForwardingMode: 'VTAP',
    failureHandling: 'FAIL_OPEN',
    dataPlaneHealthCheckConfig: {},
  })
  assert.deepEqual(pathsOf(await create(vtap)), [
    400,
    'dataPlaneHealthCheckConfig',
    'failureHandling',
    'nicPairs[0]/egressNicReference',
  ])
  const single = { nicPairs: [{ ingressNicReference: one.ingress }] }
  assert.deepEqual(pathsOf(await create(functionBody('inline', [], single))), [400, 'nicPairs[0]/egressNicReference'])
  assert.equal((await create(functionBody('twice', [one, one]))).status, 400)
  assert.equal((await create(functionBody('none', []))).status, 400)
  await made(app, networkFunctions, functionBody('taken', [one]))
  assert.equal((await create(functionBody('taken', [await appliance()]))).status, 409)
})

test('a VTAP function has no health, and its first enabled pair is active', async () => {
  const one = await appliance({ nics: [functionNic('TAP'), functionNic('EGRESS')] })
  const nicPairs = [{ ingressNicReference: one.ingress }]
  const path = await made(app, networkFunctions, functionBody('tap', [], { nicPairs, trafficForwardingMode: 'VTAP' }))
  assert.deepEqual(await statesOf(path), [['ACTIVE', undefined]])
  assert.equal((await read(path)).failureHandling, undefined)
})

test('powering off the active VM makes the other pair active, and the roles stay when it is back', async () => {
  const [one, two] = [await runningAppliance(), await runningAppliance()]
  const path = await made(app, networkFunctions, functionBody('pair', [one, two]))
  assert.deepEqual(await statesOf(path), [
    ['ACTIVE', 'UNHEALTHY'],
    ['PASSIVE', 'UNHEALTHY'],
  ])
  assert.equal(await forwardingOf(path), 'DROPPED')
  await pass(15)
  assert.deepEqual(await statesOf(path), [
    ['ACTIVE', 'HEALTHY'],
    ['PASSIVE', 'HEALTHY'],
  ])
  await changed(app, one.vm, 'power-off')
  await pass(14)
  assert.deepEqual(await statesOf(path), [
    ['ACTIVE', 'HEALTHY'],
    ['PASSIVE', 'HEALTHY'],
  ])
  await pass(2)
  assert.deepEqual(await statesOf(path), [
    ['PASSIVE', 'UNHEALTHY'],
    ['ACTIVE', 'HEALTHY'],
  ])
  await booted(app, one.vm)
  await pass(60)
  assert.deepEqual(await statesOf(path), [
    ['PASSIVE', 'HEALTHY'],
    ['ACTIVE', 'HEALTHY'],
  ])
})

test('a pair whose guest does not forward probes becomes passive; with all pairs unhealthy, traffic is dropped or passed as configured', async () => {
  const [one, two] = [await runningAppliance(), await runningAppliance()]
  const path = await made(app, networkFunctions, functionBody('deaf', [one, two], { failureHandling: 'FAIL_OPEN' }))
  await pass(15)
  await happen(app, { type: 'GUEST_FAILS', vm: one.vm, fault: 'NETWORK_FUNCTION_DEAF' })
  await pass(16)
  assert.deepEqual(await statesOf(path), [
    ['PASSIVE', 'UNHEALTHY'],
    ['ACTIVE', 'HEALTHY'],
  ])
  await changed(app, two.vm, 'power-off')
  await pass(16)
  assert.deepEqual(await statesOf(path), [
    ['PASSIVE', 'UNHEALTHY'],
    ['ACTIVE', 'UNHEALTHY'],
  ])
  assert.equal(await forwardingOf(path), 'PASSED')
  assert.equal((await app.task(await put(app, path, { failureHandling: 'FAIL_CLOSE' }))).status, 'SUCCEEDED')
  assert.equal(await forwardingOf(path), 'DROPPED')
  await happen(app, { type: 'GUEST_RECOVERS', vm: one.vm })
  await pass(16)
  assert.deepEqual(await statesOf(path), [
    ['ACTIVE', 'HEALTHY'],
    ['PASSIVE', 'UNHEALTHY'],
  ])
  assert.equal(await forwardingOf(path), 'REDIRECTED')
})

test('a disabled pair is never active, and an update that fails changes nothing', async () => {
  const [one, two] = [await runningAppliance(), await runningAppliance()]
  const path = await made(app, networkFunctions, functionBody('disabled', [one, two]))
  await pass(15)
  const nicPairs = [pairOf(one, { isEnabled: false }), pairOf(two)]
  steps.failing = 'networking.update-network-function configure health checks'
  assert.equal((await app.task(await put(app, path, { nicPairs }))).status, 'FAILED')
  steps.failing = undefined
  assert.deepEqual(
    (await read(path)).nicPairs.map(({ isEnabled }: any) => isEnabled),
    [true, true],
  )
  assert.deepEqual(
    functionFacts(app.world)
      .functions.get(path.slice(-36))!
      .pairs.map(({ isEnabled }) => isEnabled),
    [true, true],
  )
  // The traffic left the first pair while it was disabled, and does not return by itself.
  assert.deepEqual(await statesOf(path), [
    ['PASSIVE', 'HEALTHY'],
    ['ACTIVE', 'HEALTHY'],
  ])
  assert.equal(
    (await app.task(await put(app, path, { nicPairs: [pairOf(one), pairOf(two, { isEnabled: false })] }))).status,
    'SUCCEEDED',
  )
  assert.deepEqual(await statesOf(path), [
    ['ACTIVE', 'HEALTHY'],
    ['PASSIVE', 'HEALTHY'],
  ])
  assert.equal((await app.task(await put(app, path, { nicPairs }))).status, 'SUCCEEDED')
  assert.deepEqual(await statesOf(path), [
    ['PASSIVE', 'HEALTHY'],
    ['ACTIVE', 'HEALTHY'],
  ])
  const back = await read(path)
  assert.equal((await app.task(await put(app, path, back))).status, 'SUCCEEDED')
  const none = [pairOf(one, { isEnabled: false }), pairOf(two, { isEnabled: false })]
  assert.equal((await app.task(await put(app, path, { nicPairs: none }))).status, 'SUCCEEDED')
  assert.deepEqual(await statesOf(path), [
    ['PASSIVE', 'HEALTHY'],
    ['PASSIVE', 'HEALTHY'],
  ])
})

test('a VM and its NICs cannot be deleted or change their type while a function uses them', async () => {
  const one = await appliance()
  const path = await made(app, networkFunctions, functionBody('used', [one]))
  const refused = await change(app, one.vm, 'delete')
  assert.deepEqual([refused.status, refused.errors[0]!.code], [409, 'VMM-30104'])
  assert.match(refused.errors[0]!.message, /network function "used"/)
  const nic = `/vmm/v4.2/ahv/config/vms/${one.vm}/nics/${one.ingress}`
  const tagged = async () => ({ requestId: randomUUID(), ifMatch: await tagOf(app, one.vm) })
  assert.equal((await app.call('DELETE', nic, await tagged())).status, 409)
  const body = functionNic('EGRESS')
  assert.equal((await app.call('PUT', nic, { ...(await tagged()), body })).status, 409)
  await removed(app, path)
  assert.equal((await app.task(await app.call('PUT', nic, { ...(await tagged()), body }))).status, 'SUCCEEDED')
  assert.equal((await changed(app, one.vm, 'delete')).status, 'SUCCEEDED')
})

test('NICs of a VM that the caller cannot see are not found', async () => {
  const one = await appliance()
  const role = await aRole(app, ['Create_Network_Function', 'View_Network_Function', 'View_Existing_Virtual_Machine'])
  const robot = await aRobot(app)
  await grant(app, { id: role }, robot.extId, {
    network_function: { '*': { eq: '*' } },
    virtual_machine: { uuid: { anyof: [seedId('vm/web-01')] } },
  })
  const options = { apiKey: robot.apiKey, body: functionBody('unseen', [one]) }
  release = steps.hold('networking.create-network-function check NICs')
  const started = await app.call('POST', networkFunctions, options)
  assert.equal(started.status, 202)
  const [row] = (await app.call('GET', networkFunctions)).data
  assert.equal(row?.nicPairs[0].vmReference, undefined)
  release()
  const task = await app.task(started)
  assert.match(task.errorMessages[0].message, /not found$/)
  assert.doesNotMatch(JSON.stringify(task), new RegExp(one.vm))
})

test('a failed update by a caller who cannot view the VMs leaves the function unchanged', async () => {
  const one = await appliance()
  const path = await made(app, networkFunctions, functionBody('foreign', [one]))
  const role = await aRole(app, ['Update_Network_Function', 'View_Network_Function', 'View_Existing_Virtual_Machine'])
  const robot = await aRobot(app)
  await grant(app, { id: role }, robot.extId, {
    network_function: { '*': { eq: '*' } },
    virtual_machine: { uuid: { anyof: [seedId('vm/web-01')] } },
  })
  const { data, etag } = await app.call('GET', path)
  const unknown = { ingressNicReference: randomUUID(), egressNicReference: randomUUID() }
  const body = { ...data, nicPairs: [pairOf(one), unknown] }
  const task = await app.task(await app.call('PUT', path, { apiKey: robot.apiKey, ifMatch: etag!, body }))
  assert.match(task.errorMessages[0].message, /not found$/)
  assert.equal(task.status, 'FAILED')
  assert.equal((await app.task(await put(app, path, { description: 'free' }))).status, 'SUCCEEDED')
})
