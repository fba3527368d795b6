/** Requests by which suites that cover every kind reach serial ports of VMs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Asked, changing } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, named, once } from '../../support/field-bases.ts'
import { aNativeCluster, aVm, tagOf } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type FieldBase, GiB, nativeCluster, type RestartScenario } from '../kind.ts'

const vms = '/vmm/v4.2/ahv/config/vms'
/** OFF. */
const source = `${vms}/${seedId('vm/template-source')}`

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createSerialPort': { path: `${source}/serial-ports`, body: () => ({}), tagOf: source },
}

/** A port with the index 2, of a VM that has another one. */
async function aPort(app: TestApp): Promise<string> {
  const vm = await aVm(app, await aNativeCluster(app), { serialPorts: [{}, { index: 2 }] })
  return `${vms}/${vm.extId}/serial-ports/${vm.serialPorts[1].extId}`
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-serial-port': async (app): Promise<Asked> => {
    const { extId } = await aVm(app, await aNativeCluster(app), { serialPorts: [{}] })
    const ifMatch = await tagOf(app, extId)
    return { method: 'POST', path: `${vms}/${extId}/serial-ports`, body: { isConnected: true }, ifMatch }
  },
  'vmm.update-serial-port': async (app) => changing(app, await aPort(app), { index: 3, isConnected: true }),
  'vmm.delete-serial-port': async (app) => {
    const path = await aPort(app)
    return { method: 'DELETE', path, ifMatch: (await app.call('GET', path)).etag as string }
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.updateSerialPortById': [
    async (app) => ({
      path: await once(app, 'serial port', async () => {
        const body = { name: named(), memorySizeBytes: GiB, cluster: { extId: nativeCluster }, serialPorts: [{}] }
        const path = await createdPath(app, vms, body)
        return `${path}/serial-ports/${(await app.call('GET', path)).data.serialPorts[0].extId}`
      }),
    }),
  ],
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  addSerialPort: walk.adding('serial-ports', ({ draw }) => ({ isConnected: draw.isOneIn(2) })),
  removeSerialPort: walk.removingPart('serial-ports'),
}
