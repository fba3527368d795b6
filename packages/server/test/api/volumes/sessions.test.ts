/** Sessions of external clients, and what they read and write. Source: behaviour volumes-storage.md 1.5, 3, 5 (23, 33). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { targetFacts } from '../../../src/drivers/simulated/block-facts.ts'
import { happen, postEvent, startQuietDemo } from '../../support/events.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import {
  act,
  aGroup,
  chap,
  clients,
  clusterId,
  GiB,
  nameOf,
  onContainer,
  put,
  secret,
  send,
  succeeded,
} from '../../support/volumes.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const clientSecret = 'client-secret-1'
const minute = 60_000
const disk = { disks: [{ diskSizeBytes: 100 * GiB, ...onContainer() }] }

async function attached(body: object, client: object = {}): Promise<{ group: any; clientId: string; name: string }> {
  const group = await aGroup(app, { ...disk, ...body })
  const name = `iqn.2026-01.io.example:${nameOf('host')}`
  const task = await succeeded(
    app,
    act(app, group.extId, 'attach-iscsi-client', { iscsiInitiatorName: name, ...client }),
  )
  return { group, clientId: task.entitiesAffected[0].extId, name }
}
const detach = (groupId: string, extId: string) => succeeded(app, act(app, groupId, 'detach-iscsi-client', { extId }))
const sessionsOf = (groupId: string): string[] =>
  app.drivers.blockStorage.sessionsOf(groupId).map(({ clientExtId }) => clientExtId)
const iso = (time: number): string => new Date(time).toISOString()

/** IOPS of the last minutes. */
async function iopsOf(path: string, minutes = 5): Promise<number[]> {
  const now = app.clock.now()
  const { status, data, errors } = await app.call(
    'GET',
    `${path}?$startTime=${iso(now - minutes * minute)}&$endTime=${iso(now)}`,
  )
  assert.equal(status, 200, JSON.stringify(errors))
  return (data.controllerNumIOPS ?? data.controllerNumIops).map(({ value }: any) => value)
}
const statsOf = (groupId: string): string => `/volumes/v4.2/stats/volume-groups/${groupId}`

test('a client that may use a group logs in within 30 s; after its detach the session is closed', async () => {
  const { group, clientId } = await attached({})
  await app.clock.advance(30_000)
  assert.deepEqual(sessionsOf(group.extId), [clientId])
  await detach(group.extId, clientId)
  assert.deepEqual(sessionsOf(group.extId), [])
})

test('23. a client with the wrong CHAP secret has no session, and its I/O is zero; with the secret corrected by PUT, I/O appears', async () => {
  const { group, clientId, name } = await attached(chap, { enabledAuthentications: 'CHAP', clientSecret })
  const other = 'another-secret'
  const event = await happen(app, { type: 'STORAGE_CLIENT_CHANGES_SECRET', client: name, secret: other })
  assert.ok(!JSON.stringify(event).includes(other))
  await app.clock.advance(10 * minute)
  assert.deepEqual(sessionsOf(group.extId), [])
  assert.deepEqual(new Set(await iopsOf(statsOf(group.extId))), new Set([0]))
  await succeeded(app, put(app, `${clients}/${clientId}`, { enabledAuthentications: 'CHAP', clientSecret: other }))
  await app.clock.advance(10 * minute)
  assert.deepEqual(sessionsOf(group.extId), [clientId])
  assert.ok((await iopsOf(statsOf(group.extId))).every((value) => value > 0))
})

test('a new secret of the group closes its sessions, and its clients log in again', async () => {
  const { group } = await attached(chap)
  await app.clock.advance(minute)
  const [before] = app.drivers.blockStorage.sessionsOf(group.extId)
  const changed = {
    iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: `${secret}2` },
    enabledAuthentications: 'CHAP',
  }
  await succeeded(app, put(app, `/volumes/v4.2/config/volume-groups/${group.extId}`, changed))
  assert.deepEqual(sessionsOf(group.extId), [])
  await app.clock.advance(30_000)
  const [after] = app.drivers.blockStorage.sessionsOf(group.extId)
  assert.ok(after!.since > before!.since)
})

test('a client without CHAP of its own that changed its secret logs in when the group gets a new one', async () => {
  const { group, clientId, name } = await attached(chap)
  await happen(app, { type: 'STORAGE_CLIENT_CHANGES_SECRET', client: name })
  await app.clock.advance(minute)
  assert.deepEqual(sessionsOf(group.extId), [])
  const changed = {
    iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: `${secret}3` },
    enabledAuthentications: 'CHAP',
  }
  await succeeded(app, put(app, `/volumes/v4.2/config/volume-groups/${group.extId}`, changed))
  await app.clock.advance(minute)
  assert.deepEqual(sessionsOf(group.extId), [clientId])
})

