/** Requests by which suites that cover every kind reach disks. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { Asked } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { clustermgmt, ids } from '../../support/clustermgmt.ts'
import { happen } from '../../support/events.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { FactOwner, FieldBase, RestartScenario } from '../kind.ts'

const disks = `${clustermgmt}/disks`
const adding = `${clustermgmt}/clusters/${ids.native}/$actions/add-disk`

/** A data disk of the demo's native cluster. */
export const dataDisk = (host: 'a' | 'b' | 'c' | 'd', slot: number): string => seedId(`disk/hp-n01-${host}/${slot - 1}`)

const serialOf = async (app: TestApp, extId: string): Promise<string> =>
  (await app.call('GET', `${disks}/${extId}`)).data.serialNumber

/** A drive that the pool has released. */
async function aReleasedDrive(app: TestApp): Promise<Asked> {
  const disk = dataDisk('a', 4)
  const serialNumber = await serialOf(app, disk)
  await app.task(await app.call('DELETE', `${disks}/${disk}`))
  return { method: 'POST', path: adding, body: { serialNumber } }
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'clustermgmt.add-disk': aReleasedDrive,
  'clustermgmt.remove-disk': async () => ({ method: 'DELETE', path: `${disks}/${dataDisk('a', 3)}` }),
  'clustermgmt.update-disk-led-state': async () => ({
    method: 'POST',
    path: `${disks}/${dataDisk('a', 3)}/$actions/update-led-state`,
    body: { isEngaged: true },
  }),
}

/** A new drive each time, in a slot whose drive failed. */
function replacing(): FieldBase {
  let disk = dataDisk('b', 3)
  return async (app) => {
    await happen(app, { type: 'DISK_FAILS', disk })
    const { effects } = await happen(app, { type: 'DISK_REPLACED', disk })
    disk = /SN\w+/.exec(effects[0])?.[0] as string
    return { path: adding, body: { serialNumber: disk } }
  }
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'clustermgmt.addDisk': [replacing()],
  'clustermgmt.updateDiskLEDState': [
    async () => ({ path: `${disks}/${dataDisk('c', 3)}/$actions/update-led-state`, body: { isEngaged: true } }),
  ],
}

/** Drives of the simulated world are there without a row, too: those outside the pool. */
export const factOwners: Readonly<Record<string, FactOwner>> = {
  'hardware.drives': 'nobody',
  'hardware.former-drives': 'nobody',
  'hardware.emptied-slots': 'nobody',
}

const someDisk = ({ draw }: walk.Asking): string =>
  dataDisk(draw.of(['a', 'b', 'c', 'd'] as const), draw.of([2, 3, 4, 5, 6]))

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  removeDisk: (asking) => ({ method: 'DELETE', path: `${disks}/${someDisk(asking)}` }),
  addDisk: (asking) => walk.post(adding, { serialNumber: serialNumberOf(someDisk(asking)) }),
}

const serialNumberOf = (extId: string): string => `SN${extId.replaceAll('-', '').slice(0, 12).toUpperCase()}`

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'clustermgmt.remove-disk': 'data that has moved stays where it is',
}
