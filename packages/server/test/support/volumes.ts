/** Builders for tests of volume groups on the demo's native cluster. */

import { randomUUID } from 'node:crypto'
import { VolumeGroupRecoveryPoint } from '@hyperplane/contract/volumes/recovery-point'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { seedId } from '../../src/core/ids/named-id.ts'
import { poolUsage } from '../../src/domains/storage-space/capacity.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'

export const GiB = 1024 ** 3
export const clusterId = seedId('cluster/hp-native-01')
export const externClusterId = seedId('cluster/hp-extern-01')
export const containerId = seedId('container/hp-native-01/default')
export const goldId = seedId('container/hp-native-01/db-gold')

export const groups = '/volumes/v4.2/config/volume-groups'
export const clients = '/volumes/v4.2/config/iscsi-clients'
export const older = '/storage/v4.0.a3/config'
export const secret = 'abcdefghijklmn'
export const chap = {
  enabledAuthentications: 'CHAP',
  iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: secret },
}

export const nameOf = (prefix = 'vg'): string => `${prefix}-${randomUUID().slice(0, 8)}`

/** A mutation with a request id of its own. */
export const send = (app: TestApp, method: string, path: string, options: CallOptions = {}): Promise<CallResult> =>
  app.call(method, path, { requestId: randomUUID(), ...options })

export const postGroup = (app: TestApp, body: object = {}, options: CallOptions = {}): Promise<CallResult> =>
  send(app, 'POST', groups, { ...options, body: { name: nameOf(), clusterReference: clusterId, ...body } })

/** Waits for the task, which must succeed. */
export async function succeeded(app: TestApp, started: CallResult | Promise<CallResult>): Promise<any> {
  const task = await app.task(await started)
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
  return task
}

/** A volume group that exists. */
export async function aGroup(app: TestApp, body: object = {}): Promise<any> {
  const task = await succeeded(app, postGroup(app, body))
  return read(app, task.entitiesAffected[0].extId)
}

export const read = async (app: TestApp, extId: string): Promise<any> =>
  (await app.call('GET', `${groups}/${extId}`)).data

export const postDisk = (app: TestApp, groupId: string, body: object): Promise<CallResult> =>
  send(app, 'POST', `${groups}/${groupId}/disks`, { body })

export const onContainer = (extId = containerId): object => ({
  diskDataSourceReference: { extId, entityType: 'STORAGE_CONTAINER' },
})

export async function aDisk(app: TestApp, groupId: string, body: object = { diskSizeBytes: GiB }): Promise<any> {
  const task = await succeeded(app, postDisk(app, groupId, body))
  return (await app.call('GET', `${groups}/${groupId}/disks/${task.entitiesAffected[0].extId}`)).data
}

/** PUT with the entity's current tag. */
export async function put(app: TestApp, path: string, body: object): Promise<CallResult> {
  const { etag } = await app.call('GET', path)
  return send(app, 'PUT', path, { body, ifMatch: etag as string })
}

export const act = (
  app: TestApp,
  groupId: string,
  action: string,
  body: object,
  options: CallOptions = {},
): Promise<CallResult> => send(app, 'POST', `${groups}/${groupId}/$actions/${action}`, { body, ...options })

const vms = '/vmm/v4.2/ahv/config/vms'

export async function aVm(app: TestApp, body: object = {}): Promise<any> {
  const started = await send(app, 'POST', vms, {
    body: { name: nameOf('vm'), memorySizeBytes: GiB, cluster: { extId: clusterId }, ...body },
  })
  const task = await succeeded(app, started)
  return (await readVm(app, task.entitiesAffected[0].extId)).data
}

export const readVm = (app: TestApp, extId: string): Promise<CallResult> => app.call('GET', `${vms}/${extId}`)

export async function changeVm(app: TestApp, extId: string, what: 'delete' | 'power-on'): Promise<any> {
  const sent = { ifMatch: (await readVm(app, extId)).etag as string }
  return succeeded(
    app,
    what === 'delete'
      ? send(app, 'DELETE', `${vms}/${extId}`, sent)
      : send(app, 'POST', `${vms}/${extId}/$actions/${what}`, sent),
  )
}

/** Entries of the VM that stand for this group. */
export const entriesOf = async (app: TestApp, vmExtId: string, groupId: string): Promise<any[]> =>
  ((await readVm(app, vmExtId)).data.disks ?? []).filter((disk: any) => disk.backingInfo?.volumeGroupExtId === groupId)

export const usageOf = async (app: TestApp, container = containerId) =>
  (await poolUsage({ store: app.store, clock: app.clock, drivers: app.drivers }, clusterId)).containers.get(container)!

/** Code of the first error, with the status. */
export const refusal = ({ status, errors }: CallResult): { status: number; group: string | undefined } => ({
  status,
  group: errors[0]?.errorGroup,
})
export const pathsOf = ({ errors }: CallResult): (string | undefined)[] =>
  errors.map(({ attributePath, argumentsMap }) => attributePath ?? argumentsMap?.['attributePath'])

/** Inserts a recovery point of the group's disks as they are now; no operation makes one. @returns its id */
export async function aRecoveryPoint(app: TestApp, groupId: string): Promise<string> {
  const [extId, disks] = [randomUUID(), await app.store.findWhere(VolumeDisk, { volumeGroupExtId: groupId })]
  const captured = disks.map(({ extId: diskExtId, index = 0, diskSizeBytes = 0, storageContainerId = '' }) => ({
    ...{ diskExtId, imageExtId: randomUUID(), index },
    ...{ sizeBytes: diskSizeBytes, containerExtId: storageContainerId },
  }))
  await app.drivers.blockStorage.snapshotBlocks(captured)
  const point = { extId, volumeGroupExtId: groupId, creationTime: app.clock.iso(), disks: captured }
  await app.store.transaction((store) => store.insert(VolumeGroupRecoveryPoint, point))
  return extId
}
