/** Extensions in the vCenters of ESX clusters. Source: behaviour clustermgmt.md 1.16, 5 (45, 49). */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { VcenterFact } from '../../../src/drivers/simulated/management-extensions.ts'
import { vcenterExtensionId, vcenterLogin } from '../../../src/seeds/demo/vcenters.ts'
import { clustermgmt, hostId, ids, requestId } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import { aUser } from '../../support/identities.ts'
import { type CallResult, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const list = `${clustermgmt}/vcenter-extensions`
const path = `${list}/${vcenterExtensionId(ids.extern)}`
const send = (verb: 'register' | 'unregister', body: object = vcenterLogin): Promise<CallResult> =>
  app.call('POST', `${path}/$actions/${verb}`, { body, requestId: requestId() })
const isRegistered = async (): Promise<boolean> => (await app.call('GET', path)).data.isRegistered
const hasExtension = (): boolean | undefined =>
  app.world.collection<VcenterFact>('extern.vcenters').get(ids.extern)?.hasExtension

test('the ESX cluster of the demo has its vCenter registered, in both versions', async () => {
  for (const version of ['v4.2', 'v4.0']) {
    const { data } = await app.call('GET', list.replace('v4.2', version))
    assert.deepEqual(
      data.map(({ clusterExtId, ipAddress, isRegistered }: any) => [clusterExtId, ipAddress, isRegistered]),
      [[ids.extern, '10.44.2.5', true]],
    )
    assert.equal((await app.call('GET', path.replace('v4.2', version))).status, 200)
  }
  const none = await app.call('GET', `${list}?$filter=${encodeURIComponent('isRegistered eq false')}`)
  assert.equal(none.total, 0)
  assert.equal((await app.call('GET', `${list}?$orderby=ipAddress`)).status, 400)
})

test('45 a vCenter that is registered is not registered again, and one that is not cannot be unregistered', async () => {
  const twice = await send('register')
  assert.equal(twice.status, 409)
  assert.equal(twice.errors[0]?.errorGroup, 'VCENTER_ALREADY_REGISTERED')
  const task = await app.task(await send('unregister'))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.deepEqual([await isRegistered(), hasExtension()], [false, false])
  assert.equal((await send('unregister')).errors[0]?.errorGroup, 'VCENTER_NOT_REGISTERED')
})

test('45 a wrong password fails the registration, which stays absent', async () => {
  const task = await app.task(await send('register', { ...vcenterLogin, password: 'wrong' }))
  assert.equal(task.status, 'FAILED')
  assert.match(task.errorMessages[0].message, /invalid credentials/)
  assert.deepEqual([await isRegistered(), hasExtension()], [false, false])
  const port = await app.task(await send('register', { ...vcenterLogin, port: 8443 }))
  assert.match(port.errorMessages[0].message, /nothing answers on port 8443/)
  await happen(app, { type: 'EXTERNAL_MANAGEMENT_FAILS', cluster: 'hp-extern-01' })
  const away = await app.task(await send('register'))
  assert.match(away.errorMessages[0].message, /did not answer/)
  await happen(app, { type: 'EXTERNAL_MANAGEMENT_RETURNS', cluster: 'hp-extern-01' })
})

test('while the vCenter is not registered, its VMs change no power state and its hosts enter no maintenance', async () => {
  const at = `/vmm/v4.2/extern/config/vms/${seedId('extern-vm/legacy-test')}`
  const power = async (): Promise<CallResult> =>
    app.call('POST', `${at}/$actions/power-on`, {
      ifMatch: (await app.call('GET', at)).etag as string,
      requestId: requestId(),
    })
  const refused = await power()
  assert.equal(refused.status, 409)
  assert.equal(refused.errors[0]?.errorGroup, 'VCENTER_NOT_REGISTERED')
  const maintenance = await app.call(
    'POST',
    `/clustermgmt/v4.2/operations/clusters/${ids.extern}/hosts/${hostId('hp-e01-a')}/$actions/enter-host-maintenance`,
    {
      body: { vcenterInfo: { address: { ipv4: { value: '10.44.2.5' } }, credentials: vcenterLogin } },
      requestId: requestId(),
    },
  )
  assert.equal(maintenance.errors[0]?.errorGroup, 'VCENTER_NOT_REGISTERED')
  assert.equal((await app.task(await send('register'))).status, 'SUCCEEDED')
  assert.deepEqual([await isRegistered(), hasExtension()], [true, true])
  assert.equal((await app.task(await power())).status, 'SUCCEEDED')
})

test('a vCenter whose password was changed refuses the old one', async () => {
  await happen(app, { type: 'EXTERNAL_MANAGEMENT_CHANGES_PASSWORD', cluster: 'hp-extern-01' })
  const task = await app.task(await send('unregister'))
  assert.match(task.errorMessages[0].message, /invalid credentials/)
  assert.equal(await isRegistered(), true)
})

test('a body without a password or with an impossible port is 400, and a cluster that is out of sight 404', async () => {
  const { password: _, ...open } = vcenterLogin
  assert.equal((await send('unregister', open)).status, 400)
  assert.equal((await send('unregister', { ...vcenterLogin, port: 0 })).status, 400)
  const as = await aUser(app, ['Cluster Admin'], {
    vcenter_extension: { uuid: { eq: seedId('another') } },
  })
  const body = { body: vcenterLogin, requestId: requestId(), as }
  assert.equal((await app.call('POST', `${path}/$actions/unregister`, body)).status, 404)
  assert.equal((await app.call('GET', list, { as })).total, 0)
  assert.equal((await app.call('GET', `${list}/${seedId('nothing')}`)).status, 404)
})

test('a cluster that names its management server shows whether that is registered, and takes it along when it ends', async () => {
  const seeded = await startApp({
    config: {
      seed: {
        text: JSON.stringify({
          clusters: [{ name: 'esx', hypervisorType: 'ESX', vcenterAddress: '10.9.1.5' }],
        }),
      } as never,
    },
  })
  const [extension] = (await seeded.call('GET', list)).data
  const server = async (): Promise<any> =>
    (await seeded.call('GET', `${clustermgmt}/clusters/${extension.clusterExtId}`)).data.network.managementServer
  assert.deepEqual([(await server()).isRegistered, (await server()).isInUse], [true, true])
  const at = `${list}/${extension.extId}/$actions/unregister`
  await seeded.task(await seeded.call('POST', at, { body: vcenterLogin, requestId: requestId() }))
  assert.deepEqual([(await server()).isRegistered, (await server()).isInUse], [false, false])

  const cluster = `${clustermgmt}/clusters/${extension.clusterExtId}`
  const task = await seeded.task(await seeded.call('DELETE', cluster, { requestId: requestId() }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal((await seeded.call('GET', list)).total, 0)
  assert.deepEqual([...seeded.world.collection('extern.vcenters').all()], [])
  await seeded.close()
})
