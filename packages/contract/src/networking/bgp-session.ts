/** Source: specification 2.6, 4.7, 5, 8; catalogue networking.json (limits); behaviour networking.md 1.10, 2. */
import { names } from '../names.ts'
import { create, get, list, perSecond, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddress } from '../shapes.ts'
import { Gateway } from './gateway.ts'
import { bgpReaders } from './roles.ts'
import {
  autonomousSystemNumber,
  BgpCommunity,
  changeHolding,
  descriptionText,
  EntityMetadata,
  IPSubnet,
  nameText,
  ownAttributes,
  Status,
} from './shapes.ts'

export const BgpSession = resource('networking.v4.config.BgpSession', {
  fields: {
    name: nameText(),
    description: s.optional(descriptionText()),
    localGatewayReference: s.immutable(s.referenceTo('Gateway')),
    remoteGatewayReference: s.immutable(s.referenceTo('Gateway')),
    localGateway: s.readOnly(Gateway.schema),
    remoteGateway: s.readOnly(Gateway.schema),
    localGatewayInterfaceIpAddress: s.optional(IPAddress),
    dynamicRoutePriority: s.withDefault(s.integer({ minimum: 300, maximum: 1000 }), 700),
    advertisedRoutesCommunities: s.optional(s.arrayOf(BgpCommunity, { maxItems: 32 })),
    prependedAutonomousSystemPath: s.optional(s.arrayOf(autonomousSystemNumber(), { maxItems: 10 })),
    // Default: true unless prefixes are listed.
    shouldAdvertiseAllExternallyRoutablePrefixes: s.optional(s.boolean()),
    externallyRoutablePrefixesToAdvertise: s.optional(s.arrayOf(IPSubnet)),
    password: s.secret(s.text({ maxLength: 80 })),
    status: s.readOnly(Status),
    metadata: s.optional(EntityMetadata),
  },
  internal: {
    change: changeHolding({ name: s.optional(s.text()), localGatewayInterfaceIpAddress: s.optional(IPAddress) }),
  },
  unique: [
    { fields: ['name'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' },
    { fields: ['localGatewayReference', 'remoteGatewayReference'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' },
  ],
  iam: ownAttributes,
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
  ofCluster: { stays: 'a session stays with its gateways' },
})

const mutation = { roles: names('Platform Admin, Super Admin, VPC Admin'), rateLimit: perSecond(3) }
const view = { roles: bgpReaders, rateLimit: perSecond(3) }

export const bgpSessionOperations = {
  listBgpSessions: list('/config/bgp-sessions', BgpSession, {
    ...view,
    filter: names(`
      advertisedRoutesCommunities/autonomousSystemNumber, advertisedRoutesCommunities/communityValue,
      dynamicRoutePriority, localGatewayReference, name, remoteGatewayReference
    `),
    orderby: ['dynamicRoutePriority', 'name'],
    expand: {
      localGateway: { kind: 'Gateway', by: 'localGatewayReference' },
      remoteGateway: { kind: 'Gateway', by: 'remoteGatewayReference' },
    },
  }),
  createBgpSession: create('/config/bgp-sessions', BgpSession, mutation),
  getBgpSessionById: get('/config/bgp-sessions/{extId}', BgpSession, view),
  updateBgpSessionById: update('/config/bgp-sessions/{extId}', BgpSession, mutation),
  deleteBgpSessionById: remove('/config/bgp-sessions/{extId}', BgpSession, mutation),
}
