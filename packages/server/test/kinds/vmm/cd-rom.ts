/** Requests by which suites that cover every kind reach CD-ROM drives of VMs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { Asked } from '../../restart/asked.ts'
import { aNativeCluster, aVm, bootDisk, type NativeCluster, tagOf } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { Creation, RestartScenario } from '../kind.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
/** OFF. */
const source = `${vms}/${seedId('vm/template-source')}`

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createCdRom': { path: `${source}/cd-roms`, body: () => ({}), tagOf: source },
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
}
