/** Builders for tests of virtual machines: a small cluster of their own, so that each test counts its own memory and addresses. */
import { randomUUID } from 'node:crypto'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { recordDisks } from '../../src/domains/storage-space/disks.ts'
import { driveFacts, drivesFor, drivesIn, type NewDrive, pooled } from '../../src/drivers/simulated/drives.ts'
import { workingTools } from '../../src/seeds/demo/vm.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'

export const MiB = 1024 ** 2
export const GiB = 1024 ** 3
/** Memory that a host reserves for itself. */
const overheadBytes = 40 * GiB

export interface NativeCluster {
  readonly extId: string
  readonly hostExtIds: readonly string[]
  readonly containerExtId: string
  /** 2 GiB. */
  readonly imageExtId: string
}

export async function aNativeCluster(
  app: TestApp,
  {
    hosts = 2,
    usableGiB = 100,
    threads = 80,
    image = 'ubuntu',
    drives = [{ tier: 'SSD_PCIE', sizeBytes: 4000 * GiB }],
  }: {
    hosts?: number
    usableGiB?: number
    threads?: number
    image?: string
    drives?: readonly NewDrive[]
  } = {},
): Promise<NativeCluster> {
  const extId = randomUUID()
  const name = `cluster-${extId.slice(0, 8)}`
  const hostExtIds = Array.from({ length: hosts }, () => randomUUID())
  const containerExtId = randomUUID()
  const imageExtId = randomUUID()
  for (const hostExtId of hostExtIds) await driveFacts(app.world).putAll(pooled(drivesFor(hostExtId, drives)))
  await app.store.transaction(async (store) => {
    await store.insert(Cluster, {
      extId,
      name,
      config: { clusterFunction: ['AOS'], hypervisorTypes: ['AHV'], clusterArch: 'X86_64', isAvailable: true },
    } as never)
    for (const [index, hostExtId] of hostExtIds.entries()) {
      await store.insert(Host, {
        extId: hostExtId,
        hostName: `${name}-${index}`,
        cluster: { uuid: extId, name },
        nodeStatus: 'NORMAL',
        maintenanceState: 'normal',
        memorySizeBytes: usableGiB * GiB + overheadBytes,
        numberOfCpuThreads: threads,
      } as never)
      await recordDisks(store, hostExtId, drivesIn(app.world, hostExtId))
    }
    await store.insert(StorageContainer, {
      extId: containerExtId,
      containerExtId,
      name: `default-container-${extId.slice(0, 8)}`,
      clusterExtId: extId,
      replicationFactor: 1,
    } as never)
    await store.insert(Image, {
      extId: imageExtId,
      name: image,
      type: 'DISK_IMAGE',
      sizeBytes: 2 * GiB,
      clusterLocationExtIds: [extId],
    } as never)
  })
  return { extId, hostExtIds, containerExtId, imageExtId }
}

/** A VLAN of the cluster; `pool`: managed, with these first and last addresses of 10.0.0.0/24. */
export async function aSubnet(app: TestApp, cluster: NativeCluster, pool?: readonly [string, string]): Promise<string> {
  const extId = randomUUID()
  const ipSubnet = { ip: { value: '10.0.0.0', prefixLength: 32 }, prefixLength: 24 }
  const poolList = pool && [
    { startIp: { value: pool[0], prefixLength: 32 }, endIp: { value: pool[1], prefixLength: 32 } },
  ]
  await app.store.transaction((store) =>
    store.insert(Subnet, {
      extId,
      name: `subnet-${extId.slice(0, 8)}`,
      subnetType: 'VLAN',
      networkId: 7,
      clusterReference: cluster.extId,
      isExternal: false,
      ...(pool === undefined ? {} : { ipConfig: [{ ipv4: { ipSubnet, poolList } }] }),
    } as never),
  )
  return extId
}

export const bootDisk = (cluster: NativeCluster) => ({
  backingInfo: {
    dataSource: { reference: { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: cluster.imageExtId } },
  },
})
export const emptyDisk = (sizeBytes = GiB) => ({ backingInfo: { diskSizeBytes: sizeBytes } })
export const nicOn = (subnetExtId: string, network: object = {}) => ({
  networkInfo: { subnet: { extId: subnetExtId }, ...network },
})

const vms = '/vmm/v4.2/ahv/config/vms'

export const postVm = (
  app: TestApp,
  cluster: NativeCluster,
  body: object = {},
  options: CallOptions = {},
): Promise<CallResult> =>
  app.call('POST', vms, {
    requestId: randomUUID(),
    ...options,
    body: { name: 'vm', memorySizeBytes: GiB, cluster: { extId: cluster.extId }, ...body },
  })

/** A VM that exists. */
export async function aVm(app: TestApp, cluster: NativeCluster, body: object = {}): Promise<any> {
  const task = await app.task(await postVm(app, cluster, body))
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
  return readVm(app, task.entitiesAffected[0].extId)
}

/** The VM as a client sees it, without internal fields. */
export async function readVm(app: TestApp, extId: string): Promise<any> {
  const { data } = await app.call('GET', `${vms}/${extId}`)
  return Object.fromEntries(Object.entries(data).filter(([name]) => !Object.hasOwn(Vm.internal, name)))
}
export const tagOf = async (app: TestApp, extId: string): Promise<string> =>
  (await app.call('GET', `${vms}/${extId}`)).etag as string

/** Sends a mutation of the VM with its current tag. */
export async function change(
  app: TestApp,
  extId: string,
  what: 'delete' | 'power-cycle' | 'power-on' | 'power-off' | 'reboot' | 'reset' | 'shutdown' | { put: object },
  options: CallOptions = {},
): Promise<CallResult> {
  const sent = { requestId: randomUUID(), ifMatch: await tagOf(app, extId), ...options }
  if (typeof what === 'object') return app.call('PUT', `${vms}/${extId}`, { ...sent, body: what.put })
  if (what === 'delete') return app.call('DELETE', `${vms}/${extId}`, sent)
  return app.call('POST', `${vms}/${extId}/$actions/${what}`, sent)
}

/** The same, to its end. */
export const changed = async (
  app: TestApp,
  extId: string,
  what: Parameters<typeof change>[2],
  options: CallOptions = {},
): Promise<any> => app.task(await change(app, extId, what, options))

/** Powers the VM on, and waits until its guest and tools are up. */
export async function booted(app: TestApp, extId: string): Promise<void> {
  const task = await changed(app, extId, 'power-on')
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
  await app.clock.advance(1000)
}

/** A VM with a booted guest whose tools answer. */
export async function aVmWithTools(app: TestApp, cluster: NativeCluster, body: object = {}): Promise<any> {
  const vm = await aVm(app, cluster, { disks: [bootDisk(cluster)], ...body })
  await app.store.transaction((store) => store.observe(Vm, vm.extId, { guestTools: workingTools('linux') }))
  await booted(app, vm.extId)
  return readVm(app, vm.extId)
}

/** Starts an action of the VM that has a body, with the VM's current tag. */
export const act = async (
  app: TestApp,
  extId: string,
  action: string,
  body: object,
  options: CallOptions = {},
): Promise<CallResult> =>
  app.call('POST', `${vms}/${extId}/$actions/${action}`, {
    requestId: randomUUID(),
    ifMatch: await tagOf(app, extId),
    body,
    ...options,
  })
