/** Serial ports of VMs through the API. Source: behaviour vmm.md 1.0, 1.1, 1.5, 1.16, 2, 3.8, 3.9. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { brokenInvariants } from '../../../src/domains/invariants/invariants.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { aFault, noFaults, unavailable } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import {
  aNativeCluster,
  aVm,
  change,
  changed,
  type NativeCluster,
  readVm,
  tagOf,
} from '../../support/native-cluster.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let cluster: NativeCluster
/** No step of a task begins before this is resolved. */
let gate: Promise<void> | undefined
before(async () => {
  app = await startApp({ config: { seed: 'empty' }, beforeStep: () => gate })
  cluster = await aNativeCluster(app)
})
after(() => app.close())

const vms = '/vmm/v4.2/ahv/config/vms'
async function whileTasksWait<T>(work: () => Promise<T>): Promise<T> {
  let open = (): void => undefined
  gate = new Promise((resolve) => (open = resolve))
  try {
    return await work()
  } finally {
    gate = undefined
    open()
  }
}

const pathOf = (vm: string, port?: string): string => `${vms}/${vm}/serial-ports${port === undefined ? '' : `/${port}`}`

/** Sends a mutation with the current tag of the VM. */
async function send(method: string, path: string, body?: object, options: CallOptions = {}): Promise<CallResult> {
  const vm = path.slice(vms.length + 1).split('/')[0] as string
  return app.call(method, path, { requestId: randomUUID(), ifMatch: await tagOf(app, vm), body, ...options })
}
const post = (vm: string, body: object = {}, options: CallOptions = {}) => send('POST', pathOf(vm), body, options)
const put = (vm: string, port: string, body: object, options: CallOptions = {}) =>
  send('PUT', pathOf(vm, port), body, options)
const remove = (vm: string, port: string, options: CallOptions = {}) =>
  send('DELETE', pathOf(vm, port), undefined, options)
async function succeeded(sent: Promise<CallResult>): Promise<any> {
  const task = await app.task(await sent)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}
/** @returns the id of the new port */
const aPort = async (vm: string, body: object = {}): Promise<string> =>
  (await succeeded(post(vm, body))).entitiesAffected[0].extId
const portsOf = async (vm: string): Promise<any[]> => (await app.call('GET', pathOf(vm))).data
const indexesOf = async (vm: string): Promise<number[]> => (await portsOf(vm)).map(({ index }) => index)
/** The ports of the simulated machine. */
const realPorts = (vm: string) => domainFacts(app.world).get(vm)?.domain.serialPorts
const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.code]
const tasksOf = async (): Promise<number | undefined> => (await app.call('GET', '/platform/v4.3/config/tasks')).total

test('a new port gets the lowest free index of 0, 2 and 3 and is not connected, unless the body says otherwise', async () => {
  const { extId: vm } = await aVm(app, cluster)
  for (const body of [{}, { index: 3, isConnected: true }, {}]) await aPort(vm, body)
  const ports = await portsOf(vm)
  assert.deepEqual(
    ports.map(({ index, isConnected }) => [index, isConnected]),
    [
      [0, false],
      [3, true],
      [2, false],
    ],
  )
  assert.deepEqual((await app.call('GET', pathOf(vm, ports[1].extId))).data, ports[1])
  assert.deepEqual((await readVm(app, vm)).serialPorts, ports)
  assert.deepEqual(realPorts(vm), ports)
})

test('each task names the port first and then its VM, and shows its two steps', async () => {
  const { extId: vm, name } = await aVm(app, cluster)
  const created = await succeeded(post(vm))
  const port = created.entitiesAffected[0].extId
  const tasks = [created, await succeeded(put(vm, port, { index: 2 })), await succeeded(remove(vm, port))]
  for (const [index, task] of tasks.entries()) {
    const verb = ['Create', 'Update', 'Delete'][index]
    assert.deepEqual([task.operation, task.operationDescription], [`${verb}SerialPort`, `${verb} Serial Port`])
    assert.deepEqual(
      task.entitiesAffected.map(({ extId, rel, name }: any) => [extId, rel, name]),
      [
        [port, 'vmm:ahv:config:vm:serialport', undefined],
        [vm, 'vmm:ahv:config:vm', name],
      ],
    )
    assert.deepEqual(task.clusterExtIds, [cluster.extId])
    assert.deepEqual(
      task.subSteps.map((step: any) => step.name),
      ['define', 'store'],
    )
  }
})

