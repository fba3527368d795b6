/** Subnets of the cloud. Source: behaviour networking.md 1.21, 5 (47). */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { AwsSubnet } from '@hyperplane/contract/networking/aws-subnet'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { http } from '../../support/http.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aRole, grant } from '../iam/people.ts'

const path = '/networking/v4.3/cloud/config/subnets'
const cloud = seedId('cluster/cloud-1')
let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('a request without X-Cluster-Id is refused', async () => {
  const refused = await app.call('GET', path)
  assert.equal(refused.status, 400)
  assert.equal(refused.errors[0]!.attributePath, 'X-Cluster-Id')
  assert.equal((await app.call('GET', path, { clusterId: 'cloud-1' })).status, 400)
})

test('an unknown cluster is 404, and an on-premises cluster has no cloud subnets', async () => {
  assert.equal((await app.call('GET', path, { clusterId: randomUUID() })).status, 404)
  const empty = await app.call('GET', path, { clusterId: seedId('cluster/hp-native-01') })
  assert.deepEqual([empty.status, empty.total, empty.data], [200, 0, []])
})

test('the cloud cluster has twelve subnets in two zones, and pages of five list them all', async () => {
  const seen = new Set<string>()
  const zones = new Set<string>()
  for (let page = 0; page < 3; page++) {
    const { data, total } = await app.call('GET', `${path}?$limit=5&$page=${page}`, { clusterId: cloud })
    assert.equal(total, 12)
    for (const item of data) {
      seen.add(item.subnetId)
      zones.add(item.availabilityZone)
      assert.match(item.subnetId, /^subnet-[0-9a-f]{17}$/)
      assert.match(item.vpcId, /^vpc-[0-9a-f]{17}$/)
    }
  }
  assert.deepEqual([seen.size, zones.size], [12, 2])
})

test('a page holds at most 50 subnets, and a truncated response says so', async () => {
  const many = randomUUID()
  const { url } = await app.listen()
  const isTruncated = async (query: string): Promise<boolean> => {
    const { json } = await http(url, `/api${path}?${query}`, { headers: { 'X-Cluster-Id': many } })
    return json.metadata.flags.find(({ name }: any) => name === 'isTruncated').value
  }
  await app.store.transaction(async (store) => {
    const { Cluster } = await import('@hyperplane/contract/clustermgmt/cluster')
    await store.insert(Cluster, { extId: many, name: 'cloud-many' } as never)
    for (let index = 0; index < 60; index++) {
      await store.insert(AwsSubnet, {
        extId: randomUUID(),
        clusterExtId: many,
        subnetId: `subnet-${index}`,
        vpcId: 'vpc-0',
        cidr: `10.0.${index}.0/24`,
        gatewayIp: `10.0.${index}.1`,
        availabilityZone: 'a',
        cloudType: 'AWS',
      })
    }
  })
  const first = await app.call('GET', `${path}?$limit=100`, { clusterId: many })
  assert.deepEqual([first.data.length, first.total], [50, 60])
  assert.equal(await isTruncated('$limit=100'), true)
  assert.equal(await isTruncated('$limit=100&$page=1'), false)
  assert.equal(await isTruncated('$limit=20'), false)
  const second = await app.call('GET', `${path}?$limit=100&$page=1`, { clusterId: many })
  assert.equal(second.data.length, 10)
})

test('subnets are filtered, ordered and selected as the specification lists', async () => {
  const all = await app.call('GET', `${path}?$orderby=cidr desc&$select=cidr,vpcId`, { clusterId: cloud })
  const { vpcId } = all.data[0]
  assert.equal(all.data[0].gatewayIp, undefined)
  const some = await app.call('GET', `${path}?$filter=vpcId eq '${vpcId}'`, { clusterId: cloud })
  assert.equal(some.total, 6)
  assert.equal((await app.call('GET', `${path}?$filter=gatewayIp eq 'x'`, { clusterId: cloud })).status, 400)
})

test('a caller sees neither a cluster nor cloud subnets outside the scope of its policies', async () => {
  const named = (name: string, extIds: string[]) => ({ [name]: { uuid: { anyof: extIds } } })
  const [one] = (await app.call('GET', path, { clusterId: cloud })).data
  const reader = async (...filters: object[]) => {
    const robot = await aRobot(app)
    const role = await aRole(app, ['View_AWS_Subnet', 'View_Cluster'])
    for (const filter of filters) await grant(app, { id: role }, robot.extId, filter)
    return robot.apiKey
  }
  const ofOther = await reader(named('cluster', [seedId('cluster/hp-native-01')]), named('aws_subnet', [one.extId]))
  assert.equal((await app.call('GET', path, { apiKey: ofOther, clusterId: cloud })).status, 404)
  const ofCloud = await reader(named('cluster', [cloud]), named('aws_subnet', [one.extId]))
  const seen = await app.call('GET', path, { apiKey: ofCloud, clusterId: cloud })
  assert.deepEqual([seen.status, seen.total, seen.data?.[0]?.extId], [200, 1, one.extId])
})
