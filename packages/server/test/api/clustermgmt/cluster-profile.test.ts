import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { ClusterFact } from '../../../src/drivers/simulated/hardware.ts'
import { advance, clustermgmt, ids, putFresh, requestId, setFault } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const profiles = `${clustermgmt}/cluster-profiles`
const clusterPath = (extId: string): string => `${clustermgmt}/clusters/${extId}`
const get = async (path: string): Promise<any> => (await app.call('GET', path)).data
const post = (path: string, body: unknown): Promise<CallResult> =>
  app.call('POST', path, { body, requestId: requestId() })
const ip = (value: string) => ({ ipv4: { value, prefixLength: 32 } })
const refer = (...uuids: string[]) => ({ clusters: uuids.map((uuid) => ({ uuid })) })

async function aProfile(name: string, settings: object): Promise<string> {
  const task = await app.task(await post(profiles, { name, ...settings }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task.entitiesAffected[0].extId
}
const apply = async (profile: string, ...clusters: string[]): Promise<any> =>
  app.task(await post(`${profiles}/${profile}/$actions/apply`, refer(...clusters)))
const leave = async (profile: string, ...clusters: string[]): Promise<any> =>
  app.task(await post(`${profiles}/${profile}/$actions/disassociate-cluster`, refer(...clusters)))
const factOf = (cluster: string): ClusterFact =>
  app.world.collection<ClusterFact>('hardware.clusters').get(cluster) as ClusterFact

test('the demo profile has one member, which drifted in its mail server', async () => {
  const { clusterCount, driftedClusterCount, clusters } = await get(`${profiles}/${ids.baseline}`)
  assert.deepEqual([clusterCount, driftedClusterCount], [1, 1])
  assert.deepEqual(
    [clusters[0].extId, clusters[0].isCompliant, clusters[0].configDrifts],
    [ids.extern, false, ['SMTP_SERVER_CONFIG']],
  )
  const drifted = await app.call('GET', `${profiles}?$filter=${encodeURIComponent('driftedClusterCount ge 1')}`)
  assert.deepEqual(
    drifted.data.map(({ name }: any) => name),
    ['baseline'],
  )
})

test('a profile name in use, in any case, and one with a blank are refused', async () => {
  const again = await post(profiles, { name: 'BaseLine' })
  assert.equal(again.status, 409)
  assert.match(again.errors[0]?.message ?? '', /profile name already exists on another profile/)
  assert.equal((await post(profiles, { name: 'two words' })).status, 400)
  const unknown = requestId()
  const missing = await app.call('GET', `${profiles}/${unknown}`)
  assert.equal(missing.status, 404)
  assert.match(missing.errors[0]?.message ?? '', new RegExp(`Cluster profile ${unknown} not found`))
})

test('applying a profile makes the cluster a member with the time and name servers of the profile', async () => {
  const settings = {
    ntpServerIpList: [ip('10.5.5.5')],
    nameServerIpList: [ip('10.5.5.6')],
    snmpConfig: { isEnabled: true, transports: [{ protocol: 'UDP', port: 161 }] },
  }
  const profile = await aProfile('applied', settings)
  const task = await apply(profile, ids.native)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.deepEqual([task.operation, task.operationDescription], ['applyClusterProfile', 'Apply Cluster Profile'])
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['clustermgmt:config:cluster-profile', 'clustermgmt:config:cluster'],
  )
  assert.equal(task.numberOfSubtasks, 3, 'one for each section')
  const { clusterCount, clusters } = await get(`${profiles}/${profile}`)
  assert.equal(clusterCount, 1)
  assert.equal(clusters[0].isCompliant, true)
  assert.equal('configDrifts' in clusters[0], false)
  const cluster = await get(clusterPath(ids.native))
  assert.equal(cluster.clusterProfileExtId, profile)
  assert.deepEqual(cluster.network.ntpServerIpList, settings.ntpServerIpList)
  assert.deepEqual(cluster.network.nameServerIpList, settings.nameServerIpList)
  assert.equal(factOf(ids.native).settings.SNMP_SERVER_CONFIG?.isEnabled, true)

  // While it has a member it cannot go; afterwards the settings stay.
  const used = await app.call('DELETE', `${profiles}/${profile}`, { requestId: requestId() })
  assert.equal(used.status, 409)
  assert.equal(used.errors[0]?.errorGroup, 'CLUSTER_PROFILE_IN_USE')
  const another = await aProfile('another', { nameServerIpList: [ip('10.5.5.7')] })
  const taken = await post(`${profiles}/${another}/$actions/apply`, refer(ids.native))
  assert.equal(taken.errors[0]?.errorGroup, 'CLUSTER_HAS_ANOTHER_PROFILE')

  const { status, operation, operationDescription } = await leave(profile, ids.native)
  assert.deepEqual(
    [status, operation, operationDescription],
    ['SUCCEEDED', 'disassociateClusterFromClusterProfile', 'Disassociate Cluster Profile Cluster'],
  )
  assert.equal((await get(`${profiles}/${profile}`)).clusterCount, 0)
  const left = await get(clusterPath(ids.native))
  assert.equal('clusterProfileExtId' in left, false)
  assert.deepEqual(left.network.ntpServerIpList, settings.ntpServerIpList)
  const deleted = await app.task(await app.call('DELETE', `${profiles}/${profile}`, { requestId: requestId() }))
  assert.equal(deleted.status, 'SUCCEEDED')
  assert.equal((await app.call('GET', `${profiles}/${profile}`)).status, 404)
  const nobody = await post(`${profiles}/${another}/$actions/disassociate-cluster`, refer(ids.native))
  assert.equal(nobody.status, 400)
})

test('changing a managed setting through the cluster is reported as drift at once, but not in an overridden section', async () => {
  const smtpServer = {
    emailAddress: 'a@example.com',
    type: 'PLAIN',
    server: { ipAddress: { fqdn: { value: 'mail.example.com' } }, username: 'mailer', password: 'First.Secret' },
  }
  const profile = await aProfile('watched', {
    smtpServer,
    ntpServerIpList: [ip('10.5.5.5')],
    allowedOverrides: ['NTP_SERVER_CONFIG'],
  })
  await apply(profile, ids.cloud)
  const path = clusterPath(ids.cloud)
  const member = async () => (await get(`${profiles}/${profile}`)).clusters[0]

  await app.task(await putFresh(app, path, { network: { ntpServerIpList: [ip('10.6.6.6')] } }))
  assert.equal((await member()).isCompliant, true)
  const other = { ...smtpServer, server: { ...smtpServer.server, password: 'Other.Secret' } }
  await app.task(await putFresh(app, path, { network: { smtpServer: other } }))
  assert.deepEqual([(await member()).isCompliant, (await member()).configDrifts], [false, ['SMTP_SERVER_CONFIG']])
  assert.equal((await get(`${profiles}/${profile}`)).driftedClusterCount, 1)
  // Set back: the password is all that differed.
  await app.task(await putFresh(app, path, { network: { smtpServer } }))
  assert.equal((await member()).isCompliant, true)

  // A PUT of the profile as it was read keeps the secret, and nothing drifts.
  const { data, etag } = await app.call('GET', `${profiles}/${profile}`)
  const shown = structuredClone(data)
  delete shown.smtpServer.server.password
  const put = await app.task(
    await app.call('PUT', `${profiles}/${profile}`, { body: shown, ifMatch: etag as string, requestId: requestId() }),
  )
  assert.equal(put.status, 'SUCCEEDED', JSON.stringify(put.errorMessages))
  assert.equal(put.numberOfSubtasks, 0, 'no section changed')
  assert.equal((await member()).isCompliant, true)
  await leave(profile, ids.cloud)
})

test('a profile with SNMP users is read and written back without their keys, and nothing drifts', async () => {
  const user = {
    username: 'watcher',
    authType: 'SHA',
    authKey: 'Auth.Secret.1',
    privType: 'AES',
    privKey: 'Priv.Secret.1',
  }
  const trap = { address: ip('10.5.5.9'), version: 'V3', username: 'watcher', shouldInform: true }
  const profile = await aProfile('snmp', {
    snmpConfig: { isEnabled: true, users: [user], traps: [trap], transports: [{ protocol: 'UDP', port: 161 }] },
  })
  await apply(profile, ids.cloud)
  const { data, etag } = await app.call('GET', `${profiles}/${profile}`)
  const { authKey: _a, privKey: _p, ...known } = data.snmpConfig.users[0]
  const body = { ...data, description: 'written back', snmpConfig: { ...data.snmpConfig, users: [known] } }
  const task = await app.task(
    await app.call('PUT', `${profiles}/${profile}`, { body, ifMatch: etag as string, requestId: requestId() }),
  )
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const written = await get(`${profiles}/${profile}`)
  assert.equal(written.clusters[0].isCompliant, true)
  await advance(app, 30)
  assert.equal((await get(`${profiles}/${profile}`)).clusters[0].isCompliant, true)
  await leave(profile, ids.cloud)
})

test('a new SNMP user without a key and a V3 trap without a user of the profile are reported together', async () => {
  const answer = await post(profiles, {
    name: 'faulty',
    nameServerIpList: [{}],
    snmpConfig: {
      users: [{ username: 'keyless', authType: 'SHA' }],
      traps: [
        { address: ip('10.5.5.9'), version: 'V3', username: 'nobody' },
        { address: ip('10.5.5.8'), version: 'V2', engineId: '0xabc' },
      ],
    },
    rsyslogServerList: [
      { serverName: 'one', ipAddress: ip('10.5.5.1'), port: 514, networkProtocol: 'UDP' },
      { serverName: 'one', ipAddress: ip('10.5.5.2'), port: 514, networkProtocol: 'UDP' },
    ],
  })
  assert.equal(answer.status, 400)
  assert.deepEqual(answer.errors.map(({ argumentsMap: at }) => at?.['attributePath'] ?? at?.['attribute']).sort(), [
    'nameServerIpList[0]',
    'rsyslogServerList[1]',
    'snmpConfig/traps[0]/username',
    'snmpConfig/traps[1]/engineId',
    'snmpConfig/users[0]/authKey',
  ])
})

test('a dry run of apply names exactly the sections that differ, and changes nothing', async () => {
  const same = (await get(clusterPath(ids.extern))).network.nameServerIpList
  const before = [await app.call('GET', `${profiles}/${ids.baseline}`), await app.call('GET', clusterPath(ids.extern))]
  const facts = structuredClone(factOf(ids.extern))
  assert.equal(same.length, 2)
  const dry = await app.task(await post(`${profiles}/${ids.baseline}/$actions/apply?$dryrun=true`, refer(ids.extern)))
  assert.equal(dry.status, 'SUCCEEDED')
  assert.equal(dry.operation, 'applyClusterProfile-dryrun')
  const changes = dry.completionDetails.find(({ name }: any) => name === 'changes').value
  assert.deepEqual(
    changes.map(({ map }: any) => map.attribute),
    [`clusters/${ids.extern}/SMTP_SERVER_CONFIG`],
  )
  const after = [await app.call('GET', `${profiles}/${ids.baseline}`), await app.call('GET', clusterPath(ids.extern))]
  assert.deepEqual(
    after.map(({ etag, data }) => [etag, data]),
    before.map(({ etag, data }) => [etag, data]),
  )
  assert.deepEqual(factOf(ids.extern), facts)
  // A blocked one ends FAILED with the cause, or is refused like the real one.
  const blocked = await post(`${profiles}/${ids.baseline}/$actions/apply?$dryrun=true`, refer(ids.manager))
  assert.equal(blocked.status, 400)
})

test('the monitor finds a setting that was changed on the cluster itself within half an hour, without changing the ETag', async () => {
  const profile = await aProfile('monitored', { nameServerIpList: [ip('10.7.7.1')] })
  await apply(profile, ids.cloud)
  const { etag } = await app.call('GET', `${profiles}/${profile}`)
  const [path, value] = ['NAME_SERVER_CONFIG', [ip('10.7.7.9')]]
  await happen(app, { type: 'FACT_CHANGES', kind: 'CLUSTER', of: ids.cloud, path, value })
  const member = async () => (await get(`${profiles}/${profile}`)).clusters[0]
  assert.equal((await member()).isCompliant, true, 'nobody looked yet')
  await advance(app, 30)
  assert.deepEqual((await member()).configDrifts, ['NAME_SERVER_CONFIG'])
  assert.deepEqual((await get(clusterPath(ids.cloud))).network.nameServerIpList, [ip('10.7.7.9')])
  assert.equal((await app.call('GET', `${profiles}/${profile}`)).etag, etag)

  // A cluster that does not answer keeps what was known.
  const { lastSyncedTime } = await member()
  await setFault(app, ids.cloud, { isDown: true })
  await advance(app, 30)
  assert.equal((await member()).lastSyncedTime, lastSyncedTime)
  await setFault(app, ids.cloud)

  // Applying again puts it right.
  assert.equal((await apply(profile, ids.cloud)).status, 'SUCCEEDED')
  assert.equal((await member()).isCompliant, true)
  await leave(profile, ids.cloud)
})

test('when one section fails on a cluster none takes effect there, and the other cluster keeps the profile', async () => {
  const profile = await aProfile('halves', {
    nameServerIpList: [ip('10.8.8.1')],
    nfsSubnetWhitelist: ['10.8.0.0/255.255.0.0'],
  })
  const before = factOf(ids.cloud).settings
  await setFault(app, ids.cloud, { refuses: ['writeSettings'] })
  const task = await apply(profile, ids.cloud, ids.native)
  await setFault(app, ids.cloud)
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /cloud-1/)
  assert.deepEqual(factOf(ids.cloud).settings, before)
  const { clusters } = await get(`${profiles}/${profile}`)
  assert.deepEqual(
    clusters.map(({ extId }: any) => extId),
    [ids.native],
  )
  await leave(profile, ids.native)
})

