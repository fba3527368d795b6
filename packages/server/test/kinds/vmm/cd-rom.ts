/** Requests by which suites that cover every kind reach CD-ROM drives of VMs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { Asked } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, named } from '../../support/field-bases.ts'
import { aNativeCluster, aVm, bootDisk, type NativeCluster, tagOf } from '../../support/native-cluster.ts'
import { pointDisk } from '../../support/point-disk.ts'
import type { TestApp } from '../../support/start-app.ts'
import {
  type Creation,
  type FieldBase,
  GiB,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'
import { externalDisk } from './disk.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
/** OFF. */
const source = `${vms}/${seedId('vm/template-source')}`

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createCdRom': { path: `${source}/cd-roms`, body: () => ({}), tagOf: source },
}

/** The path of an empty drive of a VM of its own. */
async function anEmptyDrive(app: TestApp): Promise<string> {
  const path = await createdPath(app, vms, { name: named(), cluster: { extId: nativeCluster }, cdRoms: [{}] })
  return `${path}/cd-roms/${(await app.call('GET', path)).data.cdRoms[0].extId}`
}
const imageExtId = seedId('image/ubuntu-24.04-live.iso')
const ofImage = (extId = imageExtId) => ({
  dataSource: { reference: { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: extId } },
})

const relative = source.slice('/vmm/v4.2'.length)
export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createCdRom': {
    path: `${relative}/cd-roms`,
    tagOf: relative,
    body: { backingInfo: ofImage(unknown) },
    broken: { diskAddress: { busType: 'IDE', index: 4 } },
  },
  'vmm.insertCdRomById': {
    path: async (app) => `${(await anEmptyDrive(app)).slice('/vmm/v4.2'.length)}/$actions/insert`,
    body: { backingInfo: ofImage(unknown) },
    broken: { backingInfo: { storageContainer: { extId: unknown } } },
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.createCdRom': [
    async (app) => {
      const path = (await anEmptyDrive(app)).replace(/\/cd-roms\/.*/, '')
      return { path: `${path}/cd-roms`, readPath: path, body: { backingInfo: { diskSizeBytes: GiB } } }
    },
    async (app) => {
      const path = (await anEmptyDrive(app)).replace(/\/cd-roms\/.*/, '')
      return { path: `${path}/cd-roms`, readPath: path, body: { backingInfo: await pointDisk(app) } }
    },
  ],
  'vmm.insertCdRomById': [
    async (app) => {
      const readPath = await anEmptyDrive(app)
      return { path: `${readPath}/$actions/insert`, readPath, body: { backingInfo: ofImage() } }
    },
    async (app) => {
      const readPath = await anEmptyDrive(app)
      return { path: `${readPath}/$actions/insert`, readPath, body: { backingInfo: await pointDisk(app) } }
    },
  ],
}

/** A request about the last of two drives. */
async function onDrive(
  app: TestApp,
  isFull: boolean,
  asked: (drives: string, drive: string, cluster: NativeCluster) => Asked,
): Promise<Asked> {
  const cluster = await aNativeCluster(app)
  const vm = await aVm(app, cluster, { cdRoms: [{}, isFull ? bootDisk(cluster) : {}] })
  const drives = `${vms}/${vm.extId}/cd-roms`
  const request = asked(drives, `${drives}/${vm.cdRoms[1].extId}`, cluster)
  return { ...request, ifMatch: await tagOf(app, vm.extId) }
}

const hydrating = async (app: TestApp, verb: 'enable' | 'disable'): Promise<Asked> => {
  const vm = await aVm(app, await aNativeCluster(app), { cdRoms: [externalDisk(false)] })
  return { method: 'POST', path: `${vms}/${vm.extId}/cd-roms/${vm.cdRoms[0].extId}/$actions/${verb}-hydration` }
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-cd-rom': (app) =>
    onDrive(app, false, (path, _, cluster) => ({ method: 'POST', path, body: bootDisk(cluster) })),
  'vmm.insert-cd-rom': (app) =>
    onDrive(app, false, (_, drive, cluster) => ({
      method: 'POST',
      path: `${drive}/$actions/insert`,
      body: bootDisk(cluster),
    })),
  'vmm.eject-cd-rom': (app) => onDrive(app, true, (_, drive) => ({ method: 'POST', path: `${drive}/$actions/eject` })),
  'vmm.delete-cd-rom': (app) => onDrive(app, true, (_, path) => ({ method: 'DELETE', path })),
  'vmm.enable-vm-cd-rom-hydration': (app) => hydrating(app, 'enable'),
  'vmm.disable-vm-cd-rom-hydration': (app) => hydrating(app, 'disable'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  addCdRom: walk.adding('cd-roms', ({ model, draw }) => {
    const imageExtId = model.extId(draw, walk.collections.images)
    const reference = { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId }
    return draw.isOneIn(2) ? {} : { backingInfo: { dataSource: { reference } } }
  }),
  removeCdRom: walk.removingPart('cd-roms'),
}
