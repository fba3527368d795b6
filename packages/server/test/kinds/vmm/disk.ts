/** Requests by which suites that cover every kind reach disks of VMs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Asked, changing, completed } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, named, once } from '../../support/field-bases.ts'
import { aNativeCluster, aVm, bootDisk, emptyDisk, type NativeCluster, tagOf } from '../../support/native-cluster.ts'
import { pointDisk } from '../../support/point-disk.ts'
import type { TestApp } from '../../support/start-app.ts'
import { goldId } from '../../support/volumes.ts'
import {
  type Creation,
  type FieldBase,
  GiB,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
/** OFF. */
const source = `${vms}/${seedId('vm/template-source')}`
const file = (sizeBytes = GiB) => ({
  backingInfo: { $objectType: 'vmm.v4.ahv.config.VmDisk', diskSizeBytes: sizeBytes },
})

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createDisk': { path: `${source}/disks`, body: () => emptyDisk(), tagOf: source },
}

const relative = source.slice('/vmm/v4.2'.length)
const nowhere = { ...file().backingInfo, storageContainer: { extId: unknown } }
export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createDisk': {
    path: `${relative}/disks`,
    tagOf: relative,
    body: { backingInfo: nowhere },
    broken: { customAttributes: ['none'] },
  },
  'vmm.updateDiskById': {
    path: async (app) => {
      const vm = await fieldVm(app)
      return `${vm.slice('/vmm/v4.2'.length)}/disks/${(await app.call('GET', vm)).data.disks[0].extId}`
    },
    body: { backingInfo: nowhere },
    broken: { customAttributes: ['none'] },
  },
}

/** A disk of a VM that has another one. */
async function aDisk(app: TestApp): Promise<{ vm: string; disk: string; cluster: NativeCluster }> {
  const cluster = await aNativeCluster(app)
  const vm = await aVm(app, cluster, { disks: [emptyDisk(), emptyDisk()] })
  return { vm: `${vms}/${vm.extId}`, disk: `${vms}/${vm.extId}/disks/${vm.disks[1].extId}`, cluster }
}
async function tagged(app: TestApp, method: string, path: string, body?: object): Promise<Asked> {
  const ifMatch = await tagOf(app, path.slice(vms.length + 1).split('/')[0] as string)
  return { method, path, ifMatch, ...(body === undefined ? {} : { body }) }
}
const groups = '/volumes/v4.2/config/volume-groups'
const aGroupDisk = async (app: TestApp, cluster: NativeCluster): Promise<object> => {
  const volumeGroupExtId = await completed(app, 'POST', groups, {
    body: { name: named(), clusterReference: cluster.extId },
  })
  return { backingInfo: { $objectType: 'vmm.v4.ahv.config.ADSFVolumeGroupReference', volumeGroupExtId } }
}
const attributes = { customAttributes: ['team:red', 'site:a'] }
const attributed = async (app: TestApp, path: string, verb: 'add' | 'remove'): Promise<Asked> => {
  const action = `${path}/$actions/`
  if (verb === 'remove') await completed(app, 'POST', `${action}add-custom-attributes`, { body: attributes })
  return { method: 'POST', path: `${action}${verb}-custom-attributes`, body: { customAttributes: ['site:a'] } }
}