test('an update applies the new text to the members; a member that fails stays drifted, and the text is kept', async () => {
  const profile = await aProfile('changing', { nameServerIpList: [ip('10.8.8.1')] })
  await apply(profile, ids.cloud)
  const path = `${profiles}/${profile}`
  const done = await app.task(await putFresh(app, path, { nameServerIpList: [ip('10.8.8.2')] }))
  assert.equal(done.status, 'SUCCEEDED')
  assert.deepEqual((await get(clusterPath(ids.cloud))).network.nameServerIpList, [ip('10.8.8.2')])

  await setFault(app, ids.cloud, { isDown: true })
  const failed = await app.task(await putFresh(app, path, { nameServerIpList: [ip('10.8.8.3')] }))
  await setFault(app, ids.cloud)
  assert.equal(failed.status, 'FAILED')
  const { nameServerIpList, clusters } = await get(path)
  assert.deepEqual(nameServerIpList, [ip('10.8.8.3')])
  assert.deepEqual([clusters[0].isCompliant, clusters[0].configDrifts], [false, ['NAME_SERVER_CONFIG']])
  await leave(profile, ids.cloud)
})

test('a request that repeats a cluster, or whose uuid and name disagree, is refused', async () => {
  const profile = await aProfile('named', { nameServerIpList: [ip('10.8.8.1')] })
  const act = (clusters: object[]) => post(`${profiles}/${profile}/$actions/apply`, { clusters })
  assert.equal((await act([{}])).status, 400)
  assert.equal((await act([{ uuid: ids.cloud, name: 'hp-native-01' }])).status, 400)
  assert.equal((await act([{ uuid: ids.cloud }, { name: 'cloud-1' }])).status, 400)
  assert.equal((await act([{ name: 'nowhere' }])).status, 404)
  assert.equal((await act([{ uuid: ids.manager }])).status, 400)
  await setFault(app, ids.cloud, { isDown: true })
  assert.equal((await act([{ name: 'cloud-1' }])).status, 503)
  await setFault(app, ids.cloud)
  const task = await app.task(await act([{ name: 'cloud-1' }]))
  assert.equal(task.status, 'SUCCEEDED')
  await leave(profile, ids.cloud)
})

