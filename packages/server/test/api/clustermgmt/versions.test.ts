import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { AnySchema } from '@hyperplane/contract'
import { clustermgmt } from '@hyperplane/contract/clustermgmt'
import { hostId, ids, requestId } from '../../support/clustermgmt.ts'
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

test('v4.0 shows no field of v4.2, and a PUT through it keeps the hidden fields', async () => {
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

test('a PUT through v4.0 keeps the fields that only v4.2 has', async () => {
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

test('no answer of v4.0 has a field that only v4.2 has, whatever the kind', async () => {
  const newer = new Set<string>()
  const names = (schema: AnySchema): void => {
    if (schema.type === 'list') names(schema.items)
    else if (schema.type === 'object') {
      for (const [name, field] of Object.entries(schema.fields)) {
        if (field.since === 'v4.2') newer.add(`${schema.objectType}/${name}`)
        names(field)
      }
    }
  }
  for (const { schema } of clustermgmt.resources) names(schema)
  assert.ok(newer.has('clustermgmt.v4.config.Host/nodeSerial'))
  const found = (value: any, into: Set<string>): Set<string> => {
    if (Array.isArray(value)) for (const item of value) found(item, into)
    else if (typeof value === 'object' && value !== null) {
      for (const [name, item] of Object.entries(value)) {
        into.add(`${value.$objectType}/${name}`)
        found(item, into)
      }
    }
    return into
  }
  await app.task(
    (
      await http('POST', 'v4.2/config/cluster-profiles', {
        body: {
          name: 'all-fields',
          ntpServerConfigList: [
            {
              ntpServerAddress: { fqdn: { value: 'n.example.com' } },
              encryptionAlgorithm: 'SHA256',
              encryptionKeyId: 1,
            },
          ],
        },
        headers: { 'svc-request-id': requestId() },
      })
    ).data.extId,
  )
  const seen = { 'v4.0': new Set<string>(), 'v4.2': new Set<string>() }
  for (const operation of clustermgmt.operations.filter(
    ({ method, versions }) => method === 'GET' && versions.includes('v4.0'),
  )) {
    const path = operation.path.replace('{clusterExtId}', ids.native)
    if (path.includes('{')) continue
    for (const version of ['v4.0', 'v4.2'] as const) found((await http('GET', `${version}${path}`)).data, seen[version])
  }
  assert.deepEqual(
    [...newer].filter((name) => seen['v4.0'].has(name)),
    [],
  )
  for (const name of [
    'Host/nodeSerial',
    'ClusterConfigReference/clusterType',
    'ClusterProfile/ntpServerConfigList',
    'StorageContainer/isShared',
  ])
    assert.ok(seen['v4.2'].has(`clustermgmt.v4.config.${name}`), name)
})

test('a value that only v4.2 has is $UNKNOWN in v4.0, and refused there', async () => {
  const rsyslogServerList = [
    {
      serverName: 'ops',
      ipAddress: { ipv4: { value: '10.4.4.4' } },
      port: 514,
      networkProtocol: 'UDP',
      modules: [{ name: 'NCM_AIOPS', logSeverityLevel: 'ERROR' }],
    },
  ]
  const create = (version: string, name: string) =>
    http('POST', `${version}/config/cluster-profiles`, {
      body: { name, rsyslogServerList },
      headers: { 'svc-request-id': requestId() },
    })
  const refused = await create('v4.0', 'older')
  assert.equal(refused.status, 400)
  assert.match(refused.text, /NCM_AIOPS/)
  const { extId } = (await app.task((await create('v4.2', 'newer')).data.extId)).entitiesAffected[0]
  const module = async (version: string): Promise<string> =>
    (await http('GET', `${version}/config/cluster-profiles/${extId}`)).data.rsyslogServerList[0].modules[0].name
  assert.deepEqual([await module('v4.2'), await module('v4.0')], ['NCM_AIOPS', '$UNKNOWN'])
})

test('links, Location and $reserved keep the version of the request; the task is of platform v4.3 in both', async () => {
  for (const [version, revision] of [
    ['v4.0', 'v4.r0'],
    ['v4.2', 'v4.r2'],
  ]) {
    const answer = await fetch(`${url}/api/clustermgmt/${version}/${cluster}`, {
      headers: { authorization, 'NTNX-Request-Id': requestId() },
    })
    const body = (await answer.json()) as any
    assert.deepEqual([body.$reserved.$fv, body.data.$reserved.$fv], [revision, revision])
    assert.match(body.data.links[0].href, new RegExp(`/clustermgmt/${version}/config/clusters/`))
    const started = await fetch(`${url}/api/clustermgmt/${version}/config/cluster-profiles`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', 'svc-request-id': requestId() },
      body: JSON.stringify({ name: `linked-${version}` }),
    })
    assert.match(String(started.headers.get('location')), /\/api\/platform\/v4\.3\/config\/tasks\//)
    const { links } = ((await started.json()) as any).metadata
    assert.match(links.find(({ rel }: any) => rel === 'collection').href, new RegExp(`/clustermgmt/${version}/config/`))
  }
})

test('the link of an item in an answer leads to that item, whatever the kind', async () => {
  const linked = new Set<string>()
  for (const { method, path } of clustermgmt.operations) {
    const { href } = new URL(path.replace('{clusterExtId}', ids.native).replace('{hostExtId}', hostId('hp-n01-a')), url)
    if (method !== 'GET' || href.includes('%7B')) continue
    const { data } = await http('GET', `v4.2${new URL(href).pathname}`)
    for (const { extId, links = [] } of Array.isArray(data) ? data.slice(0, 2) : [data])
      for (const { rel, href: link } of links) {
        if (rel !== 'self') continue
        const answer = await http('GET', link.split('/api/clustermgmt/')[1])
        assert.deepEqual([answer.status, answer.data.extId], [200, extId], link)
        linked.add(path)
      }
  }
  for (const name of ['/rackable-units', '/hosts', '/cvms', '/host-nics', '/virtual-nics', '/snmp'])
    assert.ok(
      [...linked].some((path) => path.endsWith(name)),
      name,
    )
})

test('a container has links to itself and to its statistics, and $select without links omits them', async () => {
  const containers = (await http('GET', 'v4.0/config/storage-containers?$limit=1')).data
  assert.deepEqual(
    containers[0].links.map(({ rel }: any) => rel),
    ['self', 'storage-container', 'storage-container-stats'],
  )
  assert.match(
    containers[0].links[2].href,
    new RegExp(`/clustermgmt/v4.0/stats/storage-containers/${containers[0].extId}$`),
  )
  const selected = (await http('GET', 'v4.2/config/storage-containers?$limit=1&$select=name')).data
  assert.deepEqual(Object.keys(selected[0]).sort(), ['$objectType', 'extId', 'name'])
  const hosts = (await http('GET', `v4.2/${cluster}/hosts?$limit=1&$select=hostName`)).data
  assert.deepEqual(Object.keys(hosts[0]).sort(), ['$objectType', 'extId', 'hostName'])
})

test('operations of v4.2 alone do not exist in v4.0', async () => {
  assert.equal((await http('GET', `v4.0/${cluster}/ssl-certificate`)).status, 404)
  assert.equal((await http('GET', `v4.2/${cluster}/ssl-certificate`)).status, 200)
  const newer = clustermgmt.operations.filter(({ versions }) => !versions.includes('v4.0'))
  assert.equal(newer.length, 10)
  for (const { key, method, path } of newer) {
    const answer = await http(method, `v4.0${path.replace(/\{\w+\}/g, ids.native)}`)
    assert.equal(answer.status, 404, key)
    assert.match(answer.text, /PLAT-10001/, key)
  }
})

test('$expand returns the expanded properties', async () => {
  const { data } = await http('GET', `v4.2/config/clusters/${ids.extern}?$expand=clusterProfile,storageSummary`)
  const [first] = (await http('GET', 'v4.2/config/clusters?$expand=storageSummary&$limit=1')).data
  assert.equal(first.$objectType, 'clustermgmt.v4.config.ClusterProjection')
  assert.ok(first.storageSummaryProjection.clusterFaultTolerantCapacityInBytes > 0)
  assert.equal(data.clusterProfileProjection.name, 'baseline')
  assert.ok(data.storageSummaryProjection.clusterFaultTolerantCapacityInBytes > 0)
  const host = (await http('GET', `v4.2/config/hosts?$limit=1`)).data[0]
  assert.match(host.links[0].href, new RegExp(`/config/clusters/${ids.native}/hosts/${host.extId}$`))
})