test('an index other than 0, 2 and 3 is 400, at creation and update', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const port = await aPort(vm)
  for (const index of [1, 4, -1]) {
    for (const sent of [await post(vm, { index }), await put(vm, port, { index })]) assert.equal(sent.status, 400)
  }
  const { errors } = await post(vm, { index: 1 })
  assert.deepEqual([errors[0]?.code, errors[0]?.argumentsMap?.['attributePath']], ['VMM-10000', 'index'])
})

test('an index that another port has is 409, at creation and update, and nothing changes', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const [first, second] = [await aPort(vm), await aPort(vm)]
  const [before, tasks, tag] = [await portsOf(vm), await tasksOf(), await tagOf(app, vm)]
  for (const sent of [await post(vm, { index: 2 }), await put(vm, first, { index: 2 })]) {
    assert.deepEqual(refusal(sent), [409, 'VMM-30106'])
    assert.match(sent.errors[0]?.message ?? '', /serial port.*index 2/)
  }
  assert.deepEqual([await portsOf(vm), await tasksOf(), await tagOf(app, vm)], [before, tasks, tag])
  await succeeded(put(vm, second, { index: 2, isConnected: true }))
  assert.deepEqual(await portsOf(vm), [before[0], { ...before[1], isConnected: true }])
})

test('a fourth port is 422, or 409 with an index in use, and the index of a deleted port can be used again', async () => {
  const { extId: vm } = await aVm(app, cluster, { serialPorts: [{}, {}, {}] })
  assert.deepEqual(await indexesOf(vm), [0, 2, 3])
  const full = await post(vm)
  assert.deepEqual([...refusal(full), full.errors[0]?.errorGroup], [422, 'VMM-40004', 'LIMIT_EXCEEDED'])
  assert.match(full.errors[0]?.message ?? '', /at most 3, found 4/)
  assert.deepEqual(refusal(await post(vm, { index: 3 })), [409, 'VMM-30106'])
  const [, middle] = await portsOf(vm)
  await succeeded(remove(vm, middle.extId))
  const again = await aPort(vm)
  assert.notEqual(again, middle.extId)
  assert.deepEqual(await indexesOf(vm), [0, 3, 2])
})

test('PUT replaces the port, keeps its id and its place in the list, and frees the former index', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const [first] = [await aPort(vm, { isConnected: true }), await aPort(vm)]
  await succeeded(put(vm, first as string, { index: 3 }))
  assert.deepEqual((await portsOf(vm))[0], { extId: first, index: 3, isConnected: false })
  assert.deepEqual(realPorts(vm), await portsOf(vm))
  await aPort(vm, { index: 0 })
  assert.deepEqual(await indexesOf(vm), [3, 2, 0])
})

test('a VM whose last port is deleted has no serialPorts field', async () => {
  const { extId: vm } = await aVm(app, cluster)
  await succeeded(remove(vm, await aPort(vm)))
  assert.deepEqual([await portsOf(vm), (await readVm(app, vm)).serialPorts, realPorts(vm)], [[], undefined, []])
})

test('a port has the ETag of its VM, which each change requires and which changes at acceptance and at the end of the task', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const port = await aPort(vm)
  const read = async (): Promise<string> => (await app.call('GET', pathOf(vm, port))).etag as string
  const ifMatch = await read()
  assert.equal(ifMatch, await tagOf(app, vm))
  for (const sent of [
    await post(vm, {}, { ifMatch: '' }),
    await put(vm, port, {}, { ifMatch: '' }),
    await remove(vm, port, { ifMatch: '' }),
  ])
    assert.deepEqual(refusal(sent), [428, 'PLAT-10004'])

  const [started, admitted] = await whileTasksWait(
    async () => [await put(vm, port, { index: 2 }, { ifMatch }), await read()] as const,
  )
  await app.task(started)
  assert.equal(new Set([ifMatch, admitted, await read()]).size, 3)
  for (const stale of [ifMatch, admitted]) {
    const sent = { ifMatch: stale }
    for (const refused of [await post(vm, {}, sent), await put(vm, port, {}, sent), await remove(vm, port, sent)])
      assert.deepEqual(refusal(refused), [412, 'VMM-30303'])
  }
  assert.equal((await changed(app, vm, 'power-on', { ifMatch: await read() })).status, 'SUCCEEDED')
})

test('of two requests with the same ETag one is accepted', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const port = await aPort(vm)
  const ifMatch = await tagOf(app, vm)
  const both = await Promise.all([post(vm, {}, { ifMatch }), remove(vm, port, { ifMatch })])
  assert.deepEqual(both.map(({ status }) => status).sort(), [202, 412])
})

