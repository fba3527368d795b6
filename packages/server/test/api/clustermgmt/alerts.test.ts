/** Alerts of clusters. Source: behaviour clustermgmt.md 1.12, 3 (Capacity). */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import { type Alert, ClosedAlert, OpenAlert } from '../../../src/domains/clustermgmt/alerts/alert.ts'
import { advance, clustermgmt, hostId, ids, putFresh, setFault } from '../../support/clustermgmt.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())
beforeEach(() => advance(app, 10))

/** All alerts that are open, without those of the demo. */
async function openAlerts(of = app): Promise<Alert[]> {
  return (await of.store.find(OpenAlert)).filter(({ type }) => type !== 'PROFILE_DRIFT')
}
const openTypes = async (of = app): Promise<string[]> => (await openAlerts(of)).map(({ type }) => type)

test('a failed disk opens one alert, with the time of its failure, and closes it when the disk is removed', async () => {
  const host = (await app.call('GET', `${clustermgmt}/hosts?$filter=hostName eq 'hp-n01-b'`)).data[0]
  const [{ serialId, uuid }] = host.disk
  const failedAt = app.clock.iso()
  await happen(app, { type: 'DISK_FAILS', disk: serialId })
  await advance(app, 1)
  const [alert, ...others] = await openAlerts()
  assert.deepEqual(others, [])
  assert.deepEqual(
    { ...alert, extId: '' },
    {
      extId: '',
      type: 'DISK_FAILED',
      clusterExtId: ids.native,
      ...{ entityKind: 'Disk', entityExtId: uuid, entityName: serialId },
      hostExtId: host.extId,
      text: `The disk ${serialId} of the host hp-n01-b has failed.`,
      openedAt: failedAt,
    },
  )
  await advance(app, 60)
  assert.deepEqual(await openAlerts(), [alert])
  await happen(app, { type: 'DISK_REPLACED', disk: serialId })
  assert.deepEqual(await openAlerts(), [alert])
  await app.task(await app.call('DELETE', `${clustermgmt}/disks/${uuid}`))
  await advance(app, 1)
  assert.deepEqual(await openAlerts(), [])
})

test('a host that does not answer has failed, one that is slow is degraded, and a failed one is not degraded as well', async () => {
  const host = hostId('hp-n01-c')
  await setFault(app, host, { slowdown: 8 })
  await advance(app, 1)
  assert.deepEqual(await openTypes(), ['HOST_DEGRADED'])
  await setFault(app, host, { slowdown: 8, isDown: true })
  await advance(app, 1)
  const [alert, ...others] = await openAlerts()
  assert.deepEqual(others, [])
  assert.equal(alert?.type, 'HOST_FAILED')
  assert.equal(alert?.entityExtId, host)
  assert.equal(alert?.text, 'The host hp-n01-c does not answer.')
  await setFault(app, host)
  await advance(app, 1)
  assert.deepEqual(await openAlerts(), [])
})

test('alerts of a cluster that cannot be reached stay as they are', async () => {
  const host = hostId('hp-n01-c')
  await setFault(app, host, { isDown: true })
  await advance(app, 1)
  const before = await openAlerts()
  assert.equal(before.length, 1)
  await setFault(app, ids.native, { isDown: true })
  await setFault(app, host)
  await advance(app, 10)
  assert.deepEqual(await openAlerts(), before)
  await setFault(app, ids.native)
  await advance(app, 10)
  assert.deepEqual(await openAlerts(), [])
})

test('a member that drifts from its profile has one alert until it complies again', async () => {
  const drifts = async () => (await app.store.find(OpenAlert)).filter(({ type }) => type === 'PROFILE_DRIFT')
  const [alert, ...others] = await drifts()
  assert.deepEqual(others, [])
  assert.equal(alert?.entityExtId, ids.extern)
  assert.equal(alert?.text, 'The cluster hp-extern-01 differs from its profile in SMTP_SERVER_CONFIG.')
  const profile = (await app.call('GET', `${clustermgmt}/cluster-profiles/${ids.baseline}`)).data
  const { smtpServer } = profile
  await app.task(await putFresh(app, `${clustermgmt}/clusters/${ids.extern}`, { network: { smtpServer } }))
  await advance(app, 1)
  assert.deepEqual(await drifts(), [])
})

