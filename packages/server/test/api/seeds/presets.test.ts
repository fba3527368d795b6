/** Worlds that come with the product. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { changed, GiB } from '../../support/native-cluster.ts'
import { entitiesOf, factsOf } from '../../support/seeds.ts'
import { adminPassword, startApp, type TestApp } from '../../support/start-app.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
const total = async (app: TestApp, path: string): Promise<number | undefined> =>
  (await app.call('GET', `${path}?$limit=1`)).total

test('tiny: one cluster, host, network and image, three VMs, and room for another', async () => {
  const app = await startApp({ config: { seed: 'tiny' } })
  for (const [path, count] of [
    ['/clustermgmt/v4.2/config/hosts', 1],
    ['/networking/v4.3/config/subnets', 1],
    ['/vmm/v4.2/content/images', 1],
    [vms, 3],
  ] as const)
    assert.equal(await total(app, path), count, path)
  const task = await app.task(
    await app.call('POST', vms, {
      requestId: randomUUID(),
      body: {
        name: 'mine',
        memorySizeBytes: GiB,
        cluster: { extId: seedId('cluster/tiny') },
        nics: [{ networkInfo: { subnet: { extId: seedId('subnet/net') } } }],
      },
    }),
  )
  assert.equal(task.status, 'SUCCEEDED')
  assert.equal((await changed(app, task.entitiesAffected[0].extId, 'power-on')).status, 'SUCCEEDED')
  await checkInvariants(app)
  await app.close()
})

test('lab: has what integration suites look for first, and does not conflict with what they create', async () => {
  const app = await startApp({ config: { seed: 'lab' } })
  const find = async (path: string, filter: string): Promise<any[]> => {
    const { data, status, errors } = await app.call('GET', `${path}?$filter=${filter}&$limit=100`)
    assert.equal(status, 200, JSON.stringify(errors))
    return data
  }
  const native = await find(
    '/clustermgmt/v4.2/config/clusters',
    "config/clusterFunction/any(t:t eq Clustermgmt.Config.ClusterFunctionRef'AOS')",
  )
  assert.deepEqual(
    native.map(({ name }) => name),
    ['lab-01', 'lab-02', 'lab-extern', 'lab-cloud'],
  )
  const subnets = '/networking/v4.3/config/subnets'
  assert.equal((await find(subnets, 'isExternal eq true')).length, 3)
  const managed = (await find(subnets, "name eq 'vlan-managed'"))[0]
  assert.ok(managed.ipUsage === undefined || managed.ipUsage.numFreeIPs > 100)
  assert.equal((await find(subnets, "name eq 'vlan-unmanaged'"))[0].ipConfig, undefined)
  assert.equal((await find('/vmm/v4.2/content/images', "type eq Vmm.Content.ImageType'ISO_IMAGE'")).length, 1)
  assert.equal((await find('/volumes/v4.2/config/volume-groups', "startswith(name,'pvc-')")).length, 6)
  assert.equal((await find('/platform/v4.3/config/categories', "key eq 'AcceptanceTest'")).length, 5)

  // The account of a storage plug-in, with a key as it would make one.
  const [csi] = await find('/iam/v4.1.b2/authn/users', "username eq 'csi'")
  const key = await app.call('POST', `/iam/v4.1.b2/authn/users/${csi.extId}/keys`, {
    requestId: randomUUID(),
    body: { name: 'driver', keyType: 'API_KEY', assignedTo: 'csi' },
  })
  assert.equal(key.status, 201, JSON.stringify(key.errors))
  const { apiKey } = key.data.keyDetails
  const volume = await app.call('POST', '/volumes/v4.2/config/volume-groups', {
    apiKey,
    requestId: randomUUID(),
    body: { name: 'pvc-new', clusterReference: seedId('cluster/lab-01') },
  })
  assert.equal((await app.task(volume)).status, 'SUCCEEDED')
  assert.equal((await app.call('GET', vms, { as: `viewer:${adminPassword}` })).status, 200)
  await checkInvariants(app)
  await app.close()
})

/** Rows and facts; the size of a backup is that of sealed bytes. */
async function comparable(app: TestApp): Promise<unknown> {
  const entities = new Map(await entitiesOf(app))
  const targets = (entities.get('BackupTarget') as any[]).map(({ lastSizeBytes: _, ...target }) => target)
  return [...entities.set('BackupTarget', targets), ...(await factsOf(app))]
}

test('a preset makes the same world every time, whatever the process', async () => {
  const [first, second] = [await startApp({ isFilledAnew: true }), await startApp({ isFilledAnew: true })]
  assert.deepEqual(await comparable(second), await comparable(first))
  await first.close()
  await second.close()
})

test('worlds copied from a test baseline equal those that the preset creates', async () => {
  const first = await startApp()
  const second = await startApp()
  const filled = await startApp({ isFilledAnew: true })
  assert.deepEqual(await comparable(second), await comparable(filled))
  for (const app of [first, second, filled]) await app.close()
})

test('empty: an administrator and a manager with its own identity, so that two can be registered with each other', async () => {
  const [first, second] = [await startApp({ config: { seed: 'empty' } }), await startApp({ config: { seed: 'empty' } })]
  assert.equal(await total(first, vms), 0)
  assert.equal((await first.store.find(Cluster)).length, 1)
  const managers = await Promise.all(
    [first, second].map(async (app) => (await app.store.find(DomainManager))[0]?.extId),
  )
  assert.notEqual(managers[0], managers[1])
  await first.close()
  await second.close()
})

test('public clients can read demo and lab: no management server, no reservation, no unnamed iSCSI client', async () => {
  for (const seed of ['demo', 'lab'] as const) {
    const app = await startApp({ config: { seed } })
    const all = async (path: string): Promise<any[]> => (await app.call('GET', `${path}?$limit=100`)).data
    for (const { name, network } of await all('/clustermgmt/v4.2/config/clusters'))
      assert.equal(network.managementServer, undefined, name)
    for (const { name, reservedIpAddresses } of await all('/networking/v4.3/config/subnets'))
      assert.equal(reservedIpAddresses, undefined, name)
    const clients = await all('/volumes/v4.2/config/iscsi-clients')
    assert.ok(clients.length > 2)
    for (const { iscsiInitiatorName } of clients) assert.match(iscsiInitiatorName, /^iqn/)
    await app.close()
  }
})

test('the manager has its address, its name servers and its hosting cluster in every preset and in a seed of its own', async () => {
  const text = 'clusters:\n  - { name: out, hypervisorType: ESX }\n  - { name: mine }\n'
  const worlds = [
    ['tiny', 'tiny'],
    ['demo', 'hp-native-01'],
    ['lab', 'lab-01'],
    ['empty', undefined],
    [{ text }, 'mine'],
  ] as const
  for (const [seed, cluster] of worlds) {
    const app = await startApp({ config: { seed } })
    const own = await app.store.findOne(DomainManager, { isOwn: true })
    const found = (await app.call('GET', `/platform/v4.3/config/domain-managers/${own?.extId}`)).data
    assert.equal(found.network.externalAddress.ipv4.value, '10.44.1.9')
    assert.equal(found.network.nameServers.length, 2)
    const hosting = cluster === undefined ? undefined : seedId(`cluster/${cluster}`)
    assert.deepEqual(
      [found.hostingClusterExtId, found.isRegisteredWithHostingCluster],
      [hosting, cluster !== undefined],
    )
    await checkInvariants(app)
    await app.close()
  }
})