/** Not copied yet. */
export const externalDisk = (isHydrated: boolean) => ({
  backingInfo: {
    diskSizeBytes: GiB,
    dataSource: {
      reference: {
        $objectType: 'vmm.v4.ahv.config.ExternalDataSourceDiskReference',
        externalRepositoryExtId: 'store.example',
        externalDiskRelativePath: 'disks/linux.img',
        shouldEnableBackgroundHydration: isHydrated,
      },
    },
  },
})
const hydrating = async (app: TestApp, verb: 'enable' | 'disable'): Promise<Asked> => {
  const vm = await aVm(app, await aNativeCluster(app), { disks: [externalDisk(false)] })
  return { method: 'POST', path: `${vms}/${vm.extId}/disks/${vm.disks[0].extId}/$actions/${verb}-hydration` }
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-disk': async (app) => {
    const { vm, cluster } = await aDisk(app)
    return tagged(app, 'POST', `${vm}/disks`, bootDisk(cluster))
  },
  // The content changes, not the size: the file is replaced.
  'vmm.update-disk': async (app) => {
    const { disk, cluster } = await aDisk(app)
    const { data } = await app.call('GET', disk)
    return changing(app, disk, { backingInfo: { ...data.backingInfo, ...bootDisk(cluster).backingInfo } })
  },
  'vmm.delete-disk': async (app) => tagged(app, 'DELETE', (await aDisk(app)).disk),
  'vmm.attach-group-disk': async (app) => {
    const { vm, cluster } = await aDisk(app)
    return tagged(app, 'POST', `${vm}/disks`, await aGroupDisk(app, cluster))
  },
  'vmm.detach-group-disk': async (app) => {
    const { vm, cluster } = await aDisk(app)
    const { method, path, ...options } = await tagged(app, 'POST', `${vm}/disks`, await aGroupDisk(app, cluster))
    return tagged(app, 'DELETE', `${vm}/disks/${await completed(app, method, path, options)}`)
  },
  'vmm.add-vm-custom-attributes': async (app) => attributed(app, (await aDisk(app)).vm, 'add'),
  'vmm.remove-vm-custom-attributes': async (app) => attributed(app, (await aDisk(app)).vm, 'remove'),
  'vmm.add-vm-disk-custom-attributes': async (app) => attributed(app, (await aDisk(app)).disk, 'add'),
  'vmm.remove-vm-disk-custom-attributes': async (app) => attributed(app, (await aDisk(app)).disk, 'remove'),
  'vmm.enable-vm-disk-hydration': (app) => hydrating(app, 'enable'),
  'vmm.disable-vm-disk-hydration': (app) => hydrating(app, 'disable'),
  'vmm.migrate-vm-disks': async (app) => {
    const name = named()
    const disks = [{ backingInfo: { diskSizeBytes: GiB } }, { backingInfo: { diskSizeBytes: GiB } }]
    const path = await createdPath(app, vms, { name, cluster: { extId: nativeCluster }, disks })
    const storageContainer = { extId: goldId }
    const migrateDisks = { $objectType: 'vmm.v4.ahv.config.AllDisksMigrationPlan', storageContainer }
    return tagged(app, 'POST', `${path}/$actions/migrate-vm-disks`, { migrateDisks })
  },
}

const fieldVm = (app: TestApp): Promise<string> => once(app, 'VM with a disk', () => aFieldVm(app))
const aFieldVm = (app: TestApp): Promise<string> =>
  createdPath(app, vms, { name: named(), cluster: { extId: nativeCluster }, disks: [file()] })
/** An action of a VM, or of its only disk. */
export const acting =
  (action: string, isDisk: boolean, body: object): FieldBase =>
  async (app) => {
    const vm = await fieldVm(app)
    const disk = `${vm}/disks/${(await app.call('GET', vm)).data.disks[0].extId}`
    return { path: `${isDisk ? disk : vm}/$actions/${action}`, readPath: vm, body }
  }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.createDisk': [
    async (app) => {
      const path = await aFieldVm(app)
      return { path: `${path}/disks`, readPath: path, body: { ...file(4 * GiB), diskAddress: { busType: 'SATA' } } }
    },
    async (app) => {
      const path = await aFieldVm(app)
      return { path: `${path}/disks`, readPath: path, body: { backingInfo: await pointDisk(app) } }
    },
  ],
  'vmm.updateDiskById': [
    async (app) => {
      const path = await fieldVm(app)
      return { path: `${path}/disks/${(await app.call('GET', path)).data.disks[0].extId}` }
    },
    async (app) => {
      const path = await aFieldVm(app)
      const { extId } = (await app.call('GET', path)).data.disks[0]
      return { path: `${path}/disks/${extId}`, body: { backingInfo: await pointDisk(app) } }
    },
  ],
  'vmm.addVmDiskCustomAttributes': [acting('add-custom-attributes', true, { customAttributes: ['a:1'] })],
  'vmm.removeVmDiskCustomAttributes': [acting('remove-custom-attributes', true, { customAttributes: ['a:1'] })],
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  addVmDisk: walk.adding('disks', ({ model, draw }) => ({
    backingInfo: {
      diskSizeBytes: draw.of([1, 5]) * 1024 ** 3,
      storageContainer: { extId: model.extId(draw, walk.collections.containers) },
    },
  })),
  removeVmDisk: walk.removingPart('disks'),
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'vmm.migrate-vm-disks': 'disks that were moved stay there',
}
