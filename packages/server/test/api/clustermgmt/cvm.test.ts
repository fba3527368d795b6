/** Controller VMs. Source: behaviour clustermgmt.md 1.1 (topology lock), 1.6, 3. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { advance, clustermgmt, hostId, ids, setFault } from '../../support/clustermgmt.ts'
import { driven, reached } from '../../support/driven.ts'
import { aFault, noFaults } from '../../support/faults.ts'
import { aUser } from '../../support/identities.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { aNativeCluster, aVm, changed, GiB, type NativeCluster } from '../../support/native-cluster.ts'
import { aRunningVm } from '../../support/policies.ts'
import { type CallOptions, type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let slow: TestApp
before(async () => {
  app = await startApp()
  slow = await startApp({ config: { seed: 'empty', durations: 'natural' } })
})
afterEach(async () => {
  await noFaults(app)
  for (const each of [app, slow]) await checkInvariants(each)
})
after(async () => {
  for (const each of [app, slow]) await each.close()
})

type OfCluster = Pick<NativeCluster, 'extId'>

const native = { extId: ids.native }
const pathOf = ({ extId }: OfCluster): string => `${clustermgmt}/clusters/${extId}/cvms`
const cvmsOf = async (cluster: OfCluster, query = '', of = app): Promise<any[]> => {
  const { status, data, errors } = await of.call('GET', pathOf(cluster) + query)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}
const sizesOf = async (cluster: OfCluster, of = app): Promise<string[]> =>
  (await cvmsOf(cluster, '', of)).map(({ numVcpus, memorySizeBytes }) => `${numVcpus} x ${memorySizeBytes / GiB} GiB`)
const reconfigure = (cluster: OfCluster, body: object, of = app, options: CallOptions = {}): Promise<CallResult> =>
  of.call('POST', `${pathOf(cluster)}/$actions/reconfigure`, { body, requestId: randomUUID(), ...options })
const done = async (cluster: OfCluster, body: object): Promise<any> => app.task(await reconfigure(cluster, body))
const refusal = async (cluster: OfCluster, body: object): Promise<string> => {
  const { status, errors } = await reconfigure(cluster, body)
  return `${status} ${errors?.[0]?.errorGroup}: ${errors?.[0]?.message}`
}
const subtasksOf = async (task: any, of = app): Promise<any[]> =>
  Promise.all(
    (task.subTasks ?? []).map(
      async ({ extId }: any) => (await of.call('GET', `/platform/v4.3/config/tasks/${extId}`)).data,
    ),
  )

test('each host of the demo has a controller VM with 8 vCPUs and 32 GiB, on the address that the host shows', async () => {
  const hosts = (await app.call('GET', `${clustermgmt}/clusters/${ids.native}/hosts`)).data
  const cvms = await cvmsOf(native)
  assert.deepEqual(
    cvms.map(({ name, nodeExtId, ipAddress, backplaneIpAddress }) => [name, nodeExtId, ipAddress, backplaneIpAddress]),
    hosts.map(({ hostName, extId, controllerVm }: any) => [
      `${hostName}-cvm`,
      extId,
      controllerVm.externalAddress,
      controllerVm.backplaneAddress,
    ]),
  )
  assert.deepEqual(new Set(await sizesOf(native)), new Set(['8 x 32 GiB']))
  const [first] = cvms
  assert.deepEqual([first.clusterExtId, first.hypervisorType], [ids.native, 'AHV'])
  assert.deepEqual((await app.call('GET', `${pathOf(native)}/${first.extId}`)).data, first)
  assert.deepEqual(await cvmsOf({ extId: ids.manager }), [])
})

test('lists of controller VMs are filtered, ordered and selected', async () => {
  const one = await cvmsOf(native, `?$filter=nodeExtId eq '${hostId('hp-n01-c')}'`)
  assert.deepEqual(
    one.map(({ name }) => name),
    ['hp-n01-c-cvm'],
  )
  const ordered = await cvmsOf(native, '?$orderby=name desc&$limit=2&$select=name,numVcpus')
  assert.deepEqual(
    ordered.map(({ name, numVcpus, memorySizeBytes }) => [name, numVcpus, memorySizeBytes]),
    [
      ['hp-n01-d-cvm', 8, undefined],
      ['hp-n01-c-cvm', 8, undefined],
    ],
  )
})

test('a controller VM of another cluster, and version v4.0, are not found', async () => {
  const [{ extId }] = (await cvmsOf(native)) as [any]
  assert.equal((await app.call('GET', `${pathOf({ extId: ids.extern })}/${extId}`)).status, 404)
  assert.equal((await app.call('GET', `/clustermgmt/v4.0/config/clusters/${ids.native}/cvms`)).status, 404)
})

test('viewers read controller VMs and may not reconfigure them', async () => {
  const viewer = await aUser(app, ['Cluster Viewer'])
  assert.equal((await app.call('GET', pathOf(native), { as: viewer })).status, 200)
  assert.equal((await reconfigure(native, { numVcpus: 12 }, app, { as: viewer })).status, 403)
})

test('bad sizes are refused with their faults', async () => {
  assert.match(await refusal(native, {}), /^400 .*found neither/)
  assert.match(await refusal(native, { memorySizeBytes: 32 * GiB + 1 }), /^400 .*multiple of/)
  assert.match(await refusal(native, { memorySizeBytes: 15 * GiB }), /^400/)
  assert.match(await refusal(native, { numVcpus: 3 }), /^400/)
  assert.match(await refusal(native, { numVcpus: 41 }), /^400 .*hp-n01-a \(80\)/)
  assert.match(await refusal({ extId: ids.manager }, { numVcpus: 8 }), /^400 NOT_SUPPORTED_ON_MANAGER/)
  assert.equal((await reconfigure({ extId: randomUUID() }, { numVcpus: 8 })).status, 404)
  await setFault(app, ids.extern, { isDown: true })
  assert.match(await refusal({ extId: ids.extern }, { numVcpus: 8 }), /^503 CLUSTER_UNREACHABLE/)
  await setFault(app, ids.extern)
})

test('an administrator enlarges the controller VMs, one host after another, and VMs have less memory from then on', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, usableGiB: 10 })
  const task = await done(cluster, { numVcpus: 12, memorySizeBytes: 36 * GiB })
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'Reconfigure CVMs')
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    Array(3).fill('clustermgmt:config:cvm'),
  )
  assert.deepEqual(await sizesOf(cluster), Array(3).fill('12 x 36 GiB'))
  const subtasks = await subtasksOf(task)
  assert.equal(subtasks.length, 3)
  for (const { status, entitiesAffected } of subtasks)
    assert.deepEqual([status, entitiesAffected[0].rel], ['SUCCEEDED', 'clustermgmt:config:cvm'])

  const large = await aVm(app, cluster, { memorySizeBytes: 7 * GiB })
  const refused = await changed(app, large.extId, 'power-on')
  assert.equal(refused.errorMessages[0].code, 'VMM-40001')
  assert.equal((await done(cluster, { memorySizeBytes: 16 * GiB })).status, 'SUCCEEDED')
  assert.equal((await changed(app, large.extId, 'power-on')).status, 'SUCCEEDED')
  const larger = await aVm(app, cluster, { memorySizeBytes: 20 * GiB })
  assert.equal((await changed(app, larger.extId, 'power-on')).status, 'SUCCEEDED')
})

test('controller VMs that have the size already are not restarted', async () => {
  const cluster = await aNativeCluster(app)
  const task = await done(cluster, { numVcpus: 8, memorySizeBytes: 32 * GiB })
  assert.deepEqual([task.status, task.entitiesAffected, task.subTasks], ['SUCCEEDED', [], undefined])
})

test('hosts whose VMs have the memory are named', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3, usableGiB: 10 })
  const [host = ''] = cluster.hostExtIds
  await aRunningVm(app, cluster, { memorySizeBytes: 8 * GiB, host })
  const { hostName } = (await app.call('GET', `${clustermgmt}/clusters/${cluster.extId}/hosts/${host}`)).data
  const found = await refusal(cluster, { memorySizeBytes: 36 * GiB })
  assert.match(found, /^409 NOT_ENOUGH_HOST_MEMORY/)
  assert.ok(found.endsWith(`would be left on ${hostName}.`), found)
  assert.deepEqual(await sizesOf(cluster), Array(3).fill('8 x 32 GiB'))
})

test('deduplication keeps 32 GiB in the controller VMs', async () => {
  const cluster = await aNativeCluster(app)
  await app.store.transaction((store) =>
    store.update(StorageContainer, cluster.containerExtId, { onDiskDedup: 'POST_PROCESS' }),
  )
  assert.match(await refusal(cluster, { memorySizeBytes: 24 * GiB }), /^409 .*Deduplication needs/)
  await app.store.transaction((store) => store.update(StorageContainer, cluster.containerExtId, { onDiskDedup: 'OFF' }))
  assert.equal((await done(cluster, { memorySizeBytes: 24 * GiB })).status, 'SUCCEEDED')
  const { status, errors } = await app.call('POST', `${clustermgmt}/storage-containers`, {
    body: { name: 'dedup', onDiskDedup: 'POST_PROCESS' },
    clusterId: cluster.extId,
    requestId: randomUUID(),
  })
  assert.equal(status, 409)
  assert.match(errors?.[0]?.message as string, /Deduplication needs controller VMs/)
})

test('no controller VM goes down while its storage would be lost', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const [host = '', other = ''] = cluster.hostExtIds
  await setFault(app, other, { isDown: true, since: app.clock.now() })
  assert.match(await refusal(cluster, { numVcpus: 12 }), /^409 CLUSTER_CANNOT_TOLERATE.*in maintenance or down/)
  await setFault(app, other)
  const single = await aNativeCluster(app, { hosts: 1 })
  const { extId } = await aRunningVm(app, single, { host: single.hostExtIds[0] })
  assert.match(await refusal(single, { numVcpus: 12 }), /^409 CLUSTER_CANNOT_TOLERATE.*no other host/)
  assert.equal((await changed(app, extId, 'power-off')).status, 'SUCCEEDED')
  assert.equal((await done(single, { numVcpus: 12 })).status, 'SUCCEEDED')

  const enter = `/clustermgmt/v4.2/operations/clusters/${cluster.extId}/hosts/${host}/$actions/enter-host-maintenance`
  await app.task(await app.call('POST', enter, { body: {}, requestId: randomUUID() }))
  assert.match(await refusal(cluster, { numVcpus: 12 }), /^409 CLUSTER_CANNOT_TOLERATE.*in maintenance or down/)
})

test('a controller VM that cannot be resized has its former size afterwards, and those before it keep the new one', async () => {
  const cluster = await aNativeCluster(app, { hosts: 3 })
  const names = (await cvmsOf(cluster)).map(({ name }) => name)
  const final = { error: 'CONFLICT', arguments: { fault: 'The memory is not there.' } }
  for (const [method, size] of [
    ['resizeControllerVm', 33],
    ['stopControllerVm', 34],
    ['startControllerVm', 35],
  ] as const) {
    const before = await sizesOf(cluster)
    await aFault(app, { driverCall: { driver: 'hardware', method } }, final, { nth: 2 })
    const task = await done(cluster, { memorySizeBytes: size * GiB })
    assert.equal(task.status, 'FAILED')
    assert.match(task.errorMessages[0].message, new RegExp(`${names[1]} could not be resized`))
    assert.match(JSON.stringify(task.warnings), new RegExp(`keep their new size: ${names[0]}\\.`))
    assert.deepEqual(await sizesOf(cluster), [`8 x ${size} GiB`, ...before.slice(1)])
    assert.equal((await subtasksOf(task)).length, 2)
    await noFaults(app)
    const facts = app.world.collection<{ isRunning: boolean }>('hardware.controllerVms')
    for (const host of cluster.hostExtIds) assert.notEqual(facts.get(host)?.isRunning, false)
  }
  assert.equal((await done(cluster, { memorySizeBytes: 32 * GiB })).status, 'SUCCEEDED')
})

/** In a world where this takes time, until the first controller VM has been resized. */
async function halfRolled(body: object): Promise<{ cluster: NativeCluster; task: CallResult }> {
  const cluster = await aNativeCluster(slow, { hosts: 3, usableGiB: 10 })
  const task = await reconfigure(cluster, body, slow)
  await reached(slow, task, 30)
  return { cluster, task }
}

