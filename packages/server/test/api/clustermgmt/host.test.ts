import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setState } from '../../../src/domains/clustermgmt/host-maintenance/states.ts'
import { observeHosts } from '../../../src/domains/clustermgmt/observe-hosts.ts'
import type { Store } from '../../../src/store/store.ts'
import { clustermgmt, hostId, ids } from '../../support/clustermgmt.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp()
})
after(() => app.close())

const hostsOf = (cluster: string): string => `${clustermgmt}/clusters/${cluster}/hosts`

test('a host under another cluster is not found', async () => {
  const extId = hostId('hp-n01-a')
  assert.equal((await app.call('GET', `${hostsOf(ids.native)}/${extId}`)).status, 200)
  assert.equal((await app.call('GET', `${hostsOf(ids.extern)}/${extId}`)).status, 404)
  assert.equal((await app.call('GET', `${hostsOf(ids.native)}/not-an-id`)).status, 400)
})

test('hosts are found by cluster and by name', async () => {
  const byCluster = await app.call(
    'GET',
    `${clustermgmt}/hosts?$filter=${encodeURIComponent(`cluster/uuid eq '${ids.extern}'`)}`,
  )
  assert.equal(byCluster.total, 3)
  const byName = await app.call('GET', `${clustermgmt}/hosts?$filter=${encodeURIComponent(`hostName eq 'hp-n01-c'`)}`)
  assert.deepEqual(
    byName.data.map(({ extId }: any) => extId),
    [hostId('hp-n01-c')],
  )
  const groups = await app.call(
    'GET',
    `${clustermgmt}/hosts?$apply=${encodeURIComponent('groupby((hypervisor/type))')}`,
  )
  assert.equal(groups.total, 2)
})

test('a host shows capacity, addresses and BMC as the demo declares them', async () => {
  const { data } = await app.call('GET', `${hostsOf(ids.native)}/${hostId('hp-n01-d')}`)
  assert.equal(data.memorySizeBytes, 768 * 1024 ** 3)
  assert.equal(data.numberOfCpuThreads, 80)
  assert.equal(data.disk.length, 6)
  assert.equal(data.hypervisor.externalAddress.ipv4.value, '10.44.1.24')
  assert.equal(data.controllerVm.externalAddress.ipv4.value, '10.44.1.34')
  assert.equal(data.ipmi.ip.ipv4.value, '10.44.1.44')
  assert.equal(data.ipmi.username, 'ADMIN')
  assert.equal(data.maintenanceState, 'normal')
})

test('maintenance that begins while hosts are observed keeps its state of the hypervisor', async () => {
  const extId = hostId('hp-n01-b')
  const { store, clock } = app
  const change = (to: Parameters<typeof setState>[2]) =>
    store.transaction((transaction) => setState(transaction, extId, to))
  const meanwhile: Pick<Store, 'find' | 'transaction'> = {
    find: (kind, query) => store.find(kind, query),
    transaction: async (work) => {
      await change('entering_maintenance')
      return store.transaction(work)
    },
  }
  const hardware = { isReachable: () => true, conditionOf: (id: string) => ({ isUp: true, isDegraded: id === extId }) }
  await observeHosts.run({ store: meanwhile, drivers: { hardware }, clock } as never)
  const { hypervisor } = (await app.call('GET', `${hostsOf(ids.native)}/${extId}`)).data
  assert.equal(hypervisor.state, 'ENTERING_MAINTENANCE_MODE')
  await change('normal')
})
