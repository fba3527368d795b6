/**
 * The preset lab: of every kind that has behaviour it holds what the kind's page lists as its inventory, seen as a client sees it.
 * Source: behaviour, the inventories of all pages.
 */

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { checkInvariants } from '../../support/invariants.ts'
import { startApp, type TestApp } from '../../support/start-app.ts'

let app: TestApp
before(async () => {
  app = await startApp({ config: { seed: 'lab' } })
})
after(() => app.close())

async function get(path: string): Promise<any> {
  const { data, status, errors } = await app.call('GET', path)
  assert.equal(status, 200, `${path} ${JSON.stringify(errors)}`)
  return data
}
const list = async (path: string): Promise<any[]> => (await get(`${path}?$limit=100`)) ?? []
const names = async (path: string, field = 'name'): Promise<string[]> => (await list(path)).map((each) => each[field])
const cluster = (name: string): string => seedId(`cluster/${name}`)

async function holds(path: string, wanted: readonly string[], field = 'name'): Promise<void> {
  const there = await names(path, field)
  assert.deepEqual(
    wanted.filter((name) => !there.includes(name)),
    [],
    `${path} has ${there}`,
  )
}

test('conventions: ended tasks of every namespace, a batch of three with one failure, and no running task', async () => {
  const tasks = await list('/platform/v4.3/config/tasks')
  const ended = tasks.filter(({ status }) => ['SUCCEEDED', 'FAILED', 'CANCELED'].includes(status))
  assert.ok(ended.length >= 20 && ended.length === tasks.length, `${ended.length} of ${tasks.length}`)
  assert.deepEqual([...new Set(tasks.map(({ status }) => status))].sort(), ['CANCELED', 'FAILED', 'SUCCEEDED'])
  assert.deepEqual([...new Set(tasks.map(({ appName }) => appName))].sort(), [
    'clustermgmt',
    'iam',
    'networking',
    'platform',
    'storage',
    'vmm',
    'volumes',
  ])
  const [batch, other] = await list('/platform/v4.3/operations/batches')
  assert.equal(other, undefined)
  assert.deepEqual(
    [batch.name, batch.size, batch.successCount, batch.failedCount, batch.completionStatus],
    ['environments', 3, 2, 1, 'PARTIALLY_SUCCEEDED'],
  )
  const task = await get(`/platform/v4.3/config/tasks/${batch.extId}`)
  assert.deepEqual([task.status, task.batchSummary.numberOfJobsFailed], ['FAILED', 1])
})

test('conventions: the entities of past tasks exist', async () => {
  const paths: Readonly<Record<string, string>> = {
    'clustermgmt:config:cluster': '/clustermgmt/v4.2/config/clusters',
    'iam:authn:user': '/iam/v4.1.b2/authn/users',
    'networking:config:subnet': '/networking/v4.3/config/subnets',
    'platform:config:category': '/platform/v4.3/config/categories',
    'vmm:ahv:config:vm': '/vmm/v4.2/ahv/config/vms',
    'vmm:content:image': '/vmm/v4.2/content/images',
    'volumes:config:volume-group': '/volumes/v4.2/config/volume-groups',
  }
  for (const { extId } of await list('/platform/v4.3/config/tasks')) {
    const { entitiesAffected } = await get(`/platform/v4.3/config/tasks/${extId}`)
    for (const { rel, extId: about } of entitiesAffected) await get(`${paths[rel]}/${about}`)
  }
})

