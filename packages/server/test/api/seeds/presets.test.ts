/** Worlds that come with the product. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { AwsSubnet } from '@hyperplane/contract/networking/aws-subnet'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { ExternalStorage } from '@hyperplane/contract/platform/external-storage'
import { seedId } from '../../../src/domains/seed.ts'
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

test('lab: what suites of integrations look for first is there, and nothing that they make is in their way', async () => {
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

test('lab: of every kind that has behaviour the inventory of its page is there', async () => {
  const app = await startApp({ config: { seed: 'lab' } })
  const named = async (path: string, field = 'name'): Promise<string[]> => {
    const { data, status, errors } = await app.call('GET', path)
    assert.equal(status, 200, `${path} ${JSON.stringify(errors)}`)
    return (data ?? []).map((each: any) => field.split('/').reduce((value, part) => value?.[part], each))
  }
  const lists: [path: string, field: string, names: readonly string[]][] = [
    ['/networking/v4.3/config/virtual-switches', 'name', ['vs0', 'vs1']],
    ['/networking/v4.3/config/vpcs', 'name', ['lab-vpc', 'transit', 'tenant-a', 'empty-vpc']],
    ['/networking/v4.3/config/routing-policies?$limit=100', 'name', ['db-stays-inside', 'default-policy']],
    ['/networking/v4.3/config/bgp-sessions', 'status/message', ['Established, 9 prefixes received']],
    ['/networking/v4.3/config/controllers', 'defaultVlanStack', ['LEGACY']],
    ['/clustermgmt/v4.2/config/cluster-profiles', 'driftedClusterCount', [1 as never]],
    ['/vmm/v4.2/extern/config/vms', 'powerState', ['ON', 'SUSPENDED', 'OFF']],
    ['/vmm/v4.2/ahv/config/vms?$limit=100', 'name', ['batch-01', 'db-01', 'floating-01', 'template-source', 'web-01']],
    [
      '/volumes/v4.2/config/volume-groups?$limit=100',
      'name',
      ['vg-orders-db', 'vg-shared', 'vg-backup', 'vg-nvme-bench', 'vg-empty', 'pvc-06'],
    ],
    ['/volumes/v4.2/config/iscsi-clients', 'iscsiInitiatorName', ['iqn.2026-01.io.example:retired']],
    ['/volumes/v4.2/config/nvmf-clients', 'nvmfInitiatorName', ['nqn.2026-01.io.example:bench']],
    ['/iam/v4.1.b2/authn/directory-services', 'name', ['corp-ad']],
    ['/iam/v4.1.b2/authn/saml-identity-providers', 'name', ['corp-sso']],
    ['/iam/v4.1.b2/authn/user-groups', 'name', ['vm-admins', 'saml-operators']],
    ['/iam/v4.1.b2/authn/users', 'username', ['operator', 'viewer', 'ci-robot', 'alice', 'bob', 'former']],
    ['/iam/v4.1.b2/authz/roles?$limit=100', 'displayName', ['Snapshot Operator']],
    ['/platform/v4.3/config/domain-managers', 'config/name', ['dr-site']],
    [
      '/clustermgmt/v4.2/config/storage-containers?$limit=100',
      'name',
      ['ManagementShare', 'db-gold', 'archive-ec', 'extern-store'],
    ],
  ]
  for (const [path, field, names] of lists) {
    const there = await named(path, field)
    for (const name of names) assert.ok(there.includes(name), `${path}: ${name} is not in ${there}`)
  }
  const [first] = (await app.call('GET', '/platform/v4.3/config/categories?$limit=1')).data
  assert.deepEqual([first.key, first.value], ['CostCenter', 'Research'])
  assert.deepEqual((await app.store.find(ExternalStorage)).map(({ name }) => name).sort(), ['flash-01', 'flex-01'])
  assert.equal((await app.store.find(AwsSubnet)).length, 12)
  assert.equal((await app.store.find(DataStore)).length, 3)
  assert.equal((await app.store.find(BackupTarget)).length, 1)
  const sides = [...app.world.collection<any>('remotes.sides').all().values()]
  assert.deepEqual(
    sides.filter(({ trusts }) => trusts.length === 0).map(({ name }) => name),
    ['lab-03'],
  )
  await app.close()
})

test('a preset makes the same world every time, whatever the process', async () => {
  const [first, second] = [await startApp({ config: { seed: 'demo' } }), await startApp({ config: { seed: 'demo' } })]
  const comparable = async (app: TestApp): Promise<unknown> => {
    const entities = new Map(await entitiesOf(app))
    // The size of a backup is that of sealed bytes.
    const targets = (entities.get('BackupTarget') as any[]).map(({ lastSizeBytes: _, ...target }) => target)
    return [...entities.set('BackupTarget', targets), ...(await factsOf(app))]
  }
  assert.deepEqual(await comparable(second), await comparable(first))
  await first.close()
  await second.close()
})

test('empty: an administrator and a manager, which is another one each time, so that two can be registered with each other', async () => {
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