test('one controller VM at a time is down, while the cluster tolerates one failure less', async () => {
  const { cluster, task } = await halfRolled({ numVcpus: 12 })
  const facts = slow.world.collection<{ isRunning: boolean }>('hardware.controllerVms')
  const states = new Set<number>()
  const tolerances = new Set<unknown>()
  const ended = driven(
    slow,
    (async () => {
      for (;;) {
        const { data } = await slow.call('GET', `/platform/v4.3/config/tasks/${task.data.extId}`)
        if (data.status !== 'RUNNING') return data
        const down = (): number => cluster.hostExtIds.filter((host) => facts.get(host)?.isRunning === false).length
        const before = down()
        states.add(before)
        const { config } = (await slow.call('GET', `${clustermgmt}/clusters/${cluster.extId}`)).data
        if (before === 1 && down() === 1) tolerances.add(config.faultToleranceState.currentMaxFaultTolerance)
      }
    })(),
  )
  assert.equal((await ended).status, 'SUCCEEDED')
  assert.deepEqual([Math.max(...states), [...tolerances]], [1, [0]])
})

test('a cancellation lets the controller VM finish that is being resized, and leaves the others', async () => {
  const { cluster, task } = await halfRolled({ memorySizeBytes: 36 * GiB })
  assert.equal((await slow.call('POST', `/platform/v4.3/config/tasks/${task.data.extId}/$actions/cancel`)).status, 200)
  const ended = await driven(slow, slow.task(task))
  assert.equal(ended.status, 'CANCELED')
  assert.deepEqual(await sizesOf(cluster, slow), ['8 x 36 GiB', '8 x 36 GiB', '8 x 32 GiB'])
  assert.match(JSON.stringify(ended.warnings), /keep their new size/)
  const [, , last] = cluster.hostExtIds
  const vm = await driven(slow, aRunningVm(slow, cluster, { memorySizeBytes: 9 * GiB, host: last }))
  assert.equal(vm.powerState, 'ON')
})

