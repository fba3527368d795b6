import { action, get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { expandCluster } from './expansion.ts'
import { nvmfClientReaders, volumeAdmins } from './roles.ts'
import { VolumeGroup } from './volume-group.ts'

/**
 * From the first attach on, also after the last detach. Source: specification 2.2, 4.3, 5, 8; catalogue volumes.json; volumes-storage.md
 * 1.6, 2.
 */
export const NvmfClient = resource('volumes.v4.config.NvmfClient', {
  fields: {
    nvmfInitiatorName: s.immutable(s.optional(s.text({ maxLength: 68, pattern: '^nqn\\.' }))),
    attachedTargets: s.readOnly(s.arrayOf(s.text(), { maxItems: 20 })),
    clusterReference: s.readOnly(s.referenceTo('Cluster')),
  },
  iamNoun: 'External_NVMF_Client',
  title: 'NVMe-TCP client',
  iam: { cluster_uuid: 'clusterReference' },
  unique: [{ fields: ['clusterReference', 'nvmfInitiatorName'] }],
  ofCluster: { by: 'clusterReference' },
})

/** Attach names a new client by name, or an existing one by `extId`; detach by `extId`. */
const attachedClient = s.object('volumes.v4.config.NvmfClient', {
  ...NvmfClient.schema.fields,
  extId: s.optional(s.referenceTo('NvmfClient')),
})
const detachedClient = s.object('volumes.v4.config.NvmfClient', {
  ...NvmfClient.schema.fields,
  extId: s.referenceTo('NvmfClient'),
})

const view = { roles: nvmfClientReaders, rateLimit: perSecond(20, 25, 25, 25) }
const mutation = { of: VolumeGroup, roles: volumeAdmins, rateLimit: perSecond(5, 5, 10, 10) }

export const nvmfClientOperations = {
  listNvmfClients: list('/config/nvmf-clients', NvmfClient, {
    ...view,
    deployments: ['on-prem'],
    filter: ['clusterReference', 'extId', 'nvmfInitiatorName'],
    orderby: ['clusterReference', 'extId'],
    select: ['clusterReference', 'extId'],
    expand: { cluster: expandCluster },
    expandedType: 'volumes.v4.config.NvmfClientProjection',
  }),
  getNvmfClientById: get('/config/nvmf-clients/{extId}', NvmfClient, view),
  attachNvmfClient: action('/config/volume-groups/{extId}/$actions/attach-nvmf-client', {
    ...mutation,
    body: attachedClient,
    iam: 'Attach_Volume_Group_To_External_NVMF_Client',
  }),
  detachNvmfClient: action('/config/volume-groups/{extId}/$actions/detach-nvmf-client', {
    ...mutation,
    body: detachedClient,
    iam: 'Detach_Volume_Group_From_External_NVMF_Client',
  }),
}