test('iam: users, groups, a directory of 40 users with eight groups, one of them nested, and policies', async () => {
  const users = await list('/iam/v4.1.b2/authn/users')
  const typeOf = (name: string) => users.find(({ username }) => username === name)
  for (const [name, userType, status] of [
    ['admin', 'LOCAL', 'ACTIVE'],
    ['operator', 'LOCAL', 'ACTIVE'],
    ['viewer', 'LOCAL', 'ACTIVE'],
    ['ci-robot', 'SERVICE_ACCOUNT', 'ACTIVE'],
    ['alice', 'LDAP', 'ACTIVE'],
    ['bob', 'SAML', 'ACTIVE'],
    ['former', 'LOCAL', 'INACTIVE'],
  ])
    assert.deepEqual([typeOf(name as string)?.userType, typeOf(name as string)?.status], [userType, status], name)
  const keys = await list(`/iam/v4.1.b2/authn/users/${typeOf('ci-robot').extId}/keys`)
  assert.deepEqual(keys.map(({ status }) => status).sort(), ['REVOKED', 'VALID'])
  await holds('/iam/v4.1.b2/authn/user-groups', ['vm-admins', 'saml-operators'])
  await holds('/iam/v4.1.b2/authn/saml-identity-providers', ['corp-sso'])
  assert.equal((await get('/iam/v4.1.b2/authn/welcome-banner')).isEnabled, false)
  assert.deepEqual(await list('/iam/v4.1.b2/authn/cert-auth-providers'), [])
  await holds('/iam/v4.1.b2/authz/roles', ['Snapshot Operator', 'Super Admin'], 'displayName')
  const policies = await list('/iam/v4.1.b2/authz/authorization-policies')
  assert.ok(policies.length >= 6, String(policies.length))
  assert.ok(policies.some(({ authorizationPolicyType }) => authorizationPolicyType === 'PREDEFINED_READ_ONLY'))

  const [directory] = await list('/iam/v4.1.b2/authn/directory-services')
  assert.deepEqual(
    [directory.name, directory.directoryType, directory.domainName],
    ['corp-ad', 'ACTIVE_DIRECTORY', 'example.com'],
  )
  const groups = [...app.world.collection<any>('directory.groups').all().values()]
  assert.equal(groups.length, 8)
  const isGroup = new Set(groups.map(({ distinguishedName }) => distinguishedName))
  assert.equal(groups.flatMap(({ members }) => members).filter((member) => isGroup.has(member)).length, 1)
  assert.equal(app.world.collection('directory.users').all().size, 40)
})

test('clustermgmt: a native cluster of four hosts without a profile and a category, and an external one that has both', async () => {
  const clusters = '/clustermgmt/v4.2/config/clusters'
  const all = await list(clusters)
  assert.ok(all.every(({ config }) => config.clusterFunction.length > 0))
  const first = all.find(({ config }) => !config.clusterFunction.includes('PRISM_CENTRAL'))
  assert.equal(first.name, 'lab-01')
  assert.deepEqual([first.categories ?? [], first.clusterProfileExtId], [[], undefined])
  const hosts = await list(`${clusters}/${first.extId}/hosts`)
  assert.equal(hosts.length, 4)
  assert.equal((await list(`${clusters}/${cluster('lab-extern')}/hosts`)).length, 3)
  const [profile] = await list('/clustermgmt/v4.2/config/cluster-profiles')
  assert.deepEqual([profile.name, profile.driftedClusterCount], ['baseline', 1])
  await holds('/clustermgmt/v4.2/config/storage-containers', [
    'ManagementShare',
    'db-gold',
    'archive-ec',
    'extern-store',
  ])
  const stores = await get(`${clusters}/${cluster('lab-extern')}/storage-containers/datastores`)
  assert.equal(stores.length, 3)
})

test('networking: switches, managed and unmanaged and external subnets, VPCs with a denying policy, a BGP session, a cloud', async () => {
  await holds('/networking/v4.3/config/virtual-switches', ['vs0', 'vs1'])
  await holds('/networking/v4.3/config/vpcs', ['lab-vpc', 'transit', 'tenant-a', 'empty-vpc'])
  const subnets = await list('/networking/v4.3/config/subnets')
  const named = (name: string) => subnets.find((each) => each.name === name)
  assert.equal(named('vlan-managed').ipConfig.length > 0 && named('vlan-unmanaged').ipConfig, undefined)
  assert.deepEqual(
    subnets
      .filter(({ isExternal }) => isExternal === true)
      .map(({ name, isNatEnabled }) => [name, isNatEnabled])
      .sort(),
    [
      ['external-nat', true],
      ['external-routed', false],
      ['transit-ext', true],
    ],
  )
  const reserved = await list(`/networking/v4.3/config/subnets/${named('vlan-managed').extId}/reserved-ips`)
  assert.equal(reserved.length, 0)
  const policies = await list('/networking/v4.3/config/routing-policies')
  assert.ok(policies.some(({ name, priority }) => name === 'db-stays-inside' && priority === 100))
  const [session] = await list('/networking/v4.3/config/bgp-sessions')
  assert.match(session.status.message, /Established, 9 prefixes received/)
  assert.equal((await list('/networking/v4.3/config/controllers'))[0].defaultVlanStack, 'LEGACY')
  const inCloud = await app.call('GET', '/networking/v4.3/cloud/config/subnets?$limit=100', {
    clusterId: cluster('lab-cloud'),
  })
  assert.equal(inCloud.data.length, 12)
})

