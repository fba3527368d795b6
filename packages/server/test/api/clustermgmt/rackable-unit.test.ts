/** Blocks of hosts. Source: behaviour clustermgmt.md 1.7. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const units = (cluster: string): string => `${clustermgmt}/clusters/${cluster}/rackable-units`

test('clients see the block of a cluster with its nodes from A to D', async () => {
  const { data } = await app.call('GET', units(ids.native))
  assert.equal(data.length, 1)
  const [unit] = data
  assert.deepEqual([unit.model, unit.modelName], ['USELAYOUT', 'NX-3460-G8'])
  assert.deepEqual(
    unit.nodes.map(({ uuid, position }: any) => [uuid, position]),
    ['a', 'b', 'c', 'd'].map((letter, index) => [hostId(`hp-n01-${letter}`), index + 1]),
  )
  const host = (await app.call('GET', `${clustermgmt}/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}`)).data
  assert.deepEqual([unit.extId, unit.serial], [host.rackableUnitUuid, host.blockSerial])
  const [disk] = (await app.call('GET', `${clustermgmt}/disks?$filter=hostName eq 'hp-n01-c'&$limit=1`)).data
  assert.equal(disk.serviceVMId, `${ids.native}::${unit.nodes[2].svmId}`)
  assert.deepEqual((await app.call('GET', `${units(ids.native)}/${unit.extId}`)).data, unit)
  assert.deepEqual((await app.call('GET', units(ids.native).replace('v4.2', 'v4.0'))).data.length, 1)
})

test('a block of another cluster is 404, and the manager has none', async () => {
  const [unit] = (await app.call('GET', units(ids.native))).data
  assert.equal((await app.call('GET', `${units(ids.extern)}/${unit.extId}`)).status, 404)
  assert.deepEqual((await app.call('GET', units(ids.manager))).data ?? [], [])
})
