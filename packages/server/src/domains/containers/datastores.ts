/** Mounts storage containers on all requested ESX hosts, or on none. Source: behaviour clustermgmt.md 1.9. */
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { notFound, pathOf } from '../../core/standard.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { defineTask, taskAbout, type WriteContext } from '../context.ts'
import { checkCluster } from '../registrations/reachability.ts'
import { hostsOf } from '../storage-space/capacity.ts'
import { clusterFor, markedForRemoval } from './storage-containers.ts'

interface Mounting {
  readonly clusterExtId: string
  readonly datastores: readonly DataStore[]
}

const specOf = (mounted: DataStore) => ({
  clusterExtId: mounted.clusterExtId as string,
  hostExtId: mounted.hostExtId as string,
  containerExtId: mounted.containerExtId as string,
  datastoreName: mounted.datastoreName as string,
  isReadOnly: mounted.isReadOnly === true,
  targetPath: mounted.targetPath,
})

export const mountContainer = defineTask<Mounting>({
  name: 'clustermgmt.mount-storage-container',
  steps: [
    checkCluster(({ clusterExtId }) => clusterExtId),
    {
      name: 'mount on the hosts',
      progress: 90,
      seconds: [3, 6],
      run: async (ctx, { datastores }) => {
        for (const datastore of datastores) await ctx.drivers.hardware.mountDatastore(specOf(datastore))
      },
      undo: async (ctx, { clusterExtId, datastores }) => {
        for (const { hostExtId, datastoreName } of datastores) {
          await ctx.drivers.hardware.unmountDatastore(clusterExtId, hostExtId as string, datastoreName as string)
        }
      },
    },
    {
      name: 'record',
      record: async (ctx, { datastores }) => {
        for (const { extId } of datastores) await ctx.store.publish(DataStore, extId)
      },
    },
  ],
  onUndone: async (ctx, { datastores }) => {
    for (const { extId } of datastores) await ctx.store.remove(DataStore, extId)
  },
})

export const unmountContainer = defineTask<Mounting>({
  name: 'clustermgmt.unmount-storage-container',
  steps: [
    checkCluster(({ clusterExtId }) => clusterExtId),
    {
      name: 'unmount from the hosts',
      progress: 90,
      seconds: [3, 6],
      run: async (ctx, { clusterExtId, datastores }) => {
        for (const { hostExtId, datastoreName } of datastores) {
          await ctx.drivers.hardware.unmountDatastore(clusterExtId, hostExtId as string, datastoreName as string)
        }
      },
      undo: async (ctx, { datastores }) => {
        for (const datastore of datastores) await ctx.drivers.hardware.mountDatastore(specOf(datastore))
      },
    },
    {
      name: 'record',
      record: async (ctx, { datastores }) => {
        for (const { extId } of datastores) await ctx.store.remove(DataStore, extId)
      },
    },
  ],
})

export interface MountRequest {
  readonly containerName: string
  readonly datastoreName?: string
  readonly nodeExtIds?: readonly string[]
  readonly isReadOnly?: boolean
  readonly targetPath?: string
}

export async function startMount(
  ctx: WriteContext,
  container: StorageContainer,
  request: MountRequest,
): Promise<{ extId: string }> {
  const clusterExtId = await esxCluster(ctx, container, 'mounting a datastore')
  if (container.isMarkedForRemoval === true) throw markedForRemoval(container)
  if (request.containerName !== container.name) {
    throw invalid(
      'containerName',
      `expected "${container.name}", the name of this container; found "${request.containerName}"`,
    )
  }
  const datastores: DataStore[] = []
  for (const host of await nodesOf(ctx.store, clusterExtId, request.nodeExtIds)) {
    const datastore: DataStore = {
      extId: ctx.ids.uuid(),
      tenantId: ctx.tenantId,
      clusterExtId,
      datastoreName: request.datastoreName ?? container.name,
      containerName: container.name,
      containerExtId: container.extId,
      hostExtId: host.extId,
      hostIpAddress: host.hypervisor?.externalAddress?.ipv4?.value ?? '',
      isReadOnly: request.isReadOnly === true,
      targetPath: request.targetPath,
    }
    await ctx.store.insert(DataStore, datastore, { pending: true })
    datastores.push(datastore)
  }
  const options = taskAbout('Mount Storage Container', StorageContainer, container, clusterExtId)
  return ctx.startTask(mountContainer, { clusterExtId, datastores }, options)
}

export async function startUnmount(
  ctx: WriteContext,
  container: StorageContainer,
  request: { readonly datastoreName: string; readonly nodeExtIds?: readonly string[] },
): Promise<{ extId: string }> {
  const clusterExtId = await esxCluster(ctx, container, 'unmounting a datastore')
  const hosts = await nodesOf(ctx.store, clusterExtId, request.nodeExtIds)
  const ids = new Set(hosts.map(({ extId }) => extId))
  const datastores = (await ctx.store.findWhere(DataStore, { containerExtId: container.extId })).filter(
    (mounted) => mounted.datastoreName === request.datastoreName && ids.has(mounted.hostExtId as string),
  )
  if (datastores.length === 0) throw notFound(DataStore, request.datastoreName, 'datastoreName')
  const running = (await vmsThrough(ctx, clusterExtId, datastores[0] as DataStore)).filter(
    (vm) => vm.powerState === 'ON' && datastores.some(({ hostExtId }) => hostExtId === vm.host?.extId),
  )
  if (running.length > 0) {
    const users = running.map((vm) => `"${vm.name ?? vm.extId}"`).join(', ')
    throw new ApiError('DATASTORE_IN_USE', { name: request.datastoreName, users })
  }
  const options = taskAbout('Unmount Storage Container', StorageContainer, container, clusterExtId)
  return ctx.startTask(unmountContainer, { clusterExtId, datastores }, options)
}

/** External VMs with files in the container that are registered through this datastore, or through an unknown one. */
export async function vmsThrough(
  { store, drivers }: { readonly store: Reader; readonly drivers: Pick<Drivers, 'externalHypervisor'> },
  clusterExtId: string,
  { containerExtId, datastoreName }: DataStore,
): Promise<ExternVm[]> {
  const vms = await store.find(ExternVm, { filter: equals(pathOf(ExternVm, 'cluster/extId'), clusterExtId) })
  return vms.filter(({ extId, disks }) => {
    const through = drivers.externalHypervisor.datastoreOf(extId) ?? datastoreName
    const isIn = disks?.some(({ backingInfo }) => backingInfo?.storageContainer?.extId === containerExtId)
    return isIn === true && through === datastoreName
  })
}

async function esxCluster(ctx: WriteContext, container: StorageContainer, action: string): Promise<string> {
  const cluster = await clusterFor(ctx, container.clusterExtId as string, 'clusterExtId', action)
  if (cluster.config?.hypervisorTypes?.includes('ESX') !== true) {
    throw new ApiError('NOT_AN_ESX_CLUSTER', { name: cluster.name, action })
  }
  return cluster.extId
}

/** Default: all hosts of the cluster. @throws ApiError 404 for each host of another cluster */
async function nodesOf(store: Reader, clusterExtId: string, nodeExtIds: readonly string[] | undefined) {
  const hosts = await hostsOf(store, clusterExtId)
  if (nodeExtIds === undefined || nodeExtIds.length === 0) return hosts
  const strangers = nodeExtIds.filter((extId) => !hosts.some((host) => host.extId === extId))
  refuseAll(strangers.map((extId) => notFound('host of this cluster', extId, 'nodeExtIds')))
  return hosts.filter(({ extId }) => nodeExtIds.includes(extId))
}
