/** Products, registrations, arrays and managers in both naming profiles. Source: behaviour conventions 2; platform.md 4, 5, 6, 10. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { demoRemoteLogin, lab } from '../../../src/seeds/demo/registrations.ts'
import { creations } from '../../support/creations.ts'
import { http } from '../../support/http.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const own = seedId('manager')
const manager = `/api/prism/v4.3/config/domain-managers/${own}`
const management = `/api/prism/v4.3/management/domain-managers/${own}`

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const get = async (path: string): Promise<any> => {
  const { status, json, headers } = await http(url, path)
  assert.equal(status, 200, path)
  return { ...json, etag: headers['etag'] }
}
/** What the task of a 202 says, in the public names. */
async function ended(method: string, path: string, body: object, tag?: string): Promise<any> {
  const headers = { 'NTNX-Request-Id': randomUUID(), ...(tag === undefined ? {} : { 'If-Match': tag }) }
  const { status, json, text } = await http(url, path, { method, headers, body: JSON.stringify(body) })
  assert.equal(status, 202, text)
  await app.runner.untilEnded(json.data.extId.replace('ZXJnb24=:', ''))
  return (await get(`/api/prism/v4.3/config/tasks/${json.data.extId}`)).data
}

test('public clients register and unregister with their own names of the alternatives', async () => {
  const remoteCluster = {
    $objectType: 'prism.v4.management.AOSRemoteClusterSpec',
    $reserved: { $fv: 'v4.r3' },
    remoteCluster: {
      $objectType: 'prism.v4.management.RemoteClusterSpec',
      address: { $objectType: 'common.v1.config.IPAddressOrFQDN', ipv4: { value: lab.address } },
      credentials: { authentication: { $objectType: 'common.v1.config.BasicAuth', ...demoRemoteLogin } },
    },
  }
  const spec = {
    $objectType: 'prism.v4.management.ClusterRegistrationSpec',
    $remoteClusterItemDiscriminator: remoteCluster.$objectType,
    remoteCluster,
  }
  const registered = await ended('POST', `${management}/$actions/register`, spec, (await get(manager)).etag)
  assert.equal(registered.status, 'SUCCEEDED', JSON.stringify(registered.errorMessages))
  assert.equal(registered.entitiesAffected[1].rel, 'prism:management:domain_manager')
  const extId = seedId(`cluster/${lab.name}`)
  const reference = { $objectType: 'prism.v4.management.ClusterReference', extId }
  const left = await ended('POST', `${management}/$actions/unregister`, reference, (await get(manager)).etag)
  assert.equal(left.status, 'SUCCEEDED', JSON.stringify(left.errorMessages))
})

test('an alternative is found without its type name as well, by what it must hold', async () => {
  const { etag } = await get(manager)
  const remote = { address: { ipv4: { value: lab.address } }, credentials: { authentication: demoRemoteLogin } }
  const send = (remoteCluster: object) =>
    http(url, `/api/platform/v4.3/management/domain-managers/${own}/$actions/register?$dryrun=true`, {
      method: 'POST',
      headers: { 'SVC-Request-Id': randomUUID(), 'If-Match': etag },
      body: JSON.stringify({ remoteCluster }),
    })
  assert.equal((await send({ remoteCluster: remote })).status, 202)
  assert.equal((await send({ remoteCluster: remote, cloudType: 'ONPREM_CLOUD' })).status, 202)
  assert.equal((await send({ extId: randomUUID() })).status, 404)
  assert.equal((await send({})).status, 400)
})

test('answers name the alternative that they hold, in each profile', async () => {
  const registrations = await get(`${management}/registrations`)
  const [row] = registrations.data
  assert.equal(row.$objectType, 'prism.v4.management.Registration')
  assert.equal(row.metadata.$objectType, 'prism.v4.management.GenericMetadata')
  assert.equal(row.$metadataItemDiscriminator, 'prism.v4.management.GenericMetadata')
  assert.equal(row.remoteClusterDetails.$objectType, 'prism.v4.management.RemoteCluster')
  assert.ok(!('trustKey' in row) && !('address' in row) && !('misses' in row), 'what stays inside')
  const spec = await get(`/api/platform/v4.3/management/domain-managers/${own}/registrations`)
  assert.equal(spec.data[0].metadata.$objectType, 'platform.v4.management.GenericMetadata')
  const storage = await get(`/api/prism/v4.3/config/external-storages/${seedId('external-storage/flex-01')}`)
  assert.equal(storage.data.$configItemDiscriminator, 'prism.v4.config.DellPowerflexConfig')
  const products = await get(`${management}/products`)
  assert.equal(products.data.length, 8)
  assert.equal(products.data[0].$objectType, 'prism.v4.management.Product')
})

test('a public client updates a product with metadata of its own name', async () => {
  const [product] = (await get(`${management}/products?$filter=name eq 'FLOW_CONTROLLER'`.replaceAll(' ', '%20'))).data
  const { etag } = await get(`${management}/products/${product.extId}`)
  const metadata = {
    $objectType: 'prism.v4.management.FlowControllerMetadata',
    clusterExtId: seedId('cluster/cloud-1'),
    subnetExtId: seedId('subnet/vlan-100-app'),
  }
  const body = { ...product, enablementState: 'ENABLED', metadata, $metadataItemDiscriminator: metadata.$objectType }
  const task = await ended('PUT', `${management}/products/${product.extId}`, body, etag)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  const shown = (await get(`${management}/products/${product.extId}`)).data
  assert.equal(shown.metadata.$objectType, 'prism.v4.management.FlowControllerMetadata')
})

test('a deployment has the name that each profile gives it', async () => {
  const { body } = creations['platform.createDomainManager']!
  const task = await ended('POST', '/api/prism/v4.3/config/domain-managers', body('pc-named'))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  assert.equal(task.operation, 'kPrismCentralDeploymentRequest')
  assert.equal(task.entitiesAffected[1].rel, 'prism:config:domain_manager')
})
