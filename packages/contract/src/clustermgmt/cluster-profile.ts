import { names } from '../names.ts'
import { action, create, type EntityOf, get, list, perSecond, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress, IPAddressOrFQDN } from '../shapes.ts'
import { clusterAdmins, profileReaders } from './roles.ts'
import {
  configType,
  ManagedCluster,
  NtpServerConfig,
  nfsSubnetWhitelist,
  PulseStatus,
  RsyslogServer,
  SmtpServerRef,
  SnmpConfig,
} from './settings.ts'

/** Settings that clusters should have; absent sections are ignored. Source: specification 2.4, 4.5, 5, 8; clustermgmt.md 1.10. */
export const ClusterProfile = resource('clustermgmt.v4.config.ClusterProfile', {
  fields: {
    name: s.text({ maxLength: 64, pattern: '^[A-Za-z0-9._-]+$' }),
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    createTime: s.readOnly(s.timestamp()),
    lastUpdateTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(s.uuid()),
    lastUpdatedBy: s.readOnly(s.uuid()),
    clusterCount: s.readOnly(s.integer()),
    driftedClusterCount: s.readOnly(s.integer()),
    clusters: s.readOnly(s.arrayOf(ManagedCluster, { minItems: 1, maxItems: 400 })),
    allowedOverrides: s.optional(s.arrayOf(configType, { maxItems: 50 })),
    nameServerIpList: s.optional(s.arrayOf(IPAddress, { maxItems: 1024 })),
    ntpServerIpList: s.optional(s.arrayOf(IPAddressOrFQDN, { maxItems: 1024 })),
    smtpServer: s.optional(SmtpServerRef),
    nfsSubnetWhitelist: s.optional(nfsSubnetWhitelist),
    snmpConfig: s.optional(SnmpConfig),
    rsyslogServerList: s.optional(s.arrayOf(RsyslogServer, { maxItems: 100 })),
    pulseStatus: s.optional(PulseStatus),
    ntpServerConfigList: s.since('v4.2', s.optional(s.arrayOf(NtpServerConfig))),
  },
  iam: { name: 'name', owner_uuid: 'createdBy' },
  unique: [{ fields: ['name'], ignoreCase: true, error: 'CLUSTER_PROFILE_NAME_EXISTS' }],
  sparsePut: true,
  notFound: 'CLUSTER_PROFILE_NOT_FOUND',
  ofCluster: { stays: 'a profile keeps its members registered' },
})
export type ClusterProfile = EntityOf<typeof ClusterProfile>

/** By `uuid`, else by `name`; if both are given, they must name the same cluster. */
export const ClusterReferenceListSpec = s.object('clustermgmt.v4.config.ClusterReferenceListSpec', {
  clusters: s.arrayOf(
    s.object('clustermgmt.v4.config.ClusterReference', {
      uuid: s.optional(s.referenceTo('Cluster')),
      name: s.optional(s.text({ maxLength: 64 })),
    }),
    { minItems: 1, maxItems: 400 },
  ),
})

const listFields = names(`
  clusterCount, createTime, createdBy, driftedClusterCount, lastUpdateTime, lastUpdatedBy, name
`)

const view = { roles: profileReaders, rateLimit: perSecond(10) }
const mutation = { roles: clusterAdmins, rateLimit: perSecond(1), requestId: 'required' } as const

const path = '/config/cluster-profiles'
const one = `${path}/{extId}` as const

export const clusterProfileOperations = {
  listClusterProfiles: list(path, ClusterProfile, {
    ...view,
    filter: listFields,
    orderby: listFields,
    select: 'any',
  }),
  createClusterProfile: create(path, ClusterProfile, mutation),
  getClusterProfileById: get(one, ClusterProfile, view),
  updateClusterProfileById: update(one, ClusterProfile, { ...mutation, dryRun: true }),
  deleteClusterProfileById: remove(one, ClusterProfile, mutation),
  applyClusterProfile: action(`${one}/$actions/apply`, {
    ...mutation,
    of: ClusterProfile,
    body: ClusterReferenceListSpec,
    dryRun: true,
  }),
  disassociateClusterFromClusterProfile: action(`${one}/$actions/disassociate-cluster`, {
    ...mutation,
    of: ClusterProfile,
    body: ClusterReferenceListSpec,
    iam: 'Disassociate_Cluster_Profile_Cluster',
  }),
}