test('a container with a limit of its own, and a pool, have alerts while less than a tenth is free', async () => {
  await happen(app, { type: 'CONTAINER_FILLS', container: 'archive-ec', percent: 89 })
  await advance(app, 10)
  assert.deepEqual(await openAlerts(), [])
  await happen(app, { type: 'CONTAINER_FILLS', container: 'archive-ec', percent: 95 })
  await advance(app, 10)
  const [alert, ...others] = await openAlerts()
  assert.deepEqual(others, [])
  assert.equal(alert?.type, 'STORAGE_CONTAINER_LOW')
  assert.equal(alert?.entityName, 'archive-ec')
  assert.equal(alert?.text, 'Less than 10 % of the storage container archive-ec is free.')
  await happen(app, { type: 'CONTAINER_FREED', container: 'archive-ec' })
  await happen(app, { type: 'CONTAINER_FILLS', container: 'default-container-48105320771234', percent: 100 })
  await advance(app, 10)
  const open = await openAlerts()
  assert.deepEqual(open.map(({ type, entityName }) => `${type} ${entityName}`).sort(), [
    'STORAGE_CONTAINER_LOW archive-ec',
    'STORAGE_POOL_LOW hp-native-01',
  ])
  await happen(app, { type: 'CONTAINER_FREED', container: 'default-container-48105320771234' })
  await advance(app, 10)
  assert.deepEqual(await openAlerts(), [])
})

test('usage that moves around the limit does not close the alert: 12 % must be free for that', async () => {
  const fill = async (percent: number): Promise<string[]> => {
    await happen(app, { type: 'CONTAINER_FREED', container: 'archive-ec' })
    await happen(app, { type: 'CONTAINER_FILLS', container: 'archive-ec', percent })
    await advance(app, 10)
    return openTypes()
  }
  assert.deepEqual(await fill(89), [])
  assert.deepEqual(await fill(95), ['STORAGE_CONTAINER_LOW'])
  const [alert] = await openAlerts()
  assert.deepEqual(await fill(89), ['STORAGE_CONTAINER_LOW'])
  assert.deepEqual(await openAlerts(), [alert])
  assert.deepEqual(await fill(80), [])
})

test('a closed alert is kept for the 90 days of statistics, until a later one closes', async () => {
  const at = await startQuietDemo()
  const closedAfter = async (minutes: number): Promise<string[]> => {
    await advance(at, minutes)
    await setFault(at, hostId('hp-n01-c'), { isDown: true })
    await advance(at, 1)
    await setFault(at, hostId('hp-n01-c'))
    await advance(at, 1)
    const closed = await at.store.findWhere(ClosedAlert, { clusterExtId: ids.native })
    return closed.filter(({ type }) => type === 'HOST_FAILED').map(({ closedAt }) => closedAt)
  }
  try {
    const first = await closedAfter(0)
    assert.equal(first.length, 1)
    const second = await closedAfter(90 * 24 * 60 - 10)
    assert.deepEqual([second.length, second[0]], [2, first[0]])
    const third = await closedAfter(10)
    assert.deepEqual([third.length, third[0]], [2, second[1]])
  } finally {
    await at.close()
  }
})

test('an alert that is open when the service stops is the same one after the start, and closes while it is down', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-alerts-'))
  const first = await startApp({ folder })
  await setFault(first, hostId('hp-n01-a'), { isDown: true })
  await setFault(first, hostId('hp-n01-b'), { isDown: true })
  await advance(first, 1)
  const before = await openAlerts(first)
  assert.equal(before.length, 2)
  // The host answers again, and the service stops before it can notice.
  await setFault(first, hostId('hp-n01-a'))
  await first.close()
  const second = await startApp({ folder })
  try {
    assert.deepEqual(await openAlerts(second), before)
    await advance(second, 1)
    assert.deepEqual(
      await openAlerts(second),
      before.filter(({ entityName }) => entityName === 'hp-n01-b'),
    )
  } finally {
    await second.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