test('a V3 trap whose user is not in the profile is 404, and a user that a trap needs cannot be removed', async () => {
  const trap = { address: ip('10.5.5.9'), version: 'V3', username: 'nobody' }
  const unknown = await post(profiles, { name: 'trapped', snmpConfig: { traps: [trap] } })
  assert.deepEqual([unknown.status, unknown.errors[0]?.code], [404, 'PLAT-10007'])
  assert.equal(unknown.errors[0]?.argumentsMap?.['attribute'], 'snmpConfig/traps[0]/username')
  const user = { username: 'nobody', authType: 'SHA', authKey: 'Auth.Secret.2' }
  const profile = await aProfile('trapped', { snmpConfig: { users: [user], traps: [trap] } })
  const path = `${profiles}/${profile}`
  assert.equal((await putFresh(app, path, { snmpConfig: { users: [], traps: [trap] } })).status, 404)
  const both = await app.task(await putFresh(app, path, { snmpConfig: { users: [], traps: [] } }))
  assert.equal(both.status, 'SUCCEEDED')
})

test('a dry run of an update names the sections that members would see change, and changes nothing', async () => {
  const profile = await aProfile('rehearsed', { nameServerIpList: [ip('10.9.1.1')], ntpServerIpList: [ip('10.9.1.2')] })
  await apply(profile, ids.cloud)
  const path = `${profiles}/${profile}`
  const world = async (): Promise<unknown> => {
    const [one, two] = [await app.call('GET', path), await app.call('GET', clusterPath(ids.cloud))]
    return [one.etag, one.data, two.etag, two.data, structuredClone(factOf(ids.cloud))]
  }
  const before = await world()
  const put = async (body: object): Promise<any> =>
    app.task(
      await app.call('PUT', `${path}?$dryrun=true`, {
        body,
        ifMatch: (await app.call('GET', path)).etag as string,
        requestId: requestId(),
      }),
    )
  const dry = await put({ nameServerIpList: [ip('10.9.1.9')], ntpServerIpList: [ip('10.9.1.2')] })
  assert.deepEqual([dry.status, dry.operation], ['SUCCEEDED', 'updateClusterProfile-dryrun'])
  const details = new Map(dry.completionDetails.map(({ name, value }: any) => [name, value]))
  assert.equal(details.get('dryRun'), true)
  assert.deepEqual(
    (details.get('changes') as any[]).map(({ map }) => map.attribute),
    [`clusters/${ids.cloud}/NAME_SERVER_CONFIG`],
  )
  assert.deepEqual(await world(), before)
  const nothing = await put({ description: 'only words' })
  assert.deepEqual(nothing.completionDetails.find(({ name }: any) => name === 'changes').value ?? [], [])
  await leave(profile, ids.cloud)
})

