/** VPCs of cloud accounts. Source: behaviour networking.md 1.21, 4. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'
import { aRobot, aRole, grant } from '../iam/people.ts'

const path = '/networking/v4.3/cloud/config/vpcs'
const cloud = seedId('cluster/cloud-1')
let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('the cloud cluster has two VPCs, which hold all its subnets', async () => {
  const { data, status } = await app.call('GET', path, { clusterId: cloud })
  assert.equal(status, 200)
  assert.deepEqual(
    data.map(({ cidrs, cloudType }: any) => [cidrs, cloudType]),
    [
      [['10.100.0.0/16'], 'AWS'],
      [['10.101.0.0/16'], 'AWS'],
    ],
  )
  const subnets = await app.call('GET', '/networking/v4.3/cloud/config/subnets', { clusterId: cloud })
  assert.deepEqual(new Set(data.map(({ vpcId }: any) => vpcId)), new Set(subnets.data.map(({ vpcId }: any) => vpcId)))
  const again = await app.call('GET', path, { clusterId: cloud })
  assert.deepEqual(again.data, data)
})

test('the list needs a cluster that exists, and takes no options', async () => {
  const refused = await app.call('GET', path)
  assert.deepEqual([refused.status, refused.errors[0]!.attributePath], [400, 'X-Cluster-Id'])
  assert.equal((await app.call('GET', path, { clusterId: randomUUID() })).status, 404)
  const empty = await app.call('GET', path, { clusterId: seedId('cluster/hp-native-01') })
  assert.deepEqual([empty.status, empty.data], [200, []])
  assert.equal((await app.call('GET', `${path}?$limit=5`, { clusterId: cloud })).status, 400)
})

test('a caller who may not see the cluster gets 404', async () => {
  const role = await aRole(app, ['View_AWS_VPC', 'View_Cluster'])
  const readerOf = async (cluster: string): Promise<string> => {
    const robot = await aRobot(app)
    await grant(app, { id: role }, robot.extId, {
      aws_vpc: { '*': { eq: '*' } },
      cluster: { uuid: { anyof: [cluster] } },
    })
    return robot.apiKey
  }
  const ofOther = await readerOf(seedId('cluster/hp-native-01'))
  assert.equal((await app.call('GET', path, { apiKey: ofOther, clusterId: cloud })).status, 404)
  assert.equal((await app.call('GET', path, { apiKey: await readerOf(cloud), clusterId: cloud })).data.length, 2)
})
