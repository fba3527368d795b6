/** For each task definition the smallest story that reaches it: what is there before, and the request that starts it. */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { seedId } from '../../src/core/ids/named-id.ts'
import { lab } from '../../src/seeds/demo/registrations.ts'
import { restartScenarios } from '../kinds/collected.ts'
import { bucketTarget, inBucket, made as madeTarget, targets } from '../support/backups.ts'
import { advance, clustermgmt, hostId, ids } from '../support/clustermgmt.ts'
import { create, creations, nativeCluster } from '../support/creations.ts'
import { happen } from '../support/events.ts'
import { aNativeCluster, aVm as aVmOn, bootDisk, changed, readVm } from '../support/native-cluster.ts'
import { ownPath, registerBody } from '../support/registering.ts'
import type { CallOptions, TestApp } from '../support/start-app.ts'
import { ipConfigOf, subnets } from '../support/subnets.ts'
import type { Asked } from './asked.ts'

const GiB = 1024 ** 3
const vms = '/vmm/v4.2/ahv/config/vms'
const images = '/vmm/v4.2/content/images'
const groups = '/volumes/v4.2/config/volume-groups'
const profiles = `${clustermgmt}/cluster-profiles`
const containers = `${clustermgmt}/storage-containers`
const ip = (value: string): object => ({ ipv4: { value, prefixLength: 32 } })
const refer = (...uuids: string[]): object => ({ clusters: uuids.map((uuid) => ({ uuid })) })

/** Sends and waits: the first entity that the task names. */
async function made(app: TestApp, method: string, path: string, options: CallOptions = {}): Promise<string> {
  const task = await app.task(await app.call(method, path, { requestId: randomUUID(), ...options }))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task.entitiesAffected[0].extId
}
async function creation(app: TestApp, operation: string, name: string): Promise<string> {
  const task = await app.task(await create(app, creations[operation]!, name))
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task.entitiesAffected[0].extId
}
const asked = (operation: string): Asked => {
  const { path, body, clusterId } = creations[operation]!
  return { method: 'POST', path, body: body('killed'), ...(clusterId === undefined ? {} : { clusterId }) }
}
/** With the tag of what the path names. */
async function tagged(app: TestApp, method: string, path: string, body?: unknown, of = path): Promise<Asked> {
  const { etag, status } = await app.call('GET', of)
  assert.equal(status, 200, of)
  return { method, path, ifMatch: etag as string, ...(body === undefined ? {} : { body }) }
}
async function alter(app: TestApp, method: string, path: string, body?: unknown, of = path): Promise<string> {
  const { ifMatch, ...rest } = await tagged(app, method, path, body, of)
  return made(app, method, path, { ...rest, ...(ifMatch === undefined ? {} : { ifMatch }) })
}

/** A VLAN with a pool, so that NICs have addresses. */
const aSubnet = (app: TestApp): Promise<string> =>
  made(app, 'POST', subnets, {
    body: {
      name: 'pooled',
      subnetType: 'VLAN',
      networkId: 3050,
      clusterReference: nativeCluster,
      ipConfig: ipConfigOf({ ipv4: '10.50.0.0/24', pools: [['10.50.0.10', '10.50.0.20']] }),
    },
  })

/** With a disk, a NIC that has an address, and a category. */
async function vmBody(app: TestApp, more: object = {}): Promise<object> {
  return {
    name: 'killed',
    memorySizeBytes: GiB,
    cluster: { extId: nativeCluster },
    categories: [{ extId: seedId('category/Environment/Dev') }],
    disks: [
      {
        backingInfo: {
          dataSource: {
            reference: {
              $objectType: 'vmm.v4.ahv.config.ImageReference',
              imageExtId: seedId('image/ubuntu-24.04.qcow2'),
            },
          },
        },
      },
    ],
    nics: [{ networkInfo: { subnet: { extId: await aSubnet(app) } } }],
    ...more,
  }
}
const aVm = async (app: TestApp, more: object = {}): Promise<string> =>
  made(app, 'POST', vms, { body: await vmBody(app, more) })
