/** Virtual switches. Source: behaviour networking.md 1.18, 4. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const path = '/networking/v4.3/config/virtual-switches'
let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('the demo has a default switch and another, each on four hosts', async () => {
  const list = await app.call('GET', `${path}?$orderby=name`)
  assert.deepEqual(
    list.data.map((item: any) => [item.name, item.isDefault, item.bondMode, item.clusters[0].hosts.length]),
    [
      ['vs0', true, 'ACTIVE_BACKUP', 4],
      ['vs1', false, 'BALANCE_TCP', 4],
    ],
  )
  const one = await app.call('GET', `${path}/${seedId('virtual-switch/vs0')}`)
  assert.equal(one.data.clusters[0].hosts[0].internalBridgeName, 'br0')
  assert.ok(one.etag)
})

test('the header X-Cluster-Id limits the list to the switches of that cluster', async () => {
  const totalOn = async (cluster: string): Promise<number | undefined> =>
    (await app.call('GET', path, { clusterId: seedId(`cluster/${cluster}`) })).total
  assert.equal(await totalOn('hp-native-01'), 2)
  assert.equal(await totalOn('cloud-1'), 0)
  assert.equal((await app.call('GET', path, { clusterId: 'vs0' })).status, 400)
})

test('switches are found by the cluster that they are on', async () => {
  const filter = `clusters/any(c:c/extId eq '${seedId('cluster/hp-native-01')}') and isDefault eq true`
  const list = await app.call('GET', `${path}?$filter=${encodeURIComponent(filter)}`)
  assert.deepEqual(
    list.data.map((item: any) => item.name),
    ['vs0'],
  )
})
