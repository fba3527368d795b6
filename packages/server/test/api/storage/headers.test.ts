/** What only the bytes show: headers and type names of the older namespace. Source: behaviour volumes-storage.md 1.8, 5. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { http } from '../../support/http.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { chap, clusterId, nameOf, secret } from '../../support/volumes.ts'

let app: TestApp
let url: string
before(async () => {
  app = await startApp()
  url = (await app.listen()).url
})
after(() => app.close())

const older = '/api/storage/v4.0.a3/config'
const group = seedId('volume-group/vg-orders-db')

test('every response, errors included, is marked as deprecated and links to its successor', async () => {
  const cases: [string, string, number][] = [
    [`/iscsi-clients`, '/api/volumes/v4.2/config/iscsi-clients', 200],
    [`/volume-groups/${group}`, `/api/volumes/v4.2/config/volume-groups/${group}`, 200],
    [`/volume-groups/${group}?x=y`, `/api/volumes/v4.2/config/volume-groups/${group}`, 400],
    ['/storage-containers', '/api/clustermgmt/v4.2/config/storage-containers', 200],
  ]
  for (const [path, successor, status] of cases) {
    const answer = await http(url, older + path)
    assert.equal(answer.status, status, path)
    assert.equal(answer.headers['deprecation'], 'true', path)
    assert.equal(answer.headers['link'], `<${successor}>; rel="successor-version"`, path)
  }
})

test('a request with only an API key is 401 and marked as deprecated', async () => {
  const answer = await http(url, `${older}/iscsi-clients`, { as: null, headers: { 'X-SVC-Api-Key': 'any' } })
  assert.equal(answer.status, 401)
  assert.equal(answer.headers['deprecation'], 'true')
})

test('single reads have an ETag, and no response redirects', async () => {
  const answer = await http(url, `${older}/volume-groups/${group}`)
  assert.match(String(answer.headers['etag']), /^".+"$/)
  const elsewhere = await http(url, `${older}/volume-groups`, { method: 'POST', body: '{}' })
  assert.equal(elsewhere.status, 404)
  assert.equal(elsewhere.headers['location'], undefined)
  assert.match(elsewhere.text, /\/api\/volumes\/v4\.2\/config\/volume-groups/)
})

test('in the public profile types and reserved values have names of this namespace', async () => {
  const answer = await http(url, `${older}/volume-groups/${group}`, { headers: { 'NTNX-Request-Id': randomUUID() } })
  assert.equal(answer.json.$reserved.$fqObjectType, 'storage.v4.r0.a3.config.VolumeGroupResponse')
  assert.equal(answer.json.data.$objectType, 'storage.v4.config.VolumeGroup')
  assert.equal(answer.json.data.attachments[0].attachment.$objectType, 'storage.v4.config.IscsiClientAttachment')
})

test('a selection keeps type and reserved values under volumes', async () => {
  const path = `/api/volumes/v4.2/config/volume-groups?$select=name&$filter=extId%20eq%20'${group}'`
  const answer = await http(url, path, { headers: { 'NTNX-Request-Id': randomUUID() } })
  const [{ $objectType, $reserved, name }] = answer.json.data
  assert.deepEqual([$objectType, $reserved, name], ['volumes.v4.config.VolumeGroup', { $fv: 'v4.r2' }, 'vg-orders-db'])
})

test('expanded items of a list are projections', async () => {
  const path = '/api/volumes/v4.2/config/volume-groups?$limit=1'
  const plain = await http(url, path)
  const expanded = await http(url, `${path}&$expand=cluster`)
  assert.equal(plain.json.data[0].$objectType, 'volumes.v4.config.VolumeGroup')
  assert.equal(expanded.json.data[0].$objectType, 'volumes.v4.config.VolumeGroupProjection')
  assert.equal(expanded.json.data[0].clusterProjection.clusterName, 'hp-native-01')
})

test('no answer about a group or client with CHAP holds a secret', async () => {
  const headers = () => ({ 'SVC-Request-Id': randomUUID() })
  const body = JSON.stringify({ name: nameOf(), clusterReference: clusterId, ...chap })
  const created = await http(url, '/api/volumes/v4.2/config/volume-groups', {
    method: 'POST',
    headers: headers(),
    body,
  })
  await app.runner.untilEnded(created.json.data.extId)
  const task = await http(url, `/api/platform/v4.3/config/tasks/${created.json.data.extId}`)
  const extId = task.json.data.entitiesAffected[0].extId
  const wrong = JSON.stringify({ enabledAuthentications: 'NONE', iscsiFeatures: { targetSecret: secret } })
  const answers = [
    created,
    task,
    await http(url, `/api/volumes/v4.2/config/volume-groups/${extId}`),
    await http(url, `${older}/volume-groups/${extId}`),
    await http(url, `/api/volumes/v4.2/config/volume-groups/${extId}`, {
      method: 'PUT',
      headers: { ...headers(), 'If-Match': '"x"' },
      body: wrong,
    }),
  ]
  for (const answer of answers) {
    assert.equal(answer.text.includes(secret), false)
    assert.doesNotMatch(answer.text, /sealed|targetSecret"/)
  }
})