const guestCustomization = {
  config: { $objectType: 'vmm.v4.ahv.config.CloudInit', metadata: Buffer.from('instance-id: x').toString('base64') },
}
const act = (app: TestApp, vm: string, action: string): Promise<Asked> =>
  tagged(app, 'POST', `${vms}/${vm}/$actions/${action}`, undefined, `${vms}/${vm}`)
async function aRunningVm(app: TestApp): Promise<string> {
  const vm = await aVm(app)
  await alter(app, 'POST', `${vms}/${vm}/$actions/power-on`, undefined, `${vms}/${vm}`)
  return vm
}

async function aProfile(app: TestApp): Promise<string> {
  return made(app, 'POST', profiles, {
    body: { name: 'followed', nameServerIpList: [ip('10.8.8.8')], ntpServerIpList: [ip('10.8.8.9')] },
  })
}
async function aFollowedProfile(app: TestApp): Promise<string> {
  const profile = await aProfile(app)
  await made(app, 'POST', `${profiles}/${profile}/$actions/apply`, { body: refer(ids.native) })
  return profile
}
const apply = async (app: TestApp): Promise<Asked> => ({
  method: 'POST',
  path: `${profiles}/${await aProfile(app)}/$actions/apply`,
  body: refer(ids.native),
})

async function aMountedContainer(app: TestApp): Promise<string> {
  const extId = await anExternContainer(app)
  await made(app, 'POST', `${containers}/${extId}/$actions/mount`, { body: { containerName: 'mounted' } })
  return extId
}
const anExternContainer = (app: TestApp): Promise<string> =>
  made(app, 'POST', containers, { body: { name: 'mounted' }, clusterId: ids.extern })

const aGroup = (app: TestApp, more: object = {}): Promise<string> =>
  made(app, 'POST', groups, { body: { name: 'group', clusterReference: nativeCluster, ...more } })
const aGroupWithDisk = (app: TestApp): Promise<string> => aGroup(app, { disks: [{ diskSizeBytes: GiB }] })
const diskOf = async (app: TestApp, group: string): Promise<string> =>
  `${groups}/${group}/disks/${(await app.call('GET', `${groups}/${group}/disks`)).data[0].extId}`
const client = { iscsiInitiatorName: 'iqn.2026-03.example:killed' }
const nvmfClient = { nvmfInitiatorName: 'nqn.2026-03.example:killed' }
const chap = {
  enabledAuthentications: 'CHAP',
  iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: 'Gr0up.Secret1' },
}
async function anAttachedClient(app: TestApp, access: object = {}): Promise<{ group: string; clientId: string }> {
  const group = await aGroup(app, { disks: [{ diskSizeBytes: GiB }], ...access })
  await made(app, 'POST', `${groups}/${group}/$actions/attach-iscsi-client`, { body: client })
  const [attached] = (await app.call('GET', `${groups}/${group}/external-iscsi-attachments`)).data
  return { group, clientId: attached.extId }
}

const updatedCluster = (app: TestApp): Promise<Asked> =>
  tagged(app, 'PUT', `${clustermgmt}/clusters/${ids.native}`, { network: { nameServerIpList: [ip('10.8.8.8')] } })

/** An action of this manager, with its tag. */
const ofManager = (app: TestApp, action: string, body: object): Promise<Asked> =>
  tagged(
    app,
    'POST',
    `${ownPath}/$actions/${action}`,
    body,
    `/platform/v4.3/config/domain-managers/${seedId('manager')}`,
  )
const deployment = async (): Promise<Asked> => asked('platform.createDomainManager')