test('apply and disassociate change the ETags of profile and cluster, and found drift changes none', async () => {
  const profile = await aProfile('tagged', { nameServerIpList: [ip('10.9.2.1')] })
  const tags = async (): Promise<(string | undefined)[]> => [
    (await app.call('GET', `${profiles}/${profile}`)).etag,
    (await app.call('GET', clusterPath(ids.cloud))).etag,
  ]
  const differ = (a: readonly unknown[], b: readonly unknown[]): boolean => a.every((tag, index) => tag !== b[index])
  const first = await tags()
  await apply(profile, ids.cloud)
  const applied = await tags()
  assert.ok(differ(first, applied))
  const fact = factOf(ids.cloud)
  await app.world
    .collection<ClusterFact>('hardware.clusters')
    .put(ids.cloud, { ...fact, settings: { ...fact.settings, NAME_SERVER_CONFIG: [ip('10.9.2.9')] } })
  await advance(app, 30)
  assert.equal((await get(`${profiles}/${profile}`)).driftedClusterCount, 1)
  assert.deepEqual(await tags(), applied)
  await leave(profile, ids.cloud)
  assert.ok(differ(applied, await tags()))
})

test('the counts of a profile equal the members that it shows', async () => {
  for (const { clusterCount, driftedClusterCount, clusters = [] } of (await app.call('GET', profiles)).data) {
    assert.equal(clusterCount, clusters.length)
    assert.equal(driftedClusterCount, clusters.filter(({ isCompliant }: any) => !isCompliant).length)
  }
})

