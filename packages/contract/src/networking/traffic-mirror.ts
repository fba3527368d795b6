/** Copies of the traffic of NICs, for analysis. Source: catalogue networking.json; behaviour networking.md 1.16, 2. */
import { create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { mirrorReaders, mirrorWriters, mutationRate } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, nameText, ownAttributes } from './shapes.ts'

const port = {
  nicType: s.enumeration(['HOST_NIC', 'VIRTUAL_NIC']),
  // Not a reference: NICs may go while the mirror stays.
  nicUuid: s.uuid(),
  isUp: s.readOnly(s.boolean()),
}
export const TrafficMirrorPort = s.object('networking.v4.config.TrafficMirrorPort', port)
export const TrafficMirrorSourcePort = s.object('networking.v4.config.TrafficMirrorSourcePort', {
  ...port,
  /** INGRESS: what the NIC receives; EGRESS: what it sends. */
  direction: s.enumeration(['INGRESS', 'EGRESS', 'BIDIRECTIONAL']),
})
const destinations = () => s.arrayOf(TrafficMirrorPort, { minItems: 1, maxItems: 2 })
const one = () => s.optional(s.arrayOf(s.uuid(), { minItems: 1, maxItems: 1 }))

export const TrafficMirror = resource('networking.v4.config.TrafficMirror', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    isEnabled: s.withDefault(s.boolean(), true),
    sourceList: s.arrayOf(TrafficMirrorSourcePort, { minItems: 1, maxItems: 4 }),
    destinationList: destinations(),
    /** Default: the host of the first source. */
    hostReferenceList: one(),
    clusterReferenceList: one(),
    /** Needed for destinations on other hosts. */
    virtualSwitchReference: s.optional(s.referenceTo('VirtualSwitch')),
    state: s.readOnly(s.enumeration(['ACTIVE', 'ERROR', 'DISABLED'])),
    stateMessage: s.readOnly(s.text({ multiline: true })),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    createdAt: s.optional(s.timestamp()),
    hostExtId: s.uuid(),
    clusterExtId: s.uuid(),
    change: changeHolding({
      name: s.optional(s.text()),
      hostExtId: s.optional(s.uuid()),
      destinationList: s.optional(destinations()),
    }),
  },
  indexed: ['hostExtId'],
  // Requests compare all names. A cluster may bring a mirror with the name of another one.
  unique: [{ fields: ['clusterExtId', 'name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  iam: ownAttributes,
  ofCluster: { by: 'clusterExtId', keptByManager: ['metadata'] },
  gate: { product: 'FLOW_NETWORK_SECURITY', keepsProductEnabled: true },
})

const mutation = { roles: mirrorWriters, rateLimit: mutationRate }
const view = { roles: mirrorReaders }
const entity = '/config/traffic-mirrors/{extId}'

export const trafficMirrorOperations = {
  listTrafficMirrors: list('/config/traffic-mirrors', TrafficMirror, {
    ...view,
    filter: ['extId', 'isEnabled', 'name'],
    orderby: ['name'],
  }),
  createTrafficMirror: create('/config/traffic-mirrors', TrafficMirror, mutation),
  getTrafficMirrorById: get(entity, TrafficMirror, view),
  updateTrafficMirrorById: update(entity, TrafficMirror, mutation),
  deleteTrafficMirrorById: remove(entity, TrafficMirror, mutation),
}
