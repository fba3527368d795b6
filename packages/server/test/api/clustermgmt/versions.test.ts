import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ids, requestId } from '../../support/clustermgmt.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const authorization = `Basic ${Buffer.from(`admin:${adminPassword}`).toString('base64')}`
/** Over HTTP, since versions differ in what is shown. */
async function http(method: string, path: string, options: { body?: unknown; headers?: Record<string, string> } = {}) {
  const response = await fetch(`${url}/api/clustermgmt/${path}`, {
    method,
    headers: { authorization, 'content-type': 'application/json', ...options.headers },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
  })
  const text = await response.text()
  return { status: response.status, etag: response.headers.get('etag') as string, data: JSON.parse(text).data, text }
}

const cluster = `config/clusters/${ids.native}`

test('v4.0 shows no field of v4.2, and a PUT through it keeps what it does not show', async () => {
  const ntpServerConfigList = [
    {
      ntpServerAddress: { fqdn: { value: 'secure.example.com' } },
      encryptionAlgorithm: 'SHA256',
      encryptionKey: 'Ntp.Secret.Key',
      encryptionKeyId: 7,
    },
  ]
  const first = await http('GET', `v4.2/${cluster}`)
  const put = await http('PUT', `v4.2/${cluster}`, {
    body: { network: { ntpServerConfigList } },
    headers: { 'if-match': first.etag },
  })
  assert.equal(put.status, 202)
  await app.task(put.data.extId)

  const newer = await http('GET', `v4.2/${cluster}`)
  assert.equal(newer.data.network.ntpServerConfigList.length, 1)
  assert.equal(newer.data.config.clusterType, 'HYPER_CONVERGED')
  const older = await http('GET', `v4.0/${cluster}`)
  assert.equal('ntpServerConfigList' in older.data.network, false)
  assert.equal('clusterType' in older.data.config, false)
  assert.equal(older.etag, newer.etag)
  for (const { text } of [newer, older]) assert.equal(text.includes('Ntp.Secret.Key'), false)

  const through = await http('PUT', `v4.0/${cluster}`, {
    body: { network: { fqdn: 'old.example.com' } },
    headers: { 'if-match': newer.etag },
  })
  assert.equal(through.status, 202)
  await app.task(through.data.extId)
  const kept = await http('GET', `v4.2/${cluster}`)
  assert.equal(kept.data.network.fqdn, 'old.example.com')
  assert.deepEqual(kept.data.network.ntpServerConfigList, newer.data.network.ntpServerConfigList)
})

test('a replacing PUT through v4.0 keeps the fields that only v4.2 knows', async () => {
  const headers = { 'x-cluster-id': ids.native, 'svc-request-id': requestId() }
  const made = await http('POST', 'v4.2/config/storage-containers', {
    body: { name: 'two-views', isShared: true, isCompressionEnabled: true },
    headers,
  })
  assert.equal(made.status, 202)
  const { extId } = (await app.task(made.data.extId)).entitiesAffected[0]
  const path = `config/storage-containers/${extId}`
  const older = await http('GET', `v4.0/${path}`)
  assert.equal('isShared' in older.data, false)
  const put = await http('PUT', `v4.0/${path}`, {
    body: { name: 'two-views' },
    headers: { 'if-match': older.etag, 'svc-request-id': requestId() },
  })
  assert.equal(put.status, 202)
  await app.task(put.data.extId)
  const newer = await http('GET', `v4.2/${path}`)
  assert.equal(newer.data.isShared, true)
  assert.equal(newer.data.isCompressionEnabled, false, 'what v4.0 knows and leaves out is cleared')
})

test('operations of v4.2 alone do not exist in v4.0', async () => {
  assert.equal((await http('GET', `v4.0/${cluster}/ssl-certificate`)).status, 404)
  assert.equal((await http('GET', `v4.2/${cluster}/ssl-certificate`)).status, 501)
})

test('expanded properties are in the answer', async () => {
  const { data } = await http('GET', `v4.2/config/clusters/${ids.extern}?$expand=clusterProfile,storageSummary`)
  assert.equal(data.clusterProfileProjection.name, 'baseline')
  assert.ok(data.storageSummaryProjection.clusterFaultTolerantCapacityInBytes > 0)
  const host = (await http('GET', `v4.2/config/hosts?$limit=1`)).data[0]
  assert.match(host.links[0].href, new RegExp(`/config/clusters/${ids.native}/hosts/${host.extId}$`))
})