test('while controller VMs are resized, no VM takes the memory that they are to get, and the topology does not change', async () => {
  const { cluster, task } = await halfRolled({ memorySizeBytes: 36 * GiB })
  const large = await driven(slow, aVm(slow, cluster, { memorySizeBytes: 7 * GiB }))
  const refused = await driven(slow, changed(slow, large.extId, 'power-on'))
  assert.equal(refused.errorMessages[0].code, 'VMM-40001')
  const again = await reconfigure(cluster, { numVcpus: 16 }, slow)
  assert.deepEqual([again.status, again.errors?.[0]?.errorGroup], [409, 'CLUSTER_BUSY'])
  assert.equal(again.errors?.[0]?.argumentsMap?.['taskExtId'], task.data.extId)
  const [host] = cluster.hostExtIds
  const enter = `/clustermgmt/v4.2/operations/clusters/${cluster.extId}/hosts/${host}/$actions/enter-host-maintenance`
  const entering = await slow.call('POST', enter, { body: {}, requestId: randomUUID() })
  assert.deepEqual([entering.status, entering.errors?.[0]?.errorGroup], [409, 'CLUSTER_BUSY'])
  assert.equal((await driven(slow, slow.task(task))).status, 'SUCCEEDED')
})

test('two requests at once start one roll', async () => {
  const cluster = await aNativeCluster(app)
  const [one, two] = await Promise.all([reconfigure(cluster, { numVcpus: 12 }), reconfigure(cluster, { numVcpus: 16 })])
  assert.deepEqual([one.status, two.status].sort(), [202, 409])
  for (const each of [one, two]) if (each.status === 202) assert.equal((await app.task(each)).status, 'SUCCEEDED')
})

test('the roll stops when another host fails, because its storage would be lost', async () => {
  const { cluster, task } = await halfRolled({ numVcpus: 12 })
  const [, , last = ''] = cluster.hostExtIds
  await setFault(slow, last, { isDown: true, since: slow.clock.now() })
  const ended = await driven(slow, slow.task(task))
  assert.equal(ended.status, 'FAILED')
  assert.match(JSON.stringify(ended.errorMessages), /in maintenance or down/)
  assert.deepEqual(await sizesOf(cluster, slow), ['12 x 32 GiB', '12 x 32 GiB', '8 x 32 GiB'])
  await setFault(slow, last)
  await advance(slow, 1)
})