test('on a running VM ports cannot be added, removed or moved, but isConnected takes effect at once', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const port = await aPort(vm)
  await changed(app, vm, 'power-on')
  for (const [sent, named] of [
    [await post(vm), /serialPorts/],
    [await put(vm, port, { index: 2, isConnected: true }), /index/],
    [await remove(vm, port), /serialPorts/],
  ] as const) {
    assert.deepEqual(refusal(sent), [409, 'VMM-30101'])
    assert.match(sent.errors[0]?.message ?? '', named)
  }
  await succeeded(put(vm, port, { index: 0, isConnected: true }))
  const shown = [{ extId: port, index: 0, isConnected: true }]
  assert.deepEqual([await portsOf(vm), realPorts(vm)], [shown, shown])
})

test('each operation on ports succeeds or is refused as documented for each power state', async () => {
  const hot = 'VMM-30101'
  const table = {
    OFF: [undefined, undefined, undefined, undefined],
    ON: [hot, hot, hot, undefined],
    PAUSED: [hot, hot, hot, undefined],
    UNDETERMINED: ['VMM-30100', 'VMM-30100', 'VMM-30100', 'VMM-30100'],
  } as const
  for (const [powerState, expected] of Object.entries(table)) {
    const { extId: vm } = await aVm(app, cluster, { serialPorts: [{}, {}] })
    const [first, second] = await portsOf(vm)
    await app.store.transaction((store) => store.observe(Vm, vm, { powerState: powerState as 'OFF' }))
    const found = []
    for (const request of [
      () => post(vm),
      () => put(vm, first.extId, { index: powerState === 'OFF' ? 0 : 3 }),
      () => remove(vm, second.extId),
      () => put(vm, first.extId, { index: 0, isConnected: true }),
    ]) {
      const sent = await request()
      found.push(sent.errors[0]?.code)
      if (sent.status === 202) await app.task(sent)
    }
    assert.deepEqual(found, expected, powerState)
    await app.store.transaction((store) => store.observe(Vm, vm, { powerState: 'OFF' }))
  }
})

test('the ports stay in the hypervisor through power-off and power-on', async () => {
  const { extId: vm } = await aVm(app, cluster)
  await aPort(vm, { index: 2, isConnected: true })
  const ports = await portsOf(vm)
  for (const action of ['power-on', 'reset', 'power-off', 'power-on'] as const) {
    assert.equal((await changed(app, vm, action)).status, 'SUCCEEDED')
    assert.deepEqual([await portsOf(vm), realPorts(vm)], [ports, ports], action)
  }
})

test('an update of the VM ignores its serial ports', async () => {
  const vm = await aVm(app, cluster, { serialPorts: [{ index: 2 }] })
  for (const serialPorts of [[], [{ index: 0 }, { index: 3, isConnected: true }]]) {
    const body = { ...(await readVm(app, vm.extId)), serialPorts, description: 'changed' }
    assert.equal((await changed(app, vm.extId, { put: body })).status, 'SUCCEEDED')
  }
  assert.deepEqual([await portsOf(vm.extId), realPorts(vm.extId)], [vm.serialPorts, vm.serialPorts])
})

test('requests that are sent without waiting run in order, each on the result of the one before', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const port = await aPort(vm)
  const started = await whileTasksWait(async () => [
    await remove(vm, port),
    await post(vm, { index: 0 }),
    await post(vm),
    await post(vm),
  ])
  for (const each of started) assert.equal((await app.task(each)).status, 'SUCCEEDED')
  assert.deepEqual(await indexesOf(vm), [0, 2, 3])
})

test('a queued request that an earlier one made impossible fails in its task with the code of an immediate refusal', async () => {
  const cases: readonly [string, (vm: string, port: string) => readonly (() => Promise<CallResult>)[], number][] = [
    ['VMM-30106', (vm) => [() => post(vm, { index: 2 }), () => post(vm, { index: 2 })], 2],
    ['VMM-40004', (vm) => [() => post(vm), () => post(vm), () => post(vm)], 3],
    ['VMM-20005', (vm, port) => [() => remove(vm, port), () => put(vm, port, { index: 3 })], 0],
    ['VMM-30101', (vm) => [() => change(app, vm, 'power-on'), () => post(vm)], 1],
    ['VMM-20005', (vm) => [() => change(app, vm, 'delete'), () => post(vm)], 0],
  ]
  for (const [code, requests, left] of cases) {
    const { extId: vm } = await aVm(app, cluster, { serialPorts: [{}] })
    const [port] = await portsOf(vm)
    const started = await whileTasksWait(async () => {
      const sent = []
      for (const request of requests(vm, port.extId)) sent.push(await request())
      return sent
    })
    assert.deepEqual(new Set(started.map(({ status }) => status)), new Set([202]), code)
    const tasks = []
    for (const each of started) tasks.push(await app.task(each))
    assert.deepEqual([tasks.at(-1).status, tasks.at(-1).errorMessages[0].code], ['FAILED', code])
    assert.ok(
      tasks.slice(0, -1).every(({ status }) => status === 'SUCCEEDED'),
      code,
    )
    assert.equal(((await portsOf(vm)) ?? []).length, left, code)
  }
  await checkInvariants(app)
})