test('platform: categories in their order, registrations, arrays, and a backup that a restore would find', async () => {
  const categories = await list('/platform/v4.3/config/categories')
  assert.deepEqual(
    [categories[0].key, categories[0].value, typeof categories[0].description],
    ['CostCenter', 'Research', 'string'],
  )
  assert.deepEqual(
    categories.filter(({ type }) => type === 'SYSTEM').map(({ key, value }) => `${key}:${value}`),
    ['OSType:Linux', 'OSType:Windows'],
  )
  const [own] = (await get('/platform/v4.3/config/domain-managers')).filter(
    ({ config }: any) => config.name !== 'dr-site',
  )
  const at = `/platform/v4.3/management/domain-managers/${own.extId}`
  const registered = await list(`${at}/registrations`)
  assert.equal(registered.length, 5, JSON.stringify(registered).slice(0, 500))
  assert.ok((await list(`${at}/products`)).length > 0)
  for (const name of ['flash-01', 'flex-01'])
    await get(`/platform/v4.3/config/external-storages/${seedId(`external-storage/${name}`)}`)

  const sides = [...app.world.collection<any>('remotes.sides').all().values()]
  const waiting = sides.filter(({ trusts }) => trusts.length === 0)
  assert.deepEqual(
    waiting.map(({ name }) => name),
    ['lab-03'],
  )

  const [target, other] = await get(`${at}/backup-targets`)
  assert.equal(other, undefined)
  assert.equal(target.lastSyncTime, '2026-03-02T08:59:00.000000Z')
  const sources = '/platform/v4.3/management/restore-sources'
  const source = await app.call('POST', sources, { body: { location: target.location } })
  assert.equal(source.status, 201, JSON.stringify(source.errors))
  const points = await list(`${sources}/${source.data.extId}/restorable-domain-managers/${own.extId}/restore-points`)
  assert.deepEqual(
    points.map(({ creationTime }) => creationTime),
    [target.lastSyncTime],
  )
})

test('vmm: VMs in every state with their disks and images, and VMs of an external hypervisor', async () => {
  const vms = await list('/vmm/v4.2/ahv/config/vms')
  const named = (name: string) => vms.find((each) => each.name === name)
  for (const name of ['web-01', 'web-02', 'db-01', 'batch-01', 'windows-01', 'floating-01'])
    assert.equal(named(name)?.powerState, 'ON', name)
  assert.equal(named('template-source').powerState, 'OFF')
  assert.equal(named('db-01').disks.length, 2)
  assert.ok(named('web-01').categories.length > 0)
  const external = await list('/vmm/v4.2/extern/config/vms')
  assert.deepEqual(
    external.map(({ name, powerState }) => [name, powerState]),
    [
      ['legacy-erp', 'ON'],
      ['legacy-print', 'SUSPENDED'],
      ['legacy-test', 'OFF'],
    ],
  )
  const images = await list('/vmm/v4.2/content/images')
  assert.deepEqual(
    images.map(({ name, type, sizeBytes }) => [name, type, sizeBytes / 1024 ** 3]),
    [
      ['ubuntu-24.04.qcow2', 'DISK_IMAGE', 2],
      ['centos-9.qcow2', 'DISK_IMAGE', 2],
      ['windows-2022.qcow2', 'DISK_IMAGE', 10],
      ['ubuntu-24.04-live.iso', 'ISO_IMAGE', 1],
    ],
  )
})

test('volumes and storage: groups with every kind of attachment, and a client without attachments', async () => {
  const groups = await list('/volumes/v4.2/config/volume-groups')
  const named = (name: string) => groups.find((each) => each.name === name)
  assert.deepEqual(
    [named('vg-orders-db').sharingStatus, named('vg-orders-db').enabledAuthentications],
    ['SHARED', 'CHAP'],
  )
  assert.equal(named('vg-shared').shouldLoadBalanceVmAttachments, true)
  assert.deepEqual([named('vg-backup').sharingStatus, named('vg-backup').usageType], ['NOT_SHARED', 'BACKUP_TARGET'])
  assert.equal(groups.filter(({ name, createdBy }) => name.startsWith('pvc-') && createdBy === 'csi').length, 6)
  assert.ok(named('vg-empty') !== undefined)
  const disksOf = (name: string) => list(`/volumes/v4.2/config/volume-groups/${named(name).extId}/disks`)
  assert.deepEqual([(await disksOf('vg-orders-db')).length, (await disksOf('vg-shared')).length], [2, 4])
  await holds('/volumes/v4.2/config/iscsi-clients', ['iqn.2026-01.io.example:retired'], 'iscsiInitiatorName')
  await holds('/volumes/v4.2/config/nvmf-clients', ['nqn.2026-01.io.example:bench'], 'nvmfInitiatorName')
})

test('every invariant holds in the demo', () => checkInvariants(app))
