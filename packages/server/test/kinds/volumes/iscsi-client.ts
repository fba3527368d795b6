/** Requests by which suites that cover every kind reach iSCSI clients. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { completed, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { address, named, once } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { act, aGroup, clients, groups, succeeded } from '../../support/volumes.ts'
import { type FactOwner, type FieldBase, type OrderCase, type RestartScenario, unknown } from '../kind.ts'
import { aGroupWithDisk, onGroup } from './volume-group.ts'

const iqn = (): string => `iqn.2026-01.io.example:${named()}`
export const anAttachment = async (app: TestApp) => {
  const group = await aGroup(app)
  const task = await succeeded(app, act(app, group.extId, 'attach-iscsi-client', { iscsiInitiatorName: iqn() }))
  return { group, client: task.entitiesAffected[0].extId }
}
const client = { iscsiInitiatorName: 'iqn.2026-03.example:killed' }
const chap = {
  enabledAuthentications: 'CHAP',
  iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: 'Gr0up.Secret1' },
}
async function anAttachedClient(app: TestApp, access: object = {}): Promise<{ group: string; clientId: string }> {
  const group = await aGroupWithDisk(app, access)
  await completed(app, 'POST', `${groups}/${group}/$actions/attach-iscsi-client`, { body: client })
  const [attached] = (await app.call('GET', `${groups}/${group}/external-iscsi-attachments`)).data
  return { group, clientId: attached.extId }
}

const group = `/config/volume-groups/${seedId('volume-group/vg-unused')}`

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'volumes.attachIscsiClient': {
    path: `${group}/$actions/attach-iscsi-client`,
    body: { extId: unknown },
    broken: { attachmentSite: 'PRIMARY' },
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'volumes.attachIscsiClient': [
    onGroup('attach-iscsi-client', () => ({ iscsiInitiatorName: iqn() })),
    onGroup('attach-iscsi-client', () => ({
      iscsiInitiatorName: iqn(),
      enabledAuthentications: 'CHAP',
      clientSecret: 'client-secret-1',
    })),
    onGroup('attach-iscsi-client', () => ({ iscsiInitiatorNetworkId: address('10.44.9.9') })),
    onGroup('attach-iscsi-client', async (app) => ({ extId: (await anAttachment(app)).client })),
  ],
  'volumes.detachIscsiClient': [
    async (app) => {
      const { group, client } = await anAttachment(app)
      return { path: `${groups}/${group.extId}/$actions/detach-iscsi-client`, body: { extId: client } }
    },
  ],
  'volumes.updateIscsiClientById': [
    async (app) => ({
      path: `${clients}/${await once(app, 'iscsi client', async () => (await anAttachment(app)).client)}`,
    }),
    async (app) => ({
      path: `${clients}/${(await anAttachment(app)).client}`,
      body: { enabledAuthentications: 'CHAP', clientSecret: 'client-secret-1' },
    }),
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'volumes.attach-iscsi-client': async (app) => ({
    method: 'POST',
    path: `${groups}/${await aGroupWithDisk(app)}/$actions/attach-iscsi-client`,
    body: client,
  }),
  'volumes.detach-iscsi-client': async (app) => {
    const { group, clientId } = await anAttachedClient(app)
    return { method: 'POST', path: `${groups}/${group}/$actions/detach-iscsi-client`, body: { extId: clientId } }
  },
  'volumes.update-iscsi-client': async (app) => {
    const path = `/volumes/v4.2/config/iscsi-clients/${(await anAttachedClient(app, chap)).clientId}`
    return tagged(app, 'PUT', path, { enabledAuthentications: 'CHAP', clientSecret: 'Ki11ed.Secret' })
  },
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'blockStorage.guests': 'nobody',
}

const someInitiator = ({ draw }: walk.Asking): object => ({
  iscsiInitiatorName: `iqn.2026-03.example:walk-${draw.below(3)}`,
})

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  attachIscsiClient: walk.acting(walk.collections.groups, 'attach-iscsi-client', someInitiator),
  detachIscsiClient: walk.acting(walk.collections.groups, 'detach-iscsi-client', ({ model, draw }) => ({
    extId: model.extId(draw, walk.collections.iscsiClients),
  })),
}

export const walkEntities = { [walk.collections.iscsiClients]: [] }
