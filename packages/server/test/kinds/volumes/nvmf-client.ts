/** Requests by which suites that cover every kind reach NVMe-oF clients. */

import { completed } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { named } from '../../support/field-bases.ts'
import { act, aGroup, groups, succeeded } from '../../support/volumes.ts'
import type { FieldBase, RestartScenario } from '../kind.ts'
import { aGroupWithDisk, onGroup } from './volume-group.ts'

const nvmfClient = { nvmfInitiatorName: 'nqn.2026-03.example:killed' }

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'volumes.attachNvmfClient': [
    onGroup('attach-nvmf-client', () => ({ nvmfInitiatorName: `nqn.2014-08.org.example:${named()}` })),
  ],
  'volumes.detachNvmfClient': [
    async (app) => {
      const group = await aGroup(app)
      const nvmfInitiatorName = `nqn.2014-08.org.example:${named()}`
      const task = await succeeded(app, act(app, group.extId, 'attach-nvmf-client', { nvmfInitiatorName }))
      const body = { extId: task.entitiesAffected[0].extId, nvmfInitiatorName }
      return { path: `${groups}/${group.extId}/$actions/detach-nvmf-client`, body }
    },
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'volumes.attach-nvmf-client': async (app) => ({
    method: 'POST',
    path: `${groups}/${await aGroupWithDisk(app)}/$actions/attach-nvmf-client`,
    body: nvmfClient,
  }),
  'volumes.detach-nvmf-client': async (app) => {
    const group = await aGroupWithDisk(app)
    const attached = await completed(app, 'POST', `${groups}/${group}/$actions/attach-nvmf-client`, {
      body: nvmfClient,
    })
    return { method: 'POST', path: `${groups}/${group}/$actions/detach-nvmf-client`, body: { extId: attached } }
  },
}

const someHost = ({ draw }: walk.Asking): object => ({ nvmfInitiatorName: `nqn.2026-03.example:walk-${draw.below(3)}` })

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  attachNvmfClient: walk.acting(walk.collections.groups, 'attach-nvmf-client', someHost),
  detachNvmfClient: walk.acting(walk.collections.groups, 'detach-nvmf-client', ({ model, draw }) => ({
    extId: model.extId(draw, walk.collections.nvmfClients),
  })),
}

export const walkEntities = { [walk.collections.nvmfClients]: [] }
