/** Requests by which suites that cover every kind reach attachments of VMs to volume groups. */

import { completed } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { act, aGroup, aVm, groups, succeeded } from '../../support/volumes.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'
import { aFullVm } from '../vmm/vm.ts'
import { aGroupWithDisk, onGroup } from './volume-group.ts'

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'volumes.attachVm': [onGroup('attach-vm', async (app) => ({ extId: (await aVm(app)).extId, index: 3 }))],
  'volumes.detachVm': [
    async (app) => {
      const [group, machine] = [await aGroup(app), await aVm(app)]
      await succeeded(app, act(app, group.extId, 'attach-vm', { extId: machine.extId }))
      return { path: `${groups}/${group.extId}/$actions/detach-vm`, body: { extId: machine.extId } }
    },
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'volumes.attach-vm': async (app) => ({
    method: 'POST',
    path: `${groups}/${await aGroupWithDisk(app)}/$actions/attach-vm`,
    body: { extId: await aFullVm(app) },
  }),
  'volumes.detach-vm': async (app) => {
    const [group, vm] = [await aGroupWithDisk(app), await aFullVm(app)]
    await completed(app, 'POST', `${groups}/${group}/$actions/attach-vm`, { body: { extId: vm } })
    return { method: 'POST', path: `${groups}/${group}/$actions/detach-vm`, body: { extId: vm } }
  },
}

const someVm = ({ model, draw }: walk.Asking): object => ({ extId: model.extId(draw, walk.collections.vms) })

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  attachVm: walk.acting(walk.collections.groups, 'attach-vm', someVm),
  detachVm: walk.acting(walk.collections.groups, 'detach-vm', someVm),
}
