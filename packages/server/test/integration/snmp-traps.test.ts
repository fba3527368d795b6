/** Alerts, received by an implementation that is not ours: Debian's snmptrapd. Source: behaviour clustermgmt.md 1.12; RFC 3414, 3430. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { engineIdOf, notifications, objectIds } from '../../src/domains/clustermgmt/snmp/mib.ts'
import { createTrapSender } from '../../src/drivers/snmp/trap-sender.ts'
import type { TrapReceiver } from '../../src/drivers/traps.ts'
import { advance, clustermgmt, hostId, ids } from '../support/clustermgmt.ts'
import { happen } from '../support/events.ts'
import { startApp, type TestApp } from '../support/start-app.ts'
import { ip } from '../support/vpcs.ts'
import { type Snmptrapd, startSnmptrapd, type TrapUser } from './snmptrapd.ts'

const combinations = [
  { authType: 'SHA', privType: 'AES' },
  { authType: 'MD5', privType: 'DES' },
] as const
const keys = { authKey: 'Station.Auth.1', privKey: 'Station.Priv.1' }
const ownEngine = '80001f880401020304'
const users: readonly (TrapUser & { readonly name: string })[] = [
  ...combinations.flatMap((types, index) => [
    { name: `trapper${index}`, ...types, ...keys, engineId: engineIdOf(ids.native) },
    { name: `informer${index}`, ...types, ...keys },
  ]),
  { name: 'timed', ...combinations[0], ...keys, engineId: ownEngine },
]
const snmp = `${clustermgmt}/clusters/${ids.native}/snmp`

let station: Snmptrapd
let app: TestApp
before(async () => {
  station = await startSnmptrapd('alerts', users)
  app = await startApp({ config: { allowAddress: ['127.0.0.0/8'] } })
  for (const { name: username, engineId: _, ...user } of users) await create('users', { username, ...user })
  const receiver = { address: ip('127.0.0.1'), port: station.udpPort }
  for (const { name: username } of users.filter(({ name }) => name !== 'timed'))
    await create('traps', { ...receiver, version: 'V3', username, shouldInform: username.startsWith('informer') })
  await create('traps', { ...receiver, version: 'V2', communityString: 'alerts' })
  const overTcp = { ...receiver, port: station.tcpPort, protocol: 'TCP' }
  await create('traps', { ...overTcp, version: 'V2', communityString: 'alerts', shouldInform: true })
  await create('traps', { ...overTcp, version: 'V3', username: 'trapper0' })
})
after(async () => {
  await app?.close()
  await station?.stop()
})

async function create(collection: 'traps' | 'users', body: object): Promise<void> {
  const task = await app.task(await app.call('POST', `${snmp}/${collection}`, { body }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
}

const receivers = 7

/** One alert, as all receivers print it. */
async function told(name: string, entityName: string): Promise<void> {
  const known = station.traps.length
  await advance(app, 10)
  const printed = (await station.arrived(known + receivers)).slice(known)
  assert.equal(printed.length, receivers, station.lines.join('\n'))
  for (const { values } of printed) {
    assert.equal(values['1.3.6.1.6.3.1.1.4.1.0'], `.${notifications.alertOpened}`)
    assert.deepEqual(
      [values[objectIds.alertName], values[objectIds.alertEntityName], values[objectIds.alertClusterName]],
      [name, entityName, 'hp-native-01'],
    )
  }
  const kinds = printed.map(({ kind }) => kind.replace(/,.*/, ''))
  assert.equal(kinds.filter((kind) => kind === 'INFORM').length, 3, kinds.join('; '))
  assert.equal(kinds.filter((kind) => kind === 'TRAP2').length, 4, kinds.join('; '))
}

test('a failed disk, a failed host and a container that fills arrive as traps and informs of V2c and V3 with privacy', async () => {
  const host = (
    await app.call(
      'GET',
      `${clustermgmt}/hosts/${hostId('hp-n01-b')}`.replace('/hosts/', `/clusters/${ids.native}/hosts/`),
    )
  ).data
  const { serialId } = host.disk[0]
  await happen(app, { type: 'DISK_FAILS', disk: serialId })
  await told('DISK_FAILED', serialId)
  await happen(app, { type: 'CONTAINER_FILLS', container: 'archive-ec', percent: 95 })
  await told('STORAGE_CONTAINER_LOW', 'archive-ec')
  await happen(app, { type: 'HOST_FAILS', host: 'hp-n01-a' })
  await told('HOST_FAILED', 'hp-n01-a')
})

test('a trap after a restart of the service is in time for its receiver, and one that is 200 s old is not', async () => {
  const { authKey, privKey } = keys
  const receiver: TrapReceiver = {
    ...{ address: '127.0.0.1', port: station.udpPort, protocol: 'UDP', isInform: false },
    security: { version: 'V3', username: 'timed', ...combinations[0], authKey, privKey, engineId: ownEngine },
  }
  const send = async (agedSeconds: number): Promise<void> => {
    const real = { now: () => Date.now() - agedSeconds * 1000 }
    const sender = createTrapSender({ guard: { refusalOf: () => undefined }, real, log: { warn: () => undefined } })
    await sender.send(receiver, { oid: notifications.alertClosed, upTime: 1, values: [] })
    sender.close()
  }
  const known = station.traps.length
  await send(0)
  await station.arrived(known + 1)
  await send(0)
  await station.arrived(known + 2)
  await send(200)
  await new Promise((resolve) => setTimeout(resolve, 500))
  assert.equal(station.traps.length, known + 2)
})
