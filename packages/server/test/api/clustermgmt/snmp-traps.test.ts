/** Alerts that leave as SNMP traps and informs. Source: behaviour clustermgmt.md 1.12; RFC 3414, 3430. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import snmp from 'net-snmp'
import { AlertNotice } from '../../../src/domains/clustermgmt/alerts/alert.ts'
import { engineIdOf } from '../../../src/domains/clustermgmt/snmp/mib.ts'
import { advance, clustermgmt, hostId, ids, putFresh, setFault } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { exported } from '../../support/seeds.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { monitorUser, type Receiver, startTrapReceiver } from '../../support/trap-receiver.ts'
import { ip } from '../../support/vpcs.ts'

const config = { allowAddress: ['127.0.0.0/8', '::1'] }
let app: TestApp
before(async () => {
  app = await startApp({ config })
})
after(() => app.close())

const receivers: Receiver[] = []
beforeEach(async () => {
  for (const { extId } of (await read(snmp1)).traps) await done(app.call('DELETE', `${snmp1}/traps/${extId}`))
  for (const receiver of receivers.splice(0)) receiver.close()
  await setFault(app, hostId('hp-n01-a'))
  await advance(app, 1)
})
after(() => {
  for (const receiver of receivers) receiver.close()
})

const snmp1 = `${clustermgmt}/clusters/${ids.native}/snmp`
const keys = { authKey: 'Auth.Key.1', privKey: 'Priv.Key.1' }
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data

async function done(started: CallResult | Promise<CallResult>, of = app): Promise<any> {
  const task = await of.task(await started)
  assert.deepEqual([task.status, task.errorMessages ?? []], ['SUCCEEDED', []])
  return task
}
async function receiver(options: Parameters<typeof startTrapReceiver>[0] = { community: 'public' }): Promise<Receiver> {
  const started = await startTrapReceiver(options)
  receivers.push(started)
  return started
}
const aTrap = ({ port }: { readonly port: number }, more: object = {}, of = app): Promise<any> =>
  done(of.call('POST', `${snmp1}/traps`, { body: { address: ip('127.0.0.1'), port, version: 'V2', ...more } }), of)
async function failHost(of = app): Promise<void> {
  await setFault(of, hostId('hp-n01-a'), { isDown: true })
  await advance(of, 1)
}
async function repairHost(of = app): Promise<void> {
  await setFault(of, hostId('hp-n01-a'))
  await advance(of, 1)
}

test('the failure of a host and its return are sent as two traps of V2', async () => {
  const station = await receiver({ community: 'alerts' })
  await aTrap(station, { communityString: 'alerts' })
  const since = app.clock.iso()
  await setFault(app, hostId('hp-n01-a'), { isDown: true, since: app.clock.now() })
  await advance(app, 1)
  const [opened, ...more] = await station.settled()
  assert.deepEqual(more, [])
  assert.equal(opened?.change, 'opened')
  assert.equal(opened?.isInform, false)
  const { alertId, alertChangedAt, ...values } = opened?.values ?? assert.fail('no values')
  assert.match(alertId as string, /^[0-9a-f-]{36}$/)
  assert.ok((alertChangedAt as string) > since)
  assert.deepEqual(values, {
    ...{
      alertNumber: 1002,
      alertName: 'HOST_FAILED',
      alertSeverity: 1,
      alertText: 'The host hp-n01-a does not answer.',
    },
    ...{ alertClusterId: ids.native, alertClusterName: 'hp-native-01' },
    ...{ alertEntityKind: 'Host', alertEntityId: hostId('hp-n01-a'), alertEntityName: 'hp-n01-a' },
    alertOpenedAt: since,
  })
  await repairHost()
  const [, closed] = await station.settled()
  assert.deepEqual([closed?.change, closed?.values.alertId], ['closed', alertId])
  assert.deepEqual(station.refused, [])
})

for (const [authType, privType] of [
  ['SHA', 'AES'],
  ['SHA', 'DES'],
  ['MD5', 'AES'],
  ['MD5', 'DES'],
  ['MD5', undefined],
  ['SHA', undefined],
] as const)
  for (const shouldInform of [false, true])
    test(`V3 with ${authType} and ${privType ?? 'no privacy'}: ${shouldInform ? 'an inform' : 'a trap'} arrives, and one with another key is refused`, async () => {
      const username = `${authType}-${privType}-${shouldInform}`
      const protocols = {
        authProtocol: authType === 'SHA' ? snmp.AuthProtocols.sha : snmp.AuthProtocols.md5,
        ...(privType && { privProtocol: privType === 'AES' ? snmp.PrivProtocols.aes : snmp.PrivProtocols.des }),
        level: privType === undefined ? snmp.SecurityLevel.authNoPriv : snmp.SecurityLevel.authPriv,
      }
      const station = await receiver({ users: [{ name: username, ...protocols, ...keys }] })
      const stranger = await receiver({ users: [{ name: username, ...protocols, ...keys, authKey: 'Another.Key' }] })
      const body = { username, authType, ...keys, privType, ...(privType === undefined ? { privKey: undefined } : {}) }
      await done(app.call('POST', `${snmp1}/users`, { body }))
      await aTrap(station, { version: 'V3', username, shouldInform })
      await aTrap(stranger, { version: 'V3', username, shouldInform })
      await failHost()
      const told = await station.settled()
      assert.deepEqual(
        told.map(({ isInform, values }) => [isInform, values.alertName]),
        [[shouldInform, 'HOST_FAILED']],
      )
      assert.equal(
        station.messages.some((message) => message.includes('HOST_FAILED')),
        privType === undefined,
      )
      await stranger.settled()
      assert.deepEqual(stranger.traps, [])
      assert.ok(stranger.refused.length > 0)
    })

test('an engine keeps its id, and its time goes on: traps of V3 state the id of the cluster, or that of the trap', async () => {
  const station = await receiver({ users: [monitorUser('Simulated.Auth.1', 'Simulated.Priv.1')] })
  await aTrap(station, { version: 'V3', username: 'monitor' })
  await failHost()
  await station.settled()
  const [first] = station.messages
  const { engineId, boots, time } = engineIn(first as Buffer)
  assert.deepEqual([engineId, boots], [engineIdOf(ids.native), 1])
  assert.ok(Math.abs(time - (Date.now() - Date.UTC(2020, 0, 1)) / 1000) < 60)
  const [trap] = (await read(snmp1)).traps
  const body = { ...trap, engineId: '0x80001F880401020304' }
  await done(putFresh(app, `${snmp1}/traps/${trap.extId}`, body))
  await repairHost()
  await station.settled()
  assert.equal(engineIn(station.messages[1] as Buffer).engineId, '80001f880401020304')
  assert.deepEqual(station.refused, [])
})

test('TCP and IPv6 carry traps and informs too', async () => {
  const stations = [
    await receiver({ community: 'public', protocol: 'tcp' }),
    await receiver({ community: 'public', protocol: 'tcp' }),
    await receiver({ community: 'public', protocol: 'udp6' }),
  ] as const
  await aTrap(stations[0], { protocol: 'TCP' })
  await aTrap(stations[1], { protocol: 'TCP', shouldInform: true })
  await aTrap(stations[2], { protocol: 'UDP6', address: { ipv6: { value: '::1' } } })
  await failHost()
  for (const [index, station] of stations.entries()) {
    const told = await station.settled()
    assert.deepEqual(
      told.map(({ isInform, values }) => [isInform, values.alertName]),
      [[index === 1, 'HOST_FAILED']],
    )
  }
})

test('a failed disk, a full container and drift are sent as traps, only to the receivers of their own cluster', async () => {
  const stations = [await receiver(), await receiver()]
  for (const station of stations) await aTrap(station)
  const elsewhere = await receiver()
  const extern = snmp1.replace(ids.native, ids.extern)
  const trap = { address: ip('127.0.0.1'), port: elsewhere.port, version: 'V2' }
  await done(app.call('POST', `${extern}/traps`, { body: trap }))
  await done(app.call('POST', `${extern}/$actions/update-status`, { body: { isEnabled: true } }))
  const [{ disk }] = await read(`${clustermgmt}/hosts?$filter=hostName eq 'hp-n01-b'`)
  await happen(app, { type: 'DISK_FAILS', disk: disk[0].serialId })
  await happen(app, { type: 'CONTAINER_FILLS', container: 'archive-ec', percent: 95 })
  await advance(app, 10)
  for (const station of stations)
    assert.deepEqual((await station.settled()).map(({ values }) => values.alertName).sort(), [
      'DISK_FAILED',
      'STORAGE_CONTAINER_LOW',
    ])
  assert.deepEqual(await elsewhere.settled(), [])
  const { smtpServer } = await read(`${clustermgmt}/cluster-profiles/${ids.baseline}`)
  await done(putFresh(app, `${clustermgmt}/clusters/${ids.extern}`, { network: { smtpServer } }))
  await advance(app, 1)
  assert.deepEqual(
    (await elsewhere.settled()).map(({ change, values }) => [change, values.alertName]),
    [['closed', 'PROFILE_DRIFT']],
  )
})

test('no trap is sent while SNMP is disabled, also when it was disabled at the cluster', async () => {
  const station = await receiver()
  await aTrap(station)
  const path = 'SNMP_SERVER_CONFIG/isEnabled'
  await happen(app, { type: 'FACT_CHANGES', kind: 'CLUSTER', of: 'hp-native-01', path, value: false })
  await failHost()
  assert.deepEqual(await station.settled(), [])
  await happen(app, { type: 'FACT_CHANGES', kind: 'CLUSTER', of: 'hp-native-01', path, value: true })
  await repairHost()
  assert.deepEqual(
    (await station.settled()).map(({ change }) => change),
    ['closed'],
  )
})

test('receivers that are away delay neither the others nor a request', async () => {
  const away = await receiver()
  away.close()
  receivers.splice(receivers.indexOf(away), 1)
  const users = monitorUser('Simulated.Auth.1', 'Simulated.Priv.1')
  const station = await receiver({ community: 'public', users: [users] })
  await aTrap(away, { shouldInform: true })
  await aTrap(away, { protocol: 'TCP', address: ip('127.0.0.2') })
  await aTrap(away, { version: 'V3', username: 'monitor', shouldInform: true, address: ip('127.0.0.3') })
  await aTrap(station)
  const begun = performance.now()
  await failHost()
  assert.equal((await station.settled()).length, 1)
  assert.ok(performance.now() - begun < 4000)
})

test('a receiver that --allow-address does not open gets nothing, and its creation says so', async () => {
  const address = ip('10.9.8.7')
  const task = await done(app.call('POST', `${snmp1}/traps`, { body: { address, version: 'V2' } }))
  assert.match(task.warnings[0].message, /No trap is sent to 10\.9\.8\.7 now: .*--allow-address/)
})

test('each alert is sent once, also across restarts of the service, and an alert that opened before a stop is sent after the start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hyperplane-traps-'))
  const station = await receiver()
  let own = await startApp({ folder, config })
  try {
    await aTrap(station, {}, own)
    await failHost(own)
    assert.equal((await station.settled()).length, 1)
    await own.close()
    own = await startApp({ folder, config })
    await advance(own, 10)
    assert.equal((await station.settled()).length, 1)
    // The alert opens, and the service stops before the second in which it would be told.
    await setFault(own, hostId('hp-n01-b'), { isDown: true })
    await own.clock.advance(10_000)
    assert.deepEqual((await own.store.find(AlertNotice)).map(({ receiver: name }) => name).sort(), ['snmp', 'syslog'])
    await own.close()
    own = await startApp({ folder, config })
    await advance(own, 1)
    assert.deepEqual(
      (await station.settled()).map(({ values }) => values.alertEntityName),
      ['hp-n01-a', 'hp-n01-b'],
    )
    assert.deepEqual(await own.store.find(AlertNotice), [])
  } finally {
    await own.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('an exported world gets other keys for its SNMP users, and signs traps with them', async () => {
  const text = await exported(app)
  assert.ok(!text.includes('Simulated.Auth.1'))
  const copy = await startApp({ config: { ...config, seed: { text } } })
  try {
    // The station does not know the new keys: it refuses a trap that was signed.
    const station = await receiver({ users: [monitorUser('Simulated.Auth.1', 'Simulated.Priv.1')] })
    await aTrap(station, { version: 'V3', username: 'monitor' }, copy)
    await failHost(copy)
    await station.settled()
    assert.ok(station.refused.length > 0)
    assert.deepEqual(station.traps, [])
  } finally {
    await copy.close()
  }
})

/** Reads msgSecurityParameters. Source: RFC 3412 6, 3414 2.4. */
function engineIn(message: Buffer): { engineId: string; boots: number; time: number } {
  const [, , security] = itemsIn(itemsIn(message)[0] as Buffer)
  const [engineId, boots, time] = itemsIn(itemsIn(security as Buffer)[0] as Buffer)
  const number = (bytes: Buffer | undefined): number => Number(BigInt(`0x${bytes?.toString('hex')}`))
  return { engineId: engineId?.toString('hex') ?? '', boots: number(boots), time: number(time) }
}

function itemsIn(bytes: Buffer): Buffer[] {
  const items: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at + 1] as number
    const size = first < 0x80 ? 0 : first & 0x7f
    const length = size === 0 ? first : bytes.readUIntBE(at + 2, size)
    items.push(bytes.subarray(at + 2 + size, at + 2 + size + length))
    at += 2 + size + length
  }
  return items
}
