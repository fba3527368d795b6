/** Traffic mirrors. Source: behaviour networking.md 1.16, 3.3, 5 (41). */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { TrafficMirror } from '@hyperplane/contract/networking/traffic-mirror'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { formatTime } from '../../../src/core/time/clock.ts'
import { mirrorProgram } from '../../../src/domains/networking/traffic-mirror.ts'
import type { MirrorEntity } from '../../../src/domains/networking/traffic-mirror-rules.ts'
import { Flows } from '../../../src/drivers/simulated/flows/flows.ts'
import { mirrorFacts } from '../../../src/drivers/simulated/traffic-mirrors.ts'
import { lab } from '../../../src/seeds/demo/registrations.ts'
import { ids } from '../../support/clustermgmt.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { nicOf } from '../../support/load-balancers.ts'
import { act, changed as changedVm } from '../../support/native-cluster.ts'
import { register, unregister } from '../../support/registering.ts'
import type { CallResult, TestApp } from '../../support/start-app.ts'
import { aWatchedVm, from, mirrorBody, mirrorStats, mirrors, to } from '../../support/traffic-mirrors.ts'
import { changed, made, removed } from '../../support/vpcs.ts'

let app: TestApp
let vm: any
let source: string
let spans: readonly string[]
before(async () => {
  app = await startQuietDemo()
  vm = await aWatchedVm(app, 'watched', 6)
  ;[source, ...spans] = vm.nics.map(({ extId }: any) => extId)
})
afterEach(() => checkInvariants(app))
after(() => app.close())

const create = (body: object): Promise<CallResult> => app.call('POST', mirrors, { body })
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const pathsOf = (result: CallResult): (string | undefined)[] =>
  result.errors.map((error) => error.argumentsMap?.['attributePath'])
