/** Statistics of the past stay as they are when hardware changes. Source: behaviour clustermgmt.md 1.17, 3 (Statistics generator). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { dataDisk } from '../../kinds/clustermgmt/disk.ts'
import { nodeId } from '../../kinds/clustermgmt/unconfigured-node.ts'
import { clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { driven, reached } from '../../support/driven.ts'
import { happen } from '../../support/events.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
/** Data moves at the rate of its drives. */
let slow: TestApp
before(async () => {
  app = await startApp()
  slow = await startApp({ config: { durations: 'natural' } })
})
after(async () => {
  for (const each of [app, slow]) await each.close()
})

const stats = '/clustermgmt/v4.2/stats'
const cluster = `${clustermgmt}/clusters/${ids.native}`
const hosts = ['a', 'b'].map((letter) => hostId(`hp-n01-${letter}`))

const span = (at: TestApp, seconds = 1800): string => {
  const [from, to] = [at.clock.now() - seconds * 1000, at.clock.now()]
  return `$startTime=${new Date(from).toISOString()}&$endTime=${new Date(to).toISOString()}&$samplingInterval=60`
}

async function succeeded(started: Promise<CallResult>, at = app): Promise<void> {
  const result = await started
  const task = await driven(at, at.task(result))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages ?? result.errors))
}
const remove = (extId: string, at = app): Promise<CallResult> => at.call('DELETE', `${clustermgmt}/disks/${extId}`)
const add = (serialNumber: string, at = app): Promise<CallResult> =>
  at.call('POST', `${cluster}/$actions/add-disk`, { body: { serialNumber } })
const serialOf = (extId: string): string => `SN${extId.replaceAll('-', '').slice(0, 12).toUpperCase()}`

/** Every series of the cluster, of hosts, of their disks and of a container with erasure coding. */
async function read(query: string, diskExtIds: readonly string[] = [], at = app): Promise<Record<string, unknown>> {
  const filter = `clusterExtId eq '${ids.native}'`
  const { data: containers } = await at.call('GET', `${clustermgmt}/storage-containers?$filter=${filter}`)
  assert.ok(containers.some(({ erasureCode }: any) => erasureCode === 'ON'))
  const paths = [
    `clusters/${ids.native}`,
    ...hosts.map((host) => `clusters/${ids.native}/hosts/${host}`),
    ...containers.map(({ containerExtId }: any) => `storage-containers/${containerExtId}`),
    ...diskExtIds.map((disk) => `disks/${disk}`),
  ]
  const answers: Record<string, unknown> = {}
  for (const path of paths) {
    const { status, data, errors } = await at.call('GET', `${stats}/${path}?${query}`)
    assert.equal(status, 200, JSON.stringify(errors))
    answers[path] = data
  }
  return answers
}

/** Reads the window before and after the change. */
async function keepsItsPast(change: () => Promise<void>, disks: readonly string[] = [], at = app): Promise<void> {
  const window = span(at)
  const before = await read(window, disks, at)
  await change()
  for (const [path, data] of Object.entries(await read(window, disks, at)))
    for (const [name, series] of Object.entries(data as object))
      assert.deepEqual(series, (before[path] as any)[name], `${path} ${name}`)
  await at.clock.advance(600_000)
}

test('48. a window of the past is equal after a disk has failed and its successor is in the pool', async () => {
  const [failing, other] = [dataDisk('b', 3), dataDisk('b', 4)]
  await keepsItsPast(() => happen(app, { type: 'DISK_FAILS', disk: failing }), [failing, other])
  let successor = ''
  await keepsItsPast(async () => {
    const { effects } = await happen(app, { type: 'DISK_REPLACED', disk: failing })
    successor = /SN\w+/.exec(effects[0])?.[0] as string
  }, [failing, other])
  await keepsItsPast(() => succeeded(remove(failing)), [other])
  await keepsItsPast(() => succeeded(add(successor)), [other])
})

test('48. a window of the past is equal after a working disk was removed, pulled, or added again', async () => {
  const [leaving, other] = [dataDisk('a', 5), dataDisk('a', 6)]
  await keepsItsPast(() => succeeded(remove(leaving)), [other])
  await keepsItsPast(() => succeeded(add(serialOf(leaving))), [other])
  await keepsItsPast(() => succeeded(remove(leaving)), [other])
  await keepsItsPast(() => happen(app, { type: 'DISK_PULLED', disk: leaving }), [other])
})

test('48. a window of the past is equal after a node has joined, and the node has none', async () => {
  const window = span(app)
  const body = { nodeParams: { nodeList: [{ nodeUuid: nodeId('a') }] } }
  await keepsItsPast(() =>
    succeeded(app.call('POST', `${cluster}/$actions/expand-cluster`, { body, requestId: randomUUID() })),
  )
  const path = `${stats}/clusters/${ids.native}/hosts/${nodeId('a')}`
  assert.deepEqual(Object.keys((await app.call('GET', `${path}?${window}`)).data), ['extId'])
  const { data } = await app.call('GET', `${path}?${span(app, 600)}`)
  assert.equal(data.storageCapacityBytes.length, 10)
  assert.ok(data.storageCapacityBytes[0].value > 0)
})

test('48. a window of the past is equal while a host is down and after its return', async () => {
  const host = hostId('hp-n01-c')
  await keepsItsPast(() => happen(app, { type: 'HOST_FAILS', host }))
  await keepsItsPast(() => happen(app, { type: 'HOST_RETURNS', host }))
})

test('48. the part of the data that had moved at a time is equal when the removal is called off', async () => {
  const [leaving, other] = [dataDisk('b', 5), dataDisk('b', 6)]
  const started = await remove(leaving, slow)
  await reached(slow, started, 40)
  await keepsItsPast(
    async () => {
      await reached(slow, await remove(other, slow), 20)
      await slow.call('POST', `/platform/v4.3/config/tasks/${started.data.extId}/$actions/cancel`)
      assert.equal((await driven(slow, slow.task(started))).status, 'CANCELED')
    },
    [leaving, other],
    slow,
  )
})