test('a client that disconnects has no session until it connects again', async () => {
  const { group, clientId, name } = await attached({})
  await app.clock.advance(minute)
  const event = await happen(app, { type: 'STORAGE_CLIENT_DISCONNECTS', client: name })
  assert.deepEqual(event.effects, [`The client ${name} was removed, and 1 session with it.`])
  assert.deepEqual(sessionsOf(group.extId), [])
  assert.deepEqual((await happen(app, { type: 'STORAGE_CLIENT_DISCONNECTS', client: clientId })).effects, [])
  await happen(app, { type: 'STORAGE_CLIENT_CONNECTS', client: name })
  await app.clock.advance(30_000)
  assert.deepEqual(sessionsOf(group.extId), [clientId])
  const unknown = await postEvent(app, { type: 'STORAGE_CLIENT_CONNECTS', client: 'iqn.2026-01.io.example:nobody' })
  assert.equal(unknown.status, 404)
})

test('while the data services of a cluster are down, none of its groups has a session', async () => {
  const { group, clientId } = await attached({})
  await app.clock.advance(minute)
  await happen(app, { type: 'DATA_SERVICES_FAIL', cluster: 'hp-native-01' })
  assert.deepEqual(sessionsOf(group.extId), [])
  assert.deepEqual(sessionsOf(seedId('volume-group/vg-orders-db')), [])
  await happen(app, { type: 'DATA_SERVICES_RETURN', cluster: 'hp-native-01' })
  await app.clock.advance(30_000)
  assert.deepEqual(sessionsOf(group.extId), [clientId])
})

test('the disks of a group fill while a client has a session, and stay as they are without one', async () => {
  const { group, clientId, name } = await attached({})
  const used = async (): Promise<number> => {
    const [fact] = [...targetFacts(app.world).all().keys()].filter((extId) => extId === group.extId)
    assert.ok(fact)
    const { data } = await app.call('GET', `/volumes/v4.2/config/volume-groups/${group.extId}/disks`)
    const usage = await app.drivers.blockStorage.usageOf(data.map(({ extId }: any) => extId))
    return [...usage.values()].reduce((sum, { writtenBytes }) => sum + writtenBytes, 0)
  }
  await app.clock.advance(2 * 24 * 60 * minute)
  const filled = await used()
  assert.ok(filled > 5 * GiB, `${filled}`)
  await happen(app, { type: 'STORAGE_CLIENT_DISCONNECTS', client: name })
  await app.clock.advance(24 * 60 * minute)
  assert.equal(await used(), filled)
  await detach(group.extId, clientId)
})

test('a host in maintenance serves no client, whose sessions stay open', async () => {
  const fresh = await startApp()
  try {
    const hosts: string[] = (await fresh.call('GET', `/clustermgmt/v4.2/config/clusters/${clusterId}/hosts`)).data.map(
      ({ extId }: any) => extId,
    )
    const group = seedId('volume-group/vg-orders-db')
    const busy = async (extId: string): Promise<number> => {
      const disks = (await fresh.call('GET', `/volumes/v4.2/config/volume-groups/${group}/disks`)).data
      let sum = 0
      for (const { extId: diskId, index } of disks) {
        const ref = { extId: diskId, index, volumeGroupExtId: group, isFlash: true }
        const [parts = []] = await fresh.drivers.telemetry.readBlockDisk(ref, hosts, [fresh.clock.now()])
        for (const { hostExtId, reading } of parts) if (hostExtId === extId) sum += reading.readIops + reading.writeIops
      }
      return sum
    }
    const loads = await Promise.all(hosts.map(busy))
    const host = hosts[loads.findIndex((load) => load > 0)]!
    const before = fresh.drivers.blockStorage.sessionsOf(group)
    const path = `/clustermgmt/v4.2/operations/clusters/${clusterId}/hosts/${host}`
    await succeeded(fresh, send(fresh, 'POST', `${path}/$actions/enter-host-maintenance`, { body: {} }))
    await fresh.clock.advance(minute)
    assert.equal(await busy(host), 0)
    assert.ok((await Promise.all(hosts.map(busy))).some((load) => load > 0))
    assert.deepEqual(fresh.drivers.blockStorage.sessionsOf(group), before)
  } finally {
    await fresh.close()
  }
})
