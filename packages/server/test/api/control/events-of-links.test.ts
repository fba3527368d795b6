/** Links and external services that fail and recover, as clients see it. Source: behaviour networking.md 1.10, 1.11, 1.20; platform.md 6, 9; iam.md 4, 5, 11; vmm.md 3.6. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { inBucket } from '../../support/backups.ts'
import { advance, requestId } from '../../support/clustermgmt.ts'
import { faultsOf, happen, postEvent, startQuietDemo } from '../../support/events.ts'
import { registrations } from '../../support/registering.ts'
import { adminPassword, type CallResult, type TestApp } from '../../support/start-app.ts'
import { demoConnection, demoRoute } from '../../support/vpn.ts'

let app: TestApp
before(async () => {
  app = await startQuietDemo()
})
after(() => app.close())

const group = ({ status, errors }: CallResult) => [status, errors[0]?.errorGroup]

test('a silent BGP peer loses its session and routes after 90 s; when it answers, the session is established again', async () => {
  const path = `/networking/v4.3/config/bgp-sessions/${seedId('bgp-session/prod-tor-a')}`
  const state = async () => (await app.call('GET', path)).data.status.state
  const routes = async () => (await app.call('GET', `${path}/bgp-routes`)).total
  const before = await routes()
  await happen(app, { type: 'BGP_PEER_FALLS_SILENT', session: 'prod-tor-a' }, { duration: 'PT5M' })
  await app.clock.advance(80_000)
  assert.deepEqual([await state(), await routes()], ['UP', before])
  await app.clock.advance(20_000)
  assert.deepEqual([await state(), await routes()], ['DOWN', 0])
  await advance(app, 5)
  assert.deepEqual([await state(), await routes()], ['UP', before])
})

test('a tunnel whose peer is silent, or has another key, is DOWN with its routes inactive, and UP again afterwards', async () => {
  const state = async () => (await app.call('GET', demoConnection)).data.ipsecTunnelStatus
  const isActive = async () => (await app.call('GET', demoRoute)).data.isActive
  await happen(app, { type: 'VPN_PEER_FALLS_SILENT', connection: 'branch-1' }, { duration: 'PT1M' })
  await app.clock.advance(30_000)
  assert.deepEqual([await state(), await isActive()], [{ state: 'DOWN', message: 'dead peer detected' }, false])
  await advance(app, 1)
  assert.deepEqual([await state(), await isActive()], [{ state: 'UP' }, true])
  await happen(app, { type: 'VPN_PEER_CHANGES_KEY', connection: demoConnection.slice(-36) })
  assert.deepEqual([await state(), await isActive()], [{ state: 'DOWN', message: 'authentication failed' }, false])
  await happen(app, { type: 'VPN_PEER_RESTORES_KEY', connection: 'branch-1' })
  await advance(app, 1)
  assert.deepEqual([await state(), await isActive()], [{ state: 'UP' }, true])
})

test('a remote manager that is cut off is DISCONNECTED within two minutes, and CONNECTED again', async () => {
  const row = async () =>
    (await app.call('GET', registrations)).data.find(
      ({ remoteClusterExtId }: any) => remoteClusterExtId === seedId('manager/dr-site'),
    )
  for (const [lost, back] of [
    ['REMOTE_CUT_OFF', 'REMOTE_RETURNS'],
    ['REMOTE_CERTIFICATE_CHANGES', 'REMOTE_CERTIFICATE_RESTORED'],
  ] as const) {
    await happen(app, { type: lost, remote: 'dr-site' })
    await advance(app, 2)
    assert.equal((await row()).connectivityStatus, 'DISCONNECTED', lost)
    await happen(app, { type: back, remote: seedId('manager/dr-site') })
    await advance(app, 1)
    assert.equal((await row()).connectivityStatus, 'CONNECTED', back)
  }
})

test('a network controller shows its failure, and its recovery', async () => {
  const status = async () => (await app.call('GET', '/networking/v4.3/config/controllers')).data[0].controllerStatus
  for (const state of ['DOWN', 'DEGRADED']) {
    await happen(app, { type: 'NETWORK_CONTROLLER_FAILS', state })
    assert.equal(await status(), state)
  }
  await happen(app, { type: 'NETWORK_CONTROLLER_RETURNS' })
  assert.equal(await status(), 'UP')
})

test('a directory whose servers are down cannot verify passwords, and the error names the cause', async () => {
  const directories = '/iam/v4.1.b2/authn/directory-services'
  const { extId } = (await app.call('GET', `${directories}?$filter=name eq 'corp-ad'`)).data[0]
  const verify = () =>
    app.call('POST', `${directories}/${extId}/$actions/verify-connection-status`, {
      body: { username: 'whoever', password: adminPassword },
    })
  assert.equal((await verify()).status, 200)
  for (const [fault, cause] of [
    ['DOWN', /time-out/],
    ['TLS', /TLS/],
    ['WRONG_BIND', /credentials/],
  ] as const) {
    await happen(app, { type: 'DIRECTORY_FAILS', directory: 'corp-ad', fault })
    const refused = await verify()
    assert.deepEqual([refused.status, refused.errors[0]?.code], [400, 'IAM-20021'], fault)
    assert.match(refused.errors[0]?.message ?? '', cause)
  }
  await happen(app, { type: 'DIRECTORY_RETURNS', directory: 'ad.simulated' })
  assert.equal((await verify()).status, 200)
})

test('a directory that is not simulated cannot be made to fail: 409', async () => {
  const created = await app.call('POST', '/iam/v4.1.b2/authn/directory-services', {
    body: {
      name: 'real-ad',
      url: 'ldap://192.0.2.10',
      domainName: 'real.test',
      directoryType: 'ACTIVE_DIRECTORY',
      serviceAccount: { username: 'svc', password: adminPassword },
    },
  })
  assert.equal(created.status, 201, JSON.stringify(created.errors))
  const refused = await postEvent(app, { type: 'DIRECTORY_FAILS', directory: 'real-ad' })
  assert.deepEqual(group(refused), [409, 'WORLD_EVENT_IMPOSSIBLE'])
})

test('a backup location refuses restore sources with its fault; a whole service can only be unreachable', async () => {
  const sources = '/platform/v4.3/management/restore-sources'
  const look = async (): Promise<CallResult> => {
    const source = await app.call('POST', sources, { body: { location: inBucket({}, null) } })
    return app.call('GET', `${sources}/${source.data.extId}/restorable-domain-managers`)
  }
  assert.equal((await look()).status, 200)
  for (const [event, code] of [
    [{ place: 'hyperplane-demo' }, 'DM-30021'],
    [{ place: 'hyperplane-demo', fault: 'ACCESS_DENIED' }, 'DM-30022'],
    [{ place: 'demo' }, 'DM-30021'],
  ] as const) {
    await happen(app, { type: 'OBJECT_STORE_FAILS', ...event })
    assert.equal((await look()).errors[0]?.code, code, JSON.stringify(event))
    await happen(app, { type: 'OBJECT_STORE_RETURNS', place: event.place })
  }
  assert.equal((await look()).status, 200)
  const refused = await postEvent(app, { type: 'OBJECT_STORE_FAILS', place: 'demo', fault: 'FULL' })
  assert.match(faultsOf(refused).join(), /^event\/fault: .*whole service.*name one of its buckets for FULL/)
  assert.equal((await postEvent(app, { type: 'OBJECT_STORE_FAILS', place: 'hyperplane-dmo' })).status, 404)
})

test('no metadata is read from a web server that fails', async () => {
  const url = 'https://idp.simulated/metadata.xml'
  await app.world.collection('web.documents').put(url, { base64: Buffer.from('<x/>').toString('base64') })
  const read = async (): Promise<string> =>
    (
      await app.call('POST', '/iam/v4.1.b2/authn/saml-identity-providers', {
        body: { name: `idp-${randomUUID()}`, idpMetadataUrl: url },
      })
    ).errors
      .map(({ message }) => message)
      .join()
  const well = await read()
  for (const [event, cause] of [
    [{}, /refuses the connection/],
    [{ fault: 'SILENT' }, /no whole answer/],
    [{ fault: 'STATUS', status: 502 }, /502/],
  ] as const) {
    await happen(app, { type: 'WEB_SERVER_FAILS', server: 'idp.simulated', ...event })
    assert.match(await read(), cause)
  }
  await happen(app, { type: 'WEB_SERVER_RETURNS', server: 'idp.simulated' })
  assert.equal(await read(), well)
  const refused = await postEvent(app, { type: 'WEB_SERVER_FAILS', server: 'idp.simulated', status: 502 })
  assert.match(faultsOf(refused).join(), /^event\/status: .*with the fault STATUS/)
})

test('images are not fetched from a server that fails, and are when it is back', async () => {
  const load = async () =>
    app.task(
      await app.call('POST', '/vmm/v4.2/content/images', {
        requestId: requestId(),
        body: {
          name: 'fetched',
          type: 'ISO_IMAGE',
          source: { $objectType: 'vmm.v4.content.UrlSource', url: 'https://mirror.example.com/fetched.iso' },
        },
      }),
    )
  await happen(app, { type: 'CONTENT_SERVER_FAILS', server: 'mirror.example.com', status: 404 })
  const failed = await load()
  assert.deepEqual([failed.status, failed.errorMessages[0].code], ['FAILED', 'VMM-50001'])
  await happen(app, { type: 'CONTENT_SERVER_RETURNS', server: 'mirror.example.com' })
  assert.equal((await load()).status, 'SUCCEEDED')
  assert.equal((await postEvent(app, { type: 'CONTENT_SERVER_FAILS', server: 'https://x/' })).status, 400)
})
