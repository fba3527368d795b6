/** Domain managers over the interface. Source: behaviour platform.md 14, statement 17. */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

const managers = '/platform/v4.3/config/domain-managers'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

test('this manager is listed with name, size, version and network, and reads the same alone', async () => {
  const { data, status } = await app.call('GET', managers)
  assert.equal(status, 200)
  const own = data.find((each: any) => each.extId === seedId('manager'))
  assert.equal(own.config.name, 'PC_10.44.1.9')
  assert.equal(own.config.size, 'SMALL')
  assert.match(own.config.buildInfo.version, /^\d+\.\d+/)
  assert.equal(own.network.externalAddress.ipv4.value, '10.44.1.9')
  assert.deepEqual(
    [own.config.resourceConfig.numVcpus, own.config.resourceConfig.memorySizeBytes],
    [10, 35 * 1024 ** 3],
  )
  assert.equal(own.hostingClusterExtId, seedId('cluster/hp-native-01'))
  const single = await app.call('GET', `${managers}/${own.extId}`)
  assert.deepEqual(single.data, own)
  assert.ok(single.etag)
})

test('an unknown manager is not found', async () => {
  assert.equal((await app.call('GET', `${managers}/${crypto.randomUUID()}`)).status, 404)
})

test('$select keeps the fields that it names', async () => {
  const { data } = await app.call('GET', `${managers}?$select=config/name`)
  assert.deepEqual(data, [
    { extId: seedId('manager'), config: { name: 'PC_10.44.1.9' } },
    { extId: seedId('manager/dr-site'), config: { name: 'dr-site' } },
  ])
})

test('the size follows from the tier, and an empty world has its manager too', async () => {
  const large = await startApp({ config: { tier: 'large', seed: 'empty' } })
  try {
    const { data } = await large.call('GET', managers)
    assert.deepEqual([data.length, data[0].config.size, data[0].config.resourceConfig.numVcpus], [1, 'LARGE', 18])
  } finally {
    await large.close()
  }
})
