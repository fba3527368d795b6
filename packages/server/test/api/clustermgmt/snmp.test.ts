/** SNMP settings of clusters. Source: behaviour clustermgmt.md 1.1 (secrets, tags), 1.10, 1.12, 5 (38 to 40). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { secretDigest } from '../../../src/drivers/hardware.ts'
import type { ClusterFact } from '../../../src/drivers/simulated/hardware.ts'
import { advance, clustermgmt, ids, putFresh, requestId, setFault } from '../../support/clustermgmt.ts'
import { happen, startQuietDemo } from '../../support/events.ts'
import type { CallResult, TestApp } from '../../support/start-app.ts'
import { ip } from '../../support/vpcs.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const snmpOf = (cluster: string): string => `${clustermgmt}/clusters/${cluster}/snmp`
const snmp = snmpOf(ids.cloud)
const users = `${snmp}/users`
const traps = `${snmp}/traps`
const keys = { authType: 'SHA', authKey: 'Auth.Key.1', privType: 'AES', privKey: 'Priv.Key.1' }

const post = (path: string, body: object): Promise<CallResult> => app.call('POST', path, { body })
const read = async (path = snmp): Promise<any> => (await app.call('GET', path)).data
const factOf = (cluster: string): any =>
  app.world.collection<ClusterFact>('hardware.clusters').get(cluster)?.settings.SNMP_SERVER_CONFIG

async function done(started: CallResult | Promise<CallResult>): Promise<any> {
  const task = await app.task(await started)
  assert.deepEqual([task.status, task.errorMessages ?? []], ['SUCCEEDED', []])
  return task
}
async function made(path: string, body: object): Promise<string> {
  return (await done(post(path, body))).entitiesAffected[0].extId
}
const refusal = ({ status, errors }: CallResult): string => `${status} ${errors[0]?.code} ${errors[0]?.errorGroup}`
const aUser = (username: string): Promise<string> => made(users, { username, ...keys })

test('a cluster has one SNMP configuration from the start: disabled, with UDP on port 161', async () => {
  const { extId, isEnabled, transports, users: found, traps: sent } = await read(snmpOf(ids.extern))
  assert.deepEqual({ isEnabled, transports }, { isEnabled: false, transports: [{ protocol: 'UDP', port: 161 }] })
  assert.deepEqual([found ?? [], sent ?? []], [[], []])
  assert.match(extId, /^[0-9a-f-]{36}$/)
  assert.equal((await app.call('GET', snmpOf(requestId()))).status, 404)
  assert.equal((await read(snmpOf(ids.manager))).isEnabled, false)
})

test('the demo monitors hp-native-01: a user of V3, and a trap for it', async () => {
  const { isEnabled, users: found, traps: sent } = await read(snmpOf(ids.native))
  assert.equal(isEnabled, true)
  assert.deepEqual(
    found.map(({ username, authType, privType }: any) => [username, authType, privType]),
    [['monitor', 'SHA', 'AES']],
  )
  const [{ extId, address, port, username, version }] = sent
  assert.deepEqual([address.ipv4.value, port, username, version], ['10.44.1.8', 162, 'monitor', 'V3'])
  assert.equal((await read(`${snmpOf(ids.native)}/traps/${extId}`)).recieverName, 'monitoring')
})

test('v4.0 and v4.2 show the same configuration, with one entity tag', async () => {
  const older = (path: string): string => path.replace('v4.2', 'v4.0')
  const path = `${users}/${await made(older(users), { username: 'versions', ...keys })}`
  const [before, now] = [await app.call('GET', older(path)), await app.call('GET', path)]
  assert.equal(before.etag, now.etag)
  assert.equal((before.data as any).username, 'versions')
  assert.deepEqual(Object.keys(await read(older(snmp))).sort(), Object.keys(await read()).sort())
  const body = { username: 'versions', authType: 'MD5' }
  await done(app.call('PUT', older(path), { body, ifMatch: now.etag as string }))
  assert.equal((await read(path)).authType, 'MD5')
  await done(app.call('DELETE', older(path)))
})

test('SNMP is enabled and disabled, and gains and loses transports; the last one stays while it is enabled', async () => {
  const act = (name: string, body: object) => post(`${snmp}/$actions/${name}`, body)
  const udp = { protocol: 'UDP', port: 161 }
  const tcp = { protocol: 'TCP', port: 161 }
  const task = await done(act('update-status', { isEnabled: true }))
  assert.equal(task.operation, 'Update SNMP Status')
  assert.deepEqual(task.entitiesAffected, [{ extId: (await read()).extId, rel: 'clustermgmt:config:snmp-config' }])
  assert.equal(factOf(ids.cloud).isEnabled, true)
  assert.equal(refusal(await act('remove-transports', udp)), '409 PLAT-10009 CONFLICT')
  await done(act('add-transports', tcp))
  await done(act('add-transports', tcp))
  assert.deepEqual((await read()).transports, [udp, tcp])
  await done(act('remove-transports', udp))
  assert.deepEqual((await read()).transports, [tcp])
  assert.deepEqual(factOf(ids.cloud).transports, [tcp])
  assert.equal((await act('remove-transports', udp)).status, 404)
  await done(act('update-status', { isEnabled: false }))
  await done(act('remove-transports', tcp))
  assert.equal((await act('update-status', { isEnabled: true })).status, 409)
  await done(act('add-transports', udp))
})

test('a user is created, read, changed and deleted, and no answer shows its keys', async () => {
  const created = await done(post(users, { username: 'first', ...keys }))
  assert.equal(created.operation, 'Create SNMP User')
  const [{ extId, ...affected }] = created.entitiesAffected
  assert.deepEqual(affected, { name: 'first', rel: 'clustermgmt:config:snmp-user' })
  const path = `${users}/${extId}`
  const { authKey, privKey, ...shown } = await read(path)
  assert.deepEqual([authKey, privKey], [undefined, undefined])
  assert.deepEqual([shown.username, shown.authType, shown.privType], ['first', 'SHA', 'AES'])
  await done(putFresh(app, path, { username: 'first', authType: 'MD5', privType: 'DES' }))
  assert.deepEqual([(await read(path)).authType, factOf(ids.cloud).users[0].authType], ['MD5', 'MD5'])
  assert.equal((await read()).users.find((user: any) => user.extId === extId).privType, 'DES')
  assert.equal(
    refusal(await putFresh(app, path, { username: 'other', authType: 'MD5' })),
    '400 PLAT-10012 IMMUTABLE_ATTRIBUTE',
  )
  assert.equal((await app.call('PUT', path, { body: { username: 'first', authType: 'MD5' } })).status, 428)
  await done(app.call('DELETE', path))
  assert.equal((await app.call('GET', path)).status, 404)
  assert.deepEqual(factOf(ids.cloud).users, [])
})

test('a new user needs a key, privacy needs type and key, and a username is there once', async () => {
  const faults = async (body: object): Promise<string[]> =>
    (await post(users, body)).errors.map(({ argumentsMap }) => argumentsMap?.['attributePath'] as string)
  assert.deepEqual(await faults({ username: 'a', authType: 'SHA' }), ['authKey'])
  assert.deepEqual(await faults({ ...keys, username: 'a', privKey: undefined }), ['privKey'])
  assert.deepEqual(await faults({ ...keys, username: 'a', privType: undefined }), ['privType'])
  assert.equal((await post(users, { username: 'a', authType: 'SHA', authKey: 'short' })).status, 400)
  assert.equal((await post(users, { username: 'a', authType: 'SHA', authKey: "with'quote" })).status, 400)
  const extId = await aUser('twice')
  assert.equal(refusal(await post(users, { username: 'twice', ...keys })), '409 PLAT-10011 ENTITY_ALREADY_EXISTS')
  await done(app.call('DELETE', `${users}/${extId}`))
})

test('two creations of one username at once: one user', async () => {
  const started = await Promise.all(
    [1, 2].map(() => app.atOnce.call('POST', users, { body: { username: 'raced', ...keys } })),
  )
  assert.deepEqual(started.map(({ status }) => status).sort(), [202, 409])
  await app.clock.advance(60_000)
  assert.equal((await read()).users.filter(({ username }: any) => username === 'raced').length, 1)
})

test('a PUT without keys keeps them: the user authenticates as before', async () => {
  const path = `${users}/${await aUser('kept')}`
  const before = factOf(ids.cloud).users.find(({ username }: any) => username === 'kept')
  await done(putFresh(app, path, { username: 'kept', authType: 'SHA', privType: 'AES' }))
  assert.deepEqual(
    factOf(ids.cloud).users.find(({ username }: any) => username === 'kept'),
    before,
  )
  await done(putFresh(app, path, { username: 'kept', authType: 'SHA' }))
  const { privType, privKey, authKey } = factOf(ids.cloud).users.find(({ username }: any) => username === 'kept')
  assert.deepEqual([privType, privKey, authKey], [undefined, undefined, before.authKey])
  // The privacy key went with its type.
  assert.equal((await putFresh(app, path, { username: 'kept', authType: 'SHA', privType: 'AES' })).status, 400)
})

test('40. a trap of V3 with an unknown user is refused with 404, and a user in use is not deleted', async () => {
  const v3 = { address: ip('10.5.5.5'), version: 'V3', username: 'receiver' }
  const unknown = await post(traps, v3)
  assert.equal(refusal(unknown), '404 PLAT-10007 ENTITY_NOT_FOUND')
  assert.equal(unknown.errors[0]?.argumentsMap?.['attribute'], 'username')
  const user = await aUser('receiver')
  const trap = await made(traps, v3)
  assert.equal(refusal(await app.call('DELETE', `${users}/${user}`)), '409 CLUSTER-10070 SNMP_USER_IN_USE')
  await done(app.call('DELETE', `${traps}/${trap}`))
  await done(app.call('DELETE', `${users}/${user}`))
})

test('a trap that is accepted behind its user is judged after it', async () => {
  const user = await post(users, { username: 'ahead', ...keys })
  const trap = await app.atOnce.call('POST', traps, {
    body: { address: ip('10.5.5.6'), version: 'V3', username: 'ahead' },
  })
  await done(user)
  await done(trap)
  const behind = await app.atOnce.call('POST', users, { body: { username: 'behind', ...keys } })
  const refused = await app.atOnce.call('POST', traps, {
    body: { address: ip('10.5.5.7'), version: 'V3', username: 'nobody' },
  })
  await done(behind)
  const task = await app.task(refused)
  assert.deepEqual([task.status, task.errorMessages[0].code], ['FAILED', 'PLAT-10007'])
  assert.equal(
    (await read()).traps.some(({ username }: any) => username === 'nobody'),
    false,
  )
})

test('a PUT without keys that waits behind a change of the keys keeps the new ones', async () => {
  const path = `${users}/${await aUser('rotated')}`
  const body = { username: 'rotated', authType: 'SHA', privType: 'AES' }
  const rotated = await putFresh(app.atOnce, path, { ...body, authKey: 'Auth.Key.2' })
  const kept = await putFresh(app.atOnce, path, { ...body, authType: 'MD5' })
  await done(rotated)
  await done(kept)
  const { authType, authKey } = factOf(ids.cloud).users.find(({ username }: any) => username === 'rotated')
  assert.deepEqual([authType, authKey.digest], ['MD5', secretDigest(ids.cloud, 'Auth.Key.2')])
  await done(putFresh(app, path, body))
})

test('changes of a trap that wait behind a change of its port are applied to it, and its deletion too', async () => {
  const path = `${traps}/${await made(traps, { address: ip('10.5.5.10'), version: 'V2' })}`
  const put = (port: number, recieverName: string): Promise<CallResult> =>
    putFresh(app.atOnce, path, { address: ip('10.5.5.10'), version: 'V2', port, recieverName })
  const started = [await put(1162, 'moved'), await put(1162, 'renamed'), await put(2162, 'moved again')]
  for (const each of started) await done(each)
  const found = factOf(ids.cloud).traps.filter(({ address }: any) => address.ipv4.value === '10.5.5.10')
  assert.deepEqual(
    found.map(({ port, recieverName }: any) => [port, recieverName]),
    [[2162, 'moved again']],
  )
  const moved = await put(3162, 'moved')
  const deleted = await app.atOnce.call('DELETE', path)
  const late = await put(4162, 'late')
  await done(moved)
  await done(deleted)
  const { status, errorMessages } = await app.task(late)
  assert.deepEqual([status, errorMessages[0].code, (await app.call('GET', path)).status], ['FAILED', 'PLAT-10007', 404])
  assert.deepEqual(
    factOf(ids.cloud).traps.filter(({ address }: any) => address.ipv4.value === '10.5.5.10'),
    [],
  )
})

test('a trap has the defaults of its version, and every rule is refused with its path', async () => {
  const path = `${traps}/${await made(traps, { address: ip('10.5.5.8'), version: 'V2' })}`
  const { protocol, port, communityString } = await read(path)
  assert.deepEqual([protocol, port, communityString], ['UDP', 162, 'public'])
  const faults = async (body: object): Promise<string[]> =>
    (await post(traps, { address: ip('10.5.5.9'), version: 'V2', ...body })).errors.map(
      ({ argumentsMap }) => argumentsMap?.['attributePath'] as string,
    )
  assert.deepEqual(await faults({ address: {} }), ['address'])
  assert.deepEqual(await faults({ version: 'V3' }), ['username'])
  assert.deepEqual(await faults({ shouldInform: true, protocol: 'UDP6' }), ['shouldInform'])
  for (const engineId of ['abc', 'abcdef0', '0xabcdefab', 'ab'.repeat(33)])
    assert.deepEqual(await faults({ engineId }), ['engineId'], engineId)
  assert.equal(
    refusal(await post(traps, { address: ip('10.5.5.8'), version: 'V2' })),
    '409 PLAT-10011 ENTITY_ALREADY_EXISTS',
  )
  await done(
    putFresh(app, path, {
      address: ip('10.5.5.8'),
      version: 'V2',
      port: 1162,
      shouldInform: true,
      engineId: '0x80001f8804',
    }),
  )
  const { port: next, shouldInform, engineId } = await read(path)
  assert.deepEqual([next, shouldInform, engineId], [1162, true, '0x80001f8804'])
  assert.equal(factOf(ids.cloud).traps.filter(({ address }: any) => address.ipv4.value === '10.5.5.8').length, 1)
  const other = `${traps}/${await made(traps, { address: ip('10.5.5.8'), version: 'V2' })}`
  const taken = await putFresh(app, other, { address: ip('10.5.5.8'), version: 'V2', port: 1162 })
  assert.equal(refusal(taken), '409 PLAT-10011 ENTITY_ALREADY_EXISTS')
  assert.equal((await app.call('GET', path.replace(ids.cloud, ids.extern))).status, 404)
})

test('each user and trap has an entity tag of its own', async () => {
  const path = `${users}/${await aUser('tagged')}`
  const { etag } = await app.call('GET', path)
  await aUser('untagged')
  await done(app.call('PUT', path, { body: { username: 'tagged', authType: 'MD5' }, ifMatch: etag as string }))
  const stale = await app.call('PUT', path, { body: { username: 'tagged', authType: 'SHA' }, ifMatch: etag as string })
  assert.equal(stale.status, 412)
})

test('while the cluster does not answer, changes are refused with 503 and the last settings are shown', async () => {
  await setFault(app, ids.cloud, { isDown: true })
  assert.equal((await post(users, { username: 'late', ...keys })).status, 503)
  assert.equal((await app.call('GET', snmp)).status, 200)
  await setFault(app, ids.cloud)
})

test('a creation that the cluster refuses leaves neither a row nor a setting, and the name is free again', async () => {
  await setFault(app, ids.cloud, { refuses: ['writeSettings'] })
  const task = await app.task(await post(users, { username: 'again', ...keys }))
  assert.equal(task.status, 'FAILED')
  await setFault(app, ids.cloud)
  assert.equal(
    (await read()).users.some(({ username }: any) => username === 'again'),
    false,
  )
  await aUser('again')
})

const profiles = `${clustermgmt}/cluster-profiles`
const configured = {
  isEnabled: true,
  users: [{ username: 'profiled', ...keys }],
  transports: [{ protocol: 'UDP', port: 161 }],
  traps: [{ address: ip('10.6.6.6'), version: 'V3', username: 'profiled' }],
}

test('38. a profile with SNMP users is read and sent back without keys: no drift, and the keys stay', async () => {
  const create = await app.call('POST', profiles, {
    body: { name: 'watched', snmpConfig: configured },
    requestId: requestId(),
  })
  const profile = (await done(create)).entitiesAffected[0].extId
  const path = `${profiles}/${profile}`
  const cluster = { clusters: [{ uuid: ids.extern }] }
  await app.task(
    await app.call('POST', `${profiles}/${ids.baseline}/$actions/disassociate-cluster`, {
      body: cluster,
      requestId: requestId(),
    }),
  )
  await done(app.call('POST', `${path}/$actions/apply`, { body: cluster, requestId: requestId() }))
  const applied = factOf(ids.extern)
  const { users: found, traps: sent, isEnabled } = await read(snmpOf(ids.extern))
  assert.deepEqual([isEnabled, found.length, sent.length], [true, 1, 1])
  const { snmpConfig } = await read(path)
  assert.equal(JSON.stringify(snmpConfig).includes('Key'), false)
  await done(putFresh(app, path, { snmpConfig }))
  assert.deepEqual(factOf(ids.extern), applied)
  const { driftedClusterCount } = await read(path)
  assert.equal(driftedClusterCount, 0)
})

test('a change of SNMP by its operations is drift of the profile at once, and changing it back ends the drift', async () => {
  const [{ clusters, extId }] = await read(`${profiles}?$filter=name eq 'watched'`)
  assert.equal(clusters[0].isCompliant, true)
  const drifts = async (): Promise<string[]> => (await read(`${profiles}/${extId}`)).clusters[0].configDrifts ?? []
  const status = (isEnabled: boolean) => done(post(`${snmpOf(ids.extern)}/$actions/update-status`, { isEnabled }))
  await status(false)
  assert.deepEqual(await drifts(), ['SNMP_SERVER_CONFIG'])
  await status(true)
  assert.deepEqual(await drifts(), [])
  const [user] = (await read(snmpOf(ids.extern))).users
  await done(
    putFresh(app, `${snmpOf(ids.extern)}/users/${user.extId}`, {
      ...keys,
      username: 'profiled',
      authKey: 'Another.Key',
    }),
  )
  assert.deepEqual(await drifts(), ['SNMP_SERVER_CONFIG'])
  await done(putFresh(app, `${snmpOf(ids.extern)}/users/${user.extId}`, { ...keys, username: 'profiled' }))
  assert.deepEqual(await drifts(), [])
})

test('a key that somebody changes at the cluster is unknown here, until the user gets its keys again', async () => {
  const path = `${users}/${await aUser('rekeyed')}`
  const index = factOf(ids.cloud).users.findIndex(({ username }: any) => username === 'rekeyed')
  const at = `SNMP_SERVER_CONFIG/users/${index}/authKey`
  await happen(app, { type: 'FACT_CHANGES', kind: 'CLUSTER', of: 'cloud-1', path: at, secret: 'Key.Of.Somebody' })
  await advance(app, 30)
  const body = { username: 'rekeyed', authType: 'SHA', privType: 'AES' }
  const kept = await putFresh(app, path, body)
  assert.deepEqual([kept.status, kept.errors[0]?.argumentsMap?.['attributePath']], [400, 'authKey'])
  const before = factOf(ids.cloud).users[index]
  await done(putFresh(app, path, { ...body, authKey: 'Auth.Key.1' }))
  const { authKey, privKey } = factOf(ids.cloud).users[index]
  assert.notDeepEqual(authKey, before.authKey)
  assert.deepEqual(privKey, before.privKey)
})

test('the manager itself has SNMP too', async () => {
  const manager = snmpOf(ids.manager)
  await made(`${manager}/users`, { username: 'of-manager', ...keys })
  await done(post(`${manager}/$actions/update-status`, { isEnabled: true }))
  const { isEnabled, users: found } = await read(manager)
  assert.deepEqual([isEnabled, found.map(({ username }: any) => username)], [true, ['of-manager']])
})

test('settings that somebody changes at the cluster are shown within half an hour, and entries that stayed keep their ids', async () => {
  const extId = await aUser('outside')
  const index = factOf(ids.cloud).users.findIndex(({ username }: any) => username === 'outside')
  const change = (path: string, value: unknown) =>
    happen(app, { type: 'FACT_CHANGES', kind: 'CLUSTER', of: 'cloud-1', path: `SNMP_SERVER_CONFIG/${path}`, value })
  await change(`users/${index}/authType`, 'MD5')
  await change('isEnabled', true)
  await advance(app, 30)
  const { users: found, isEnabled } = await read()
  assert.equal(isEnabled, true)
  assert.deepEqual(
    found.filter(({ username }: any) => username === 'outside').map((user: any) => [user.extId, user.authType]),
    [[extId, 'MD5']],
  )
})
