/** Controller VMs, one on each host; not stored. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.6, 2. */
import { names } from '../names.ts'
import { action, get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { Cluster } from './cluster.ts'
import { hypervisorType } from './host.ts'
import { clusterAdmins, clusterHostReaders } from './roles.ts'

const GiB = 1024 ** 3

export const Cvm = resource('clustermgmt.v4.config.Cvm', {
  fields: {
    name: s.readOnly(s.text()),
    clusterExtId: s.readOnly(s.uuid()),
    nodeExtId: s.readOnly(s.uuid()),
    hypervisorType: s.readOnly(hypervisorType),
    ipAddress: s.readOnly(IPAddress),
    backplaneIpAddress: s.readOnly(IPAddress),
    numVcpus: s.readOnly(s.integer()),
    memorySizeBytes: s.readOnly(s.integer()),
  },
  title: 'controller VM',
  iamNoun: 'Cluster_Controller_VM',
  derived: true,
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
})

/** The new size of all controller VMs of a cluster; an absent field keeps its value. */
export const CvmReconfigurationSpec = s.object('clustermgmt.v4.config.CvmReconfigurationSpec', {
  numVcpus: s.optional(s.integer({ minimum: 4, maximum: 64 })),
  /** Whole GiB. */
  memorySizeBytes: s.optional(s.integer({ minimum: 16 * GiB, maximum: 256 * GiB })),
})

const path = '/config/clusters/{clusterExtId}/cvms'
const view = { roles: clusterHostReaders, rateLimit: perSecond(5, 5, 10, 10), versions: ['v4.2'] } as const

export const cvmOperations = {
  listCvmsbyClusterId: list(path, Cvm, {
    ...view,
    envelope: 'clustermgmt.v4.config.ListCvmsByClusterIdApiResponse',
    filter: names('clusterExtId, extId, hypervisorType, name, nodeExtId'),
    orderby: names('memorySizeBytes, name, numVcpus'),
    select: 'any',
  }),
  getCvmById: get(`${path}/{extId}`, Cvm, view),
  reconfigureCvms: action(`${path}/$actions/reconfigure`, {
    roles: clusterAdmins,
    rateLimit: perSecond(1),
    versions: ['v4.2'],
    iam: 'Reconfigure_Cluster_Controller_VM',
    of: Cluster,
    body: CvmReconfigurationSpec,
  }),
}