const hostOf = async (extId: string): Promise<string | undefined> =>
  (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${extId}`)).data.host?.extId

test('the demo copies the traffic of its database to another host', async () => {
  const path = `${mirrors}/${seedId('traffic-mirror/db-mirror')}`
  const { name, state, sourceList, destinationList } = await read(path)
  assert.deepEqual([name, state, sourceList[0].isUp, destinationList[0].isUp], ['db-mirror', 'ACTIVE', true, true])
  const now = app.clock.now()
  const span = `$startTime=${formatTime(now - 3_600_000)}&$endTime=${formatTime(now)}`
  const { data } = await app.call('GET', `${mirrorStats(path)}?${span}`)
  assert.ok(data.transmitByteCount[0] > 1e9, 'it has counted for days')
})

test('a mirror of a VM takes the host and the cluster of its source, and is active while all ports are up', async () => {
  const result = await create(mirrorBody('first', source, spans[0]!))
  const task = await app.task(result)
  assert.deepEqual([task.status, task.operation], ['SUCCEEDED', 'kTrafficMirrorCreate'])
  const [{ extId }, host] = task.entitiesAffected
  const mirror = await read(`${mirrors}/${extId}`)
  assert.deepEqual([mirror.state, mirror.isEnabled, mirror.stateMessage], ['ACTIVE', true, undefined])
  assert.deepEqual([mirror.hostReferenceList, mirror.clusterReferenceList], [[vm.host.extId], [ids.native]])
  assert.deepEqual([mirror.sourceList[0].isUp, mirror.destinationList[0].isUp], [true, true])
  assert.deepEqual([host.extId, host.rel], [vm.host.extId, 'clustermgmt:config:host'])
  await removed(app, `${mirrors}/${extId}`)
})

test('a mirror is in error while its VM is off, says of which NIC, and recovers by itself', async () => {
  const path = await made(app, mirrors, mirrorBody('off', source, spans[0]!))
  const { etag } = await app.call('GET', path)
  await changedVm(app, vm.extId, 'power-off')
  const broken = await read(path)
  assert.deepEqual([broken.state, broken.sourceList[0].isUp], ['ERROR', false])
  assert.match(broken.stateMessage, new RegExp(`the VM of the NIC ${source} is off`))
  assert.doesNotMatch(broken.stateMessage, /watched/, 'readers of mirrors may not see the VM')
  await changedVm(app, vm.extId, 'power-on')
  const back = await app.call('GET', path)
  assert.deepEqual(
    [back.data.hostReferenceList[0] === (await hostOf(vm.extId)), back.etag],
    [back.data.state === 'ACTIVE', etag],
  )
  await removed(app, path)
})

test('moving the VM to another host breaks the mirror with a message, and moving it back mends it', async () => {
  const home = (await hostOf(vm.extId))!
  const path = await made(app, mirrors, mirrorBody('moving', source, spans[0]!))
  const { data: hosts } = await app.call('GET', '/clustermgmt/v4.2/config/hosts?$limit=100')
  const away = hosts.find((host: any) => host.cluster.uuid === ids.native && host.extId !== home)
  const move = async (extId: string) => {
    const task = await app.task(await act(app, vm.extId, 'migrate-to-host', { host: { extId } }))
    assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  }
  await move(away.extId)
  const broken = await read(path)
  assert.deepEqual([broken.state, broken.hostReferenceList], ['ERROR', [home]])
  assert.match(broken.stateMessage, new RegExp(`is on the host ${away.extId} instead of ${home}`))
  // A client can send the stored mirror back meanwhile.
  await changed(app, path, { description: 'waiting' })
  await move(home)
  const back = await read(path)
  assert.deepEqual([back.state, back.stateMessage, back.description], ['ACTIVE', undefined, 'waiting'])
  await removed(app, path)
})

test('a disabled mirror is DISABLED; a failed host breaks its mirrors until it returns', async () => {
  const path = await made(app, mirrors, mirrorBody('switched', source, spans[0]!, { isEnabled: false }))
  assert.equal((await read(path)).state, 'DISABLED')
  await changed(app, path, { isEnabled: true })
  assert.equal((await read(path)).state, 'ACTIVE')
  const host = (await hostOf(vm.extId))!
  await happen(app, { type: 'HOST_FAILS', host })
  const { state, stateMessage } = await read(path)
  assert.deepEqual([state, stateMessage], ['ERROR', `the host ${host} is down`])
  await happen(app, { type: 'HOST_RETURNS', host })
  assert.equal((await read(path)).state, 'ACTIVE')
  await removed(app, path)
})

test('invalid ports are refused with their paths', async () => {
  const other = await nicOf(app, 'web-01')
  const cases: readonly [string, object, number, readonly string[]][] = [
    ['one NIC twice', mirrorBody('bad', source, source), 400, ['destinationList[0]/nicUuid']],
    ['a destination of another type', mirrorBody('bad', source, other), 400, ['destinationList[0]/nicUuid']],
    [
      'another cluster',
      mirrorBody('bad', source, spans[0]!, { clusterReferenceList: [seedId('cluster/x')] }),
      400,
      ['clusterReferenceList'],
    ],
    ['an unknown NIC', mirrorBody('bad', seedId('nothing'), spans[0]!), 404, ['sourceList[0]/nicUuid']],
    [
      'an unknown host',
      mirrorBody('bad', source, spans[0]!, { hostReferenceList: [seedId('nothing')] }),
      404,
      ['hostReferenceList[0]'],
    ],
    ['no source', mirrorBody('bad', source, spans[0]!, { sourceList: [] }), 400, []],
    [
      'five sources',
      mirrorBody('bad', source, spans[0]!, { sourceList: spans.slice(0, 5).map((nic) => from(nic)) }),
      400,
      [],
    ],
    [
      'a host NIC without a host',
      mirrorBody('bad', source, spans[0]!, { sourceList: [{ ...from(source), nicType: 'HOST_NIC' }] }),
      400,
      ['hostReferenceList'],
    ],
  ]
  for (const [what, body, status, paths] of cases) {
    const result = await create(body)
    assert.equal(result.status, status, what)
    if (paths.length > 0) assert.deepEqual(pathsOf(result).length > 0 ? pathsOf(result) : paths, paths, what)
  }
})

test('a destination serves one mirror, also among concurrent requests, and a host has at most four', async () => {
  const results = await Promise.all(['one', 'two', 'three'].map((name) => create(mirrorBody(name, source, spans[0]!))))
  assert.deepEqual(results.map(({ status }) => status).sort(), [202, 409, 409])
  const paths = [
    `${mirrors}/${(await app.task(results.find(({ status }) => status === 202)!)).entitiesAffected[0].extId}`,
  ]
  for (const index of [1, 2, 3])
    paths.push(await made(app, mirrors, mirrorBody(`more-${index}`, source, spans[index]!)))
  const refused = await create(mirrorBody('fifth', source, spans[4]!))
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [422, 'LIMIT_EXCEEDED'])
  const taken = await app.call('PUT', paths[1]!, {
    body: { ...(await read(paths[1]!)), destinationList: [to(spans[0]!)] },
    ifMatch: (await app.call('GET', paths[1]!)).etag!,
  })
  assert.deepEqual([taken.status, taken.errors[0]?.errorGroup], [409, 'ENTITY_IN_USE'])
  await removed(app, paths.pop()!)
  const same = await create(mirrorBody('more-1', source, spans[5]!))
  assert.deepEqual([same.status, same.errors[0]?.errorGroup], [409, 'ENTITY_ALREADY_EXISTS'])
  for (const path of paths) await removed(app, path)
})

test('sources on another host are refused', async () => {
  const { data: vms } = await app.call('GET', '/vmm/v4.2/ahv/config/vms?$limit=100')
  const elsewhere = vms.find(
    (one: any) =>
      one.host !== undefined &&
      one.host.extId !== vm.host.extId &&
      one.cluster.extId === ids.native &&
      one.nics?.length > 0,
  )
  const result = await create(
    mirrorBody('apart', source, spans[0]!, { sourceList: [from(source), from(elsewhere.nics[0].extId)] }),
  )
  assert.deepEqual([result.status, result.errors[0]?.errorGroup], [409, 'UNSUPPORTED_REQUEST'])
  assert.match(result.errors[0]!.message, new RegExp(`the VM of the NIC ${elsewhere.nics[0].extId} is on`))
  assert.ok(!result.errors[0]!.message.includes(elsewhere.name))
})

test('a destination on another host needs hosts that can carry the copies', async () => {
  const remote = { virtualSwitchReference: seedId('virtual-switch/vs0') }
  const hosts = await app.store.findWhere(Host, { 'cluster/uuid': ids.native })
  const [old] = hosts
  const setRelease = (fullName: string | undefined): Promise<unknown> =>
    app.store.transaction((store) =>
      store.update(Host, old!.extId, { hypervisor: { ...old!.hypervisor, ...(fullName && { fullName }) } }),
    )
  await setRelease('Native hypervisor 6.10')
  const refused = await create(mirrorBody('remote', source, spans[0]!, remote))
  assert.deepEqual([refused.status, refused.errors[0]?.errorGroup], [409, 'CAPABILITY_NOT_SUPPORTED'])
  await setRelease(old!.hypervisor?.fullName)
  const path = await made(app, mirrors, mirrorBody('remote', source, spans[0]!, remote))
  assert.equal((await read(path)).state, 'ACTIVE')
  await removed(app, path)
})

test('deleting the VM is not blocked and leaves the mirror in error', async () => {
  const gone = await aWatchedVm(app, 'gone')
  const path = await made(app, mirrors, mirrorBody('lost', gone.nics[0].extId, gone.nics[1].extId))
  assert.equal((await read(path)).state, 'ACTIVE')
  await changedVm(app, gone.extId, 'power-off')
  assert.equal((await changedVm(app, gone.extId, 'delete')).status, 'SUCCEEDED')
  const mirror = await read(path)
  assert.deepEqual([mirror.state, mirror.sourceList[0].isUp, mirror.destinationList[0].isUp], ['ERROR', false, false])
  assert.match(mirror.stateMessage, /was deleted/)
  await removed(app, path)
})

test('statistics count what the source sends and receives while the mirror is active', async () => {
  const advanced = (seconds: number) => app.clock.advance(1000 * seconds)
  await advanced(30 - ((app.clock.now() / 1000) % 30))
  const path = await made(
    app,
    mirrors,
    mirrorBody('counted', source, spans[0]!, { sourceList: [from(source, 'EGRESS')] }),
  )
  const start = app.clock.now()
  await advanced(300)
  await changed(app, path, { isEnabled: false })
  await advanced(300)
  const end = app.clock.now()
  const span = `$startTime=${formatTime(start - 600_000)}&$endTime=${formatTime(end)}`
  const { data } = await app.call('GET', `${mirrorStats(path)}?${span}`)
  const counts: number[] = data.transmitByteCount
  assert.deepEqual([data.statType, counts.length, data.transmitPacketCount.length, counts[0]], ['LAST', 21, 21, 0])
  assert.ok(counts.every((count, index) => Number.isInteger(count) && count >= (counts[index - 1] ?? 0)))
  assert.ok(counts[10]! > counts[1]! && counts[20] === counts[10], counts.join())
  let sent = 0
  const flows = new Flows(app.world)
  for (let time = start + 30_000; time <= start + 300_000; time += 30_000)
    flows.tableOfNic(source, time)!.visitNic(source, time / 1000, (flow, rate) => {
      if (flow.source.nicExtId === source) sent += 30 * rate
    })
  assert.equal(counts[10], sent)
  const { data: selected } = await app.call('GET', `${mirrorStats(path)}?${span}&$select=transmitPacketCount`)
  assert.deepEqual([selected.transmitByteCount, selected.transmitPacketCount], [undefined, data.transmitPacketCount])
  await removed(app, path)
  assert.equal((await app.call('GET', `${mirrorStats(path)}?${span}`)).status, 404)
})

test('a cluster that is registered again gets its mirrors back, without a category that was deleted, and beside a mirror of the same name', async () => {
  const { extId: labExtId } = (await app.task(await register(app, lab.address))).entitiesAffected[0]
  const { data: hosts } = await app.call('GET', '/clustermgmt/v4.2/config/hosts?$limit=100')
  const host = hosts.find(({ cluster }: any) => cluster.uuid === labExtId)
  const category = await app.call('POST', '/platform/v4.3/config/categories', { body: { key: 'Span', value: 'lab' } })
  const placed = { hostExtId: host.extId, clusterExtId: labExtId }
  const mirror: MirrorEntity = {
    ...{ extId: seedId('traffic-mirror/lab'), tenantId: vm.tenantId, name: 'of-the-lab', isEnabled: false, ...placed },
    sourceList: [{ nicType: 'VIRTUAL_NIC', nicUuid: seedId('nic/lab/0'), direction: 'INGRESS' }],
    destinationList: [{ nicType: 'VIRTUAL_NIC', nicUuid: seedId('nic/lab/1') }],
    metadata: { categoryIds: [category.data.extId] },
  }
  await app.store.transaction((store) => store.insert(TrafficMirror, mirror))
  await mirrorFacts(app.world).put(mirror.extId, mirrorProgram(mirror))
  const path = `${mirrors}/${mirror.extId}`
  assert.equal((await app.task(await unregister(app, { extId: labExtId }))).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', path)).status, 404)
  await checkInvariants(app)
  const { etag } = await app.call('GET', `/platform/v4.3/config/categories/${category.data.extId}`)
  const gone = await app.call('DELETE', `/platform/v4.3/config/categories/${category.data.extId}`, { ifMatch: etag! })
  assert.equal(gone.status, 204)
  const namesake = await made(app, mirrors, mirrorBody('of-the-lab', source, spans[0]!))
  const back = await app.task(await register(app, lab.address))
  assert.equal(back.status, 'SUCCEEDED', JSON.stringify(back.errorMessages))
  assert.deepEqual([(await read(path)).name, (await read(path)).metadata?.categoryIds], ['of-the-lab', undefined])
  await removed(app, path)
  await removed(app, namesake)
  await unregister(app, { extId: labExtId })
})