test('the creation of a profile can be cancelled until it is recorded', async () => {
  const reached = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const gated = await startApp({
    beforeStep: async (definition, _step, phase) => {
      if (definition !== 'clustermgmt.create-cluster-profile' || phase !== 'record') return
      reached.resolve()
      await goOn.promise
    },
  })
  try {
    const started = await gated.call('POST', profiles, { body: { name: 'given-up' }, requestId: requestId() })
    await reached.promise
    assert.equal((await gated.call('GET', started.location as string)).data.isCancelable, true)
    const cancel = (): Promise<CallResult> =>
      gated.call('POST', `${started.location}/$actions/cancel`, { requestId: requestId() })
    assert.equal((await cancel()).status, 200)
    assert.equal((await gated.call('GET', started.location as string)).data.status, 'CANCELING')
    goOn.resolve()
    const task = await gated.task(started)
    assert.equal(task.status, 'SUCCEEDED')
    assert.equal((await gated.call('GET', `${profiles}/${task.entitiesAffected[0].extId}`)).status, 200)
    assert.equal((await cancel()).status, 409)
  } finally {
    goOn.resolve()
    await gated.close()
  }
})

test('no answer, task or stored text holds a secret that was sent', async () => {
  const secrets = ['First.Secret', 'Other.Secret', 'Auth.Secret.1', 'Priv.Secret.1']
  const files = readdirSync(app.folder).filter((name) => name.startsWith('world.sqlite'))
  assert.ok(files.length > 0)
  for (const name of files) {
    const text = readFileSync(join(app.folder, name)).toString('latin1')
    for (const secret of secrets) assert.equal(text.includes(secret), false, `${secret} in ${name}`)
  }
  const { data } = await app.call('GET', '/platform/v4.3/config/tasks?$limit=100')
  for (const secret of secrets) assert.equal(JSON.stringify(data).includes(secret), false)
})