test('a failed task leaves port and hypervisor unchanged with a new ETag, and the request can be repeated', async () => {
  for (const faultAt of ['hypervisor', 'store']) {
    const { extId: vm } = await aVm(app, cluster)
    const port = await aPort(vm)
    const ports = await portsOf(vm)
    for (const [verb, request] of [
      ['create', () => post(vm)],
      ['update', () => put(vm, port, { index: 2 })],
      ['delete', () => remove(vm, port)],
    ] as const) {
      const driverCall = { driver: 'hypervisor', method: 'defineVm' }
      const taskStep = { task: `vmm.${verb}-serial-port`, step: 'store' }
      await aFault(app, faultAt === 'store' ? { taskStep } : { driverCall }, unavailable, { next: 1 })
      const tag = await tagOf(app, vm)
      const [started, admitted] = await whileTasksWait(async () => [await request(), await tagOf(app, vm)] as const)
      const task = await app.task(started)
      assert.deepEqual([task.status, task.errorMessages.length], ['FAILED', 1], faultAt)
      await noFaults(app)
      assert.deepEqual([await portsOf(vm), realPorts(vm)], [ports, ports], faultAt)
      assert.equal(new Set([tag, admitted, await tagOf(app, vm)]).size, 3, faultAt)
    }
    await succeeded(put(vm, port, { index: 2 }))
    assert.deepEqual(await indexesOf(vm), [2])
  }
})

test('repeating a creation with the same request id returns the same task and creates one port', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const sent = { requestId: randomUUID(), ifMatch: await tagOf(app, vm) }
  const both = [await post(vm, {}, sent), await post(vm, {}, sent)]
  assert.equal(both[0]?.data.extId, both[1]?.data.extId)
  await app.task(both[0] as CallResult)
  assert.deepEqual(await indexesOf(vm), [0])
})

test('a port that does not exist or belongs to another VM is 404, even without an ETag', async () => {
  const [mine, other] = [await aVm(app, cluster), await aVm(app, cluster)]
  const port = await aPort(other.extId)
  for (const path of [
    pathOf(mine.extId, port),
    pathOf(mine.extId, randomUUID()),
    pathOf(randomUUID(), port),
    pathOf(randomUUID()),
  ]) {
    const isList = path.endsWith('serial-ports')
    for (const method of isList ? ['GET', 'POST'] : ['GET', 'PUT', 'DELETE']) {
      const body = method === 'POST' || method === 'PUT' ? { body: {} } : {}
      const sent = await app.call(method, path, { requestId: randomUUID(), ...body })
      assert.deepEqual(refusal(sent), [404, 'VMM-20005'], `${method} ${path}`)
    }
  }
})

test('viewers and operators read ports and get 403 without a task for every change; an admin changes them', async () => {
  const { extId: vm } = await aVm(app, cluster)
  const port = await aPort(vm)
  const tasks = await tasksOf()
  for (const role of ['Virtual Machine Viewer', 'Virtual Machine Operator'] as const) {
    const as = await aUser(app, [role])
    for (const path of [pathOf(vm), pathOf(vm, port)]) assert.equal((await app.call('GET', path, { as })).status, 200)
    for (const sent of [await post(vm, {}, { as }), await put(vm, port, {}, { as }), await remove(vm, port, { as })])
      assert.equal(sent.status, 403, role)
  }
  assert.equal(await tasksOf(), tasks)
  const as = await aUser(app, ['Virtual Machine Admin'])
  for (const request of [() => post(vm, {}, { as }), () => remove(vm, port, { as })]) await succeeded(request())
})

test('two ports of one VM with the same index violate an invariant', async () => {
  const { extId } = await aVm(app, cluster, { serialPorts: [{}, {}] })
  const serialPorts = (await portsOf(extId)).map((port) => ({ ...port, index: 3 }))
  assert.deepEqual(await brokenInvariants(app.store), [])
  await app.store.transaction((store) => store.observe(Vm, extId, { serialPorts }))
  assert.match((await brokenInvariants(app.store)).join(), /"vm" has two serial ports at index 3/)
  await changed(app, extId, 'delete')
})
