/** NIC profiles. Source: behaviour networking.md 1.19, 1.22, 2, 4. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { hostNicFacts } from '../../../src/drivers/simulated/host-nics.ts'
import { hostId, putFresh, setFault } from '../../support/clustermgmt.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'
import { Steps } from '../../support/steps.ts'
import { onHosts, switchBody, switches } from '../../support/virtual-switches.ts'
import { made, put, removed } from '../../support/vpcs.ts'
import { aRobot, aRole, grant } from '../iam/people.ts'

const profiles = '/networking/v4.3/config/nic-profiles'
const demo = `${profiles}/${seedId('nic-profile/sriov-cx5')}`
const host = hostId('hp-n01-a')
let app: TestApp
const steps = new Steps()
let release = (): void => undefined
before(async () => {
  app = await startApp({ logLevel: 'silent', beforeStep: steps.beforeStep })
})
afterEach(async () => {
  steps.failing = undefined
  release()
  for (const { extId, hostNicReferences = [] } of await list()) {
    for (const nic of hostNicReferences) await app.task(await act(`${profiles}/${extId}`, 'disassociate', nic.extId))
    if (`${profiles}/${extId}` !== demo) await removed(app, `${profiles}/${extId}`)
  }
  await checkInvariants(app)
})
after(() => app.close())

const list = async (query = ''): Promise<any[]> => (await app.call('GET', profiles + query)).data
const read = async (path: string): Promise<any> => (await app.call('GET', path)).data
const bodyOf = (name: string, more: object = {}): object => ({
  name,
  nicFamily: '15b3:1017',
  capabilityConfig: { capabilityType: 'SRIOV' },
  ...more,
})
const hostNics = async (of = host): Promise<any[]> =>
  (await app.call('GET', `/clustermgmt/v4.2/config/clusters/${seedId('cluster/hp-native-01')}/hosts/${of}/host-nics`))
    .data
const nicNamed = async (name: string, of = host): Promise<any> => (await hostNics(of)).find((nic) => nic.name === name)
const act = (
  path: string,
  verb: 'associate' | 'disassociate',
  hostNicExtId: string,
  options = {},
): Promise<CallResult> => app.call('POST', `${path}/$actions/${verb}-host-nic`, { body: { hostNicExtId }, ...options })
const referenceOf = async (path: string): Promise<any> => (await read(path)).hostNicReferences?.[0]
const refusal = ({ status, errors }: CallResult): unknown[] => [status, errors[0]?.errorGroup]

test('the demo has a profile without NICs', async () => {
  const [profile, ...others] = await list()
  assert.deepEqual(others, [])
  assert.deepEqual(
    [profile.name, profile.nicFamily, profile.capabilityConfig.capabilityType, profile.hostNicReferences],
    ['sriov-cx5', '15b3:1017', 'SRIOV', undefined],
  )
  const filter = encodeURIComponent("capabilityConfig/capabilityType eq 'SRIOV' and nicFamily eq '15b3:1017'")
  assert.equal((await list(`?$filter=${filter}&$orderby=name&$select=name`)).length, 1)
})

test('only name and description of a profile change, and names are unique', async () => {
  assert.equal((await app.call('POST', profiles, { body: bodyOf('odd', { nicFamily: '15b3-1017' }) })).status, 400)
  const path = await made(app, profiles, bodyOf('first', { nicFamily: '15B3:101D' }))
  assert.equal((await read(path)).nicFamily, '15b3:101d')
  assert.deepEqual(refusal(await app.call('POST', profiles, { body: bodyOf('first') })), [409, 'ENTITY_ALREADY_EXISTS'])
  assert.equal((await app.task(await put(app, path, { name: 'second', description: 'x' }))).status, 'SUCCEEDED')
  const { name, description, nicFamily } = await read(path)
  assert.deepEqual([name, description, nicFamily], ['second', 'x', '15b3:101d'])
  assert.deepEqual(refusal(await put(app, path, { nicFamily: '8086:1593' })), [400, 'IMMUTABLE_ATTRIBUTE'])
})

test('associating a host NIC enables its virtual functions, and disassociating it disables them', async () => {
  const nic = await nicNamed('eth5')
  const { etag } = await app.call('GET', demo)
  const task = await app.task(await act(demo, 'associate', nic.extId))
  assert.deepEqual([task.operation, task.status], ['AssociateHostNicToNicProfile', 'SUCCEEDED'])
  assert.deepEqual(
    task.entitiesAffected.map(({ rel }: any) => rel),
    ['networking:config:nic-profile', 'clustermgmt:config:host'],
  )
  const { extId, complianceStatus, numVFs } = await referenceOf(demo)
  assert.deepEqual([extId, complianceStatus, numVFs], [nic.extId, 'SUCCESS', 16])
  assert.equal((await nicNamed('eth5')).nicProfileExtId, demo.slice(-36))
  assert.notEqual((await app.call('GET', demo)).etag, etag)
  assert.deepEqual(refusal(await app.call('DELETE', demo)), [409, 'ENTITY_IN_USE'])
  const back = await app.task(await act(demo, 'disassociate', nic.extId))
  assert.deepEqual([back.operation, back.status], ['DisassociateHostNicFromNicProfile', 'SUCCEEDED'])
  assert.equal(await referenceOf(demo), undefined)
  assert.equal((await nicNamed('eth5')).nicProfileExtId, undefined)
})

test('NICs of another family, with a profile, in a switch, unknown ones and those without the capability are refused', async () => {
  assert.equal((await act(demo, 'associate', randomUUID())).status, 404)
  assert.deepEqual(refusal(await act(demo, 'associate', (await nicNamed('eth4')).extId)), [409, 'CONFLICT'])
  const nic = await nicNamed('eth5')
  const offload = await made(app, profiles, bodyOf('offload', { capabilityConfig: { capabilityType: 'DP_OFFLOAD' } }))
  assert.deepEqual(refusal(await act(offload, 'associate', nic.extId)), [409, 'CONFLICT'])
  const plain = await made(app, profiles, bodyOf('plain', { nicFamily: '8086:1572' }))
  const uplink = await act(plain, 'associate', (await nicNamed('eth0')).extId)
  assert.deepEqual(refusal(uplink), [409, 'CONFLICT'])
  const same = await made(app, profiles, bodyOf('same'))
  await app.task(await act(demo, 'associate', nic.extId))
  assert.match((await act(same, 'associate', nic.extId)).errors[0]!.message, /has a NIC profile already/)
  assert.deepEqual(refusal(await act(same, 'disassociate', nic.extId)), [409, 'CONFLICT'])
})

test('a NIC that a running update of a switch claims is refused, and the update keeps it', async () => {
  const path = await made(app, switches, switchBody('taking', []))
  release = steps.hold('networking.update-virtual-switch configure hosts')
  const { extId } = await nicNamed('eth5')
  const body = { ...(await read(path)), ...onHosts([host], [extId.toUpperCase()]) }
  const updating = await putFresh(app, path, body)
  const refused = await act(demo, 'associate', extId)
  assert.deepEqual(refusal(refused), [409, 'CONFLICT'])
  release()
  assert.equal((await app.task(updating)).status, 'SUCCEEDED')
  await removed(app, path)
})

test('an uplink of a switch is refused although its family fits', async () => {
  const fact = hostNicFacts(app.world).get(host)!
  const [, ...others] = fact.models
  await hostNicFacts(app.world).put(host, { ...fact, models: ['15b3:1017', ...others] })
  const refused = await act(demo, 'associate', (await nicNamed('eth0')).extId)
  await hostNicFacts(app.world).put(host, fact)
  assert.match(refused.errors[0]!.message, /uplink of/)
})

test('two profiles that claim one NIC concurrently do not both get it', async () => {
  const other = await made(app, profiles, bodyOf('other'))
  const nic = await nicNamed('eth5')
  release = steps.hold('networking.associate-host-nic enable virtual functions')
  const first = await act(demo, 'associate', nic.extId)
  assert.equal(first.status, 202)
  assert.equal((await act(other, 'associate', nic.extId)).status, 409)
  assert.deepEqual(refusal(await put(app, demo, { description: 'y' })), [409, 'ENTITY_BUSY'])
  release()
  assert.equal((await app.task(first)).status, 'SUCCEEDED')
})

test('a host that does not answer fails the task, and nothing is associated', async () => {
  const nic = await nicNamed('eth5')
  await setFault(app, host, { isAgentSilent: true })
  const task = await app.task(await act(demo, 'associate', nic.extId))
  await setFault(app, host)
  assert.equal(task.status, 'FAILED')
  assert.equal(await referenceOf(demo), undefined)
  assert.equal((await nicNamed('eth5')).nicProfileExtId, undefined)
  steps.failing = 'networking.associate-host-nic enable virtual functions'
  assert.equal((await app.task(await act(demo, 'associate', nic.extId))).status, 'FAILED')
  steps.failing = undefined
  assert.equal((await app.task(await act(demo, 'associate', nic.extId))).status, 'SUCCEEDED')
})

test('the status of an association follows the NIC: removed, replaced, or without its functions', async () => {
  await app.task(await act(demo, 'associate', (await nicNamed('eth5')).extId))
  const fact = hostNicFacts(app.world).get(host)!
  const statusWith = async (changes: object): Promise<string> => {
    await hostNicFacts(app.world).put(host, { ...fact, ...changes })
    return (await referenceOf(demo)).complianceStatus
  }
  assert.equal(await statusWith({ models: fact.models.slice(0, 5) }), 'NIC_NOT_FOUND_ERROR')
  assert.equal(await statusWith({ models: [...fact.models.slice(0, 5), '8086:1593'] }), 'NIC_PROFILE_MISMATCH_ERROR')
  assert.equal(await statusWith({ profiles: {} }), 'NIC_PROFILE_NOT_FOUND_ERROR')
  assert.equal(await statusWith({}), 'SUCCESS')
})

test('a caller who cannot see the host gets 404 for its NIC', async () => {
  const nic = await nicNamed('eth5')
  const role = await aRole(app, ['Associate_Host_NIC_To_NIC_Profile', 'View_Cluster_Host', 'View_NIC_Profile'])
  const apiKeyFor = async (extId: string): Promise<string> => {
    const robot = await aRobot(app)
    await grant(app, { id: role }, robot.extId, {
      host: { uuid: { anyof: [extId] } },
      nic_profile: { '*': { eq: '*' } },
    })
    return robot.apiKey
  }
  const unseen = await act(demo, 'associate', nic.extId, { apiKey: await apiKeyFor(hostId('hp-n01-b')) })
  assert.deepEqual([unseen.status, unseen.errors[0]!.code], [404, 'NETWORKING-10060'])
  const seen = await act(demo, 'associate', nic.extId, { apiKey: await apiKeyFor(host) })
  assert.equal((await app.task(seen)).status, 'SUCCEEDED')
})