export const scenarios: Readonly<Record<string, (app: TestApp) => Promise<Asked>>> = {
  'clustermgmt.apply-cluster-profile': apply,
  'clustermgmt.apply-profile-section': apply,
  'clustermgmt.copy-data': async (app) => {
    // Three copies need five hosts: two join the three of the demo.
    await app.store.transaction(async (store) => {
      const host = await store.get(Host, hostId('hp-c01-a'))
      for (const hostName of ['hp-c01-d', 'hp-c01-e'])
        await store.insert(Host, { ...host, extId: hostId(hostName), hostName } as never)
    })
    const config = { faultToleranceState: { desiredClusterFaultTolerance: 'CFT_2N_OR_2D' } }
    return tagged(app, 'PUT', `${clustermgmt}/clusters/${ids.cloud}`, { config })
  },
  'clustermgmt.create-cluster-profile': async () => asked('clustermgmt.createClusterProfile'),
  'clustermgmt.create-storage-container': async () => asked('clustermgmt.createStorageContainer'),
  'clustermgmt.delete-cluster-profile': async (app) => ({
    method: 'DELETE',
    path: `${profiles}/${await aProfile(app)}`,
  }),
  'clustermgmt.delete-storage-container': async (app) => ({
    method: 'DELETE',
    path: `${containers}/${await creation(app, 'clustermgmt.createStorageContainer', 'gone')}`,
  }),
  'clustermgmt.disassociate-cluster-profile': async (app) => ({
    method: 'POST',
    path: `${profiles}/${await aFollowedProfile(app)}/$actions/disassociate-cluster`,
    body: refer(ids.native),
  }),
  'clustermgmt.mount-storage-container': async (app) => ({
    method: 'POST',
    path: `${containers}/${await anExternContainer(app)}/$actions/mount`,
    body: { containerName: 'mounted' },
  }),
  'clustermgmt.unmount-storage-container': async (app) => ({
    method: 'POST',
    path: `${containers}/${await aMountedContainer(app)}/$actions/unmount`,
    body: { datastoreName: 'mounted' },
  }),
  'clustermgmt.update-bmc-info': (app) =>
    tagged(app, 'PUT', `${clustermgmt}/clusters/${ids.native}/hosts/${hostId('hp-n01-a')}/bmc-info`, {
      credential: { username: 'operator', password: 'N0t.The.Right.One' },
    }),
  'clustermgmt.update-category-associations': async () => ({
    method: 'POST',
    path: `${clustermgmt}/clusters/${ids.native}/$actions/associate-categories`,
    body: { categories: [seedId('category/Environment/Dev')] },
  }),
  'clustermgmt.update-cluster': updatedCluster,
  'clustermgmt.update-cluster-profile': async (app) =>
    tagged(app, 'PUT', `${profiles}/${await aFollowedProfile(app)}`, { nameServerIpList: [ip('10.8.8.7')] }),
  'clustermgmt.update-storage-container': async (app) =>
    tagged(app, 'PUT', `${containers}/${await creation(app, 'clustermgmt.createStorageContainer', 'renamed')}`, {
      name: 'killed',
    }),

  ...restartScenarios,
  'networking.create-subnet': async () => ({
    method: 'POST',
    path: subnets,
    body: {
      name: 'killed',
      subnetType: 'VLAN',
      networkId: 3050,
      clusterReference: nativeCluster,
      ipConfig: ipConfigOf({ ipv4: '10.50.0.0/24', pools: [['10.50.0.10', '10.50.0.20']] }),
    },
  }),
  'networking.delete-subnet': async (app) => ({ method: 'DELETE', path: `${subnets}/${await aSubnet(app)}` }),
  'networking.reserve-addresses': async (app) => ({
    method: 'POST',
    path: `${subnets}/${await aSubnet(app)}/addresses/$actions/reserve`,
    body: { reserveType: 'IP_ADDRESS_COUNT', count: 3 },
  }),
  'networking.unreserve-addresses': async (app) => {
    const subnet = `${subnets}/${await aSubnet(app)}`
    const body = { reserveType: 'IP_ADDRESS_COUNT', count: 3, clientContext: 'killed' }
    await made(app, 'POST', `${subnet}/addresses/$actions/reserve`, { body })
    return {
      method: 'POST',
      path: `${subnet}/addresses/$actions/unreserve`,
      body: { unreserveType: 'CONTEXT', clientContext: 'killed' },
    }
  },
  'networking.update-subnet': async (app) => {
    const path = `${subnets}/${await aSubnet(app)}`
    const { data } = await app.call('GET', path)
    return tagged(app, 'PUT', path, {
      ...data,
      ipConfig: ipConfigOf({ ipv4: '10.50.0.0/24', pools: [['10.50.0.30', '10.50.0.40']] }),
    })
  },

  // A paused target is backed up to as soon as it is updated.
  'platform.back-up-domain-manager': async (app) => {
    await madeTarget(app, inBucket())
    const { extId } = await bucketTarget(app)
    await app.store.transaction((store) => store.update(BackupTarget, extId, { isBackupPaused: true, isHeld: true }))
    return tagged(app, 'PUT', `${targets}/${extId}`, { location: inBucket() })
  },
  'platform.create-backup-target': async () => ({ method: 'POST', path: targets, body: { location: inBucket() } }),
  'platform.create-manager-nodes': deployment,
  'platform.delete-backup-target': async (app) => tagged(app, 'DELETE', `${targets}/${nativeCluster}`),
  'platform.deploy-domain-manager': deployment,
  'platform.fetch-manager-software': deployment,
  'platform.register-remote': (app) => ofManager(app, 'register', registerBody(lab.address)),
  'platform.unregister-remote': async (app) => {
    const asked = await ofManager(app, 'register', registerBody(lab.address))
    await made(app, asked.method, asked.path, { body: asked.body, ifMatch: asked.ifMatch as string })
    return ofManager(app, 'unregister', { extId: seedId(`cluster/${lab.name}`) })
  },
  'platform.update-backup-target': async (app) => {
    await madeTarget(app, inBucket())
    const location = inBucket({ credentials: undefined }, { rpoInMinutes: 600 })
    return tagged(app, 'PUT', `${targets}/${(await bucketTarget(app)).extId}`, { location })
  },
  'platform.update-product': async (app) => {
    const [product] = (await app.call('GET', `${ownPath}/products?$filter=name eq 'SELF_SERVICE'`)).data
    return tagged(app, 'PUT', `${ownPath}/products/${product.extId}`, { enablementState: 'ENABLED' })
  },
  'platform.run-batch': async () => ({
    method: 'POST',
    path: '/platform/v4.3/operations/$actions/batch',
    body: {
      metadata: { action: 'CREATE', name: 'killed', uri: '/api/platform/v4.3/config/categories', chunkSize: 2 },
      payload: Array.from({ length: 5 }, (_, index) => ({ data: { key: 'killed', value: String(index) } })),
    },
  }),

  'vmm.change-power-of-external-vm': (app) => {
    const vm = `/vmm/v4.2/extern/config/vms/${seedId('extern-vm/legacy-test')}`
    return tagged(app, 'POST', `${vm}/$actions/power-on`, undefined, vm)
  },
  'vmm.create-image': async () => asked('vmm.createImage'),
  'vmm.create-vm': async (app) => ({ method: 'POST', path: vms, body: await vmBody(app) }),
  'vmm.delete-image': async (app) =>
    tagged(app, 'DELETE', `${images}/${await creation(app, 'vmm.createImage', 'gone')}`),
  'vmm.delete-vm': async (app) => {
    const vm = `${vms}/${await aRunningVm(app)}`
    return tagged(app, 'DELETE', vm)
  },
  'vmm.power-off-vm': async (app) => act(app, await aRunningVm(app), 'power-off'),
  // With a customisation, whose ISO lies in a drive from then on.
  'vmm.power-on-vm': async (app) => act(app, await aVm(app, { guestCustomization }), 'power-on'),
  'vmm.reset-vm': async (app) => act(app, await aRunningVm(app), 'reset'),
  // Alone on a host that has failed, with its customisation to come: the next look restarts it.
  'vmm.restart-vm-elsewhere': async (app) => {
    const cluster = await aNativeCluster(app)
    const { extId } = await aVmOn(app, cluster, { disks: [bootDisk(cluster)], guestCustomization })
    assert.equal((await changed(app, extId, 'power-on')).status, 'SUCCEEDED')
    await happen(app, { type: 'HOST_FAILS', host: (await readVm(app, extId)).host.extId })
    await advance(app, 0.75)
    const path = '/control/v1/worlds/default/clock/$actions/advance'
    return { method: 'POST', path, body: { duration: 'PT10S' } }
  },
  'vmm.shutdown-vm': async (app) => act(app, await aRunningVm(app), 'shutdown'),
  'vmm.update-image': async (app) => {
    const path = `${images}/${await creation(app, 'vmm.createImage', 'copied')}`
    const { data } = await app.call('GET', path)
    return tagged(app, 'PUT', path, { ...data, description: 'changed', clusterLocationExtIds: [ids.cloud] })
  },
  // Running, and larger than before: it holds more of its host.
  'vmm.update-vm': async (app) => {
    const path = `${vms}/${await aRunningVm(app)}`
    // The field is the store's own: it is never on the wire.
    const { lastHostExtId: _, ...data } = (await app.call('GET', path)).data
    return tagged(app, 'PUT', path, { ...data, memorySizeBytes: 2 * GiB, description: 'changed' })
  },

  'volumes.associate-category': async (app) => ({
    method: 'POST',
    path: `${groups}/${await aGroup(app)}/$actions/associate-category`,
    body: { categories: [{ extId: seedId('category/Environment/Dev') }] },
  }),
  'volumes.attach-iscsi-client': async (app) => ({
    method: 'POST',
    path: `${groups}/${await aGroupWithDisk(app)}/$actions/attach-iscsi-client`,
    body: client,
  }),
  'volumes.attach-nvmf-client': async (app) => ({
    method: 'POST',
    path: `${groups}/${await aGroupWithDisk(app)}/$actions/attach-nvmf-client`,
    body: nvmfClient,
  }),
  'volumes.attach-vm': async (app) => ({
    method: 'POST',
    path: `${groups}/${await aGroupWithDisk(app)}/$actions/attach-vm`,
    body: { extId: await aVm(app) },
  }),
  'volumes.create-volume-disk': async (app) => ({
    method: 'POST',
    path: `${groups}/${await aGroup(app)}/disks`,
    body: { diskSizeBytes: GiB },
  }),
  'volumes.create-volume-group': async () => ({
    method: 'POST',
    path: groups,
    body: {
      name: 'killed',
      clusterReference: nativeCluster,
      disks: [{ diskSizeBytes: GiB }, { diskSizeBytes: 2 * GiB }],
    },
  }),
  'volumes.delete-volume-disk': async (app) => ({
    method: 'DELETE',
    path: await diskOf(app, await aGroupWithDisk(app)),
  }),
  'volumes.delete-volume-group': async (app) => ({ method: 'DELETE', path: `${groups}/${await aGroupWithDisk(app)}` }),
  'volumes.detach-iscsi-client': async (app) => {
    const { group, clientId } = await anAttachedClient(app)
    return { method: 'POST', path: `${groups}/${group}/$actions/detach-iscsi-client`, body: { extId: clientId } }
  },
  'volumes.detach-nvmf-client': async (app) => {
    const group = await aGroupWithDisk(app)
    const attached = await made(app, 'POST', `${groups}/${group}/$actions/attach-nvmf-client`, { body: nvmfClient })
    return { method: 'POST', path: `${groups}/${group}/$actions/detach-nvmf-client`, body: { extId: attached } }
  },
  'volumes.detach-vm': async (app) => {
    const [group, vm] = [await aGroupWithDisk(app), await aVm(app)]
    await made(app, 'POST', `${groups}/${group}/$actions/attach-vm`, { body: { extId: vm } })
    return { method: 'POST', path: `${groups}/${group}/$actions/detach-vm`, body: { extId: vm } }
  },
  'volumes.disassociate-category': async (app) => {
    const categories = { categories: [{ extId: seedId('category/Environment/Dev') }] }
    const group = await aGroup(app)
    await made(app, 'POST', `${groups}/${group}/$actions/associate-category`, { body: categories })
    return { method: 'POST', path: `${groups}/${group}/$actions/disassociate-category`, body: categories }
  },
  'volumes.update-iscsi-client': async (app) => {
    const path = `/volumes/v4.2/config/iscsi-clients/${(await anAttachedClient(app, chap)).clientId}`
    return tagged(app, 'PUT', path, { enabledAuthentications: 'CHAP', clientSecret: 'Ki11ed.Secret' })
  },
  'volumes.update-volume-disk': async (app) =>
    tagged(app, 'PUT', await diskOf(app, await aGroupWithDisk(app)), { diskSizeBytes: 2 * GiB }),
  'volumes.update-volume-group': async (app) =>
    tagged(app, 'PUT', `${groups}/${await aGroupWithDisk(app)}`, { name: 'killed' }),
}
