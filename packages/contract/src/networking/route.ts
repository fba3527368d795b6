/** Stored are static routes only. Source: catalogue networking.json; behaviour networking.md 1.6, 2, operation-roles.tsv. */
import { names } from '../names.ts'
import { create, get, list, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { Nexthop } from './bgp-route.ts'
import { bgpReaders, mutationRate } from './roles.ts'
import { changeHolding, descriptionText, EntityMetadata, IPSubnet, nameText } from './shapes.ts'

/** Derived from destination and nexthop: equal routes are refused, and a nexthop in use is not deleted. */
const held = {
  destinationAndNexthop: s.optional(s.text()),
  subnetReference: s.optional(s.referenceTo('Subnet')),
  connectionReference: s.optional(s.referenceTo('VpnConnection')),
}

export const Route = resource('networking.v4.config.Route', {
  fields: {
    name: s.optional(nameText()),
    description: s.optional(descriptionText()),
    routeType: s.immutable(s.enumeration(['DYNAMIC', 'LOCAL', 'STATIC'])),
    destination: s.optional(IPSubnet),
    nexthop: s.optional(Nexthop),
    priority: s.readOnly(s.integer()),
    isActive: s.readOnly(s.boolean()),
    routeTableReference: s.immutable(s.optional(s.uuid())),
    vpcReference: s.immutable(s.optional(s.uuid())),
    externalRoutingDomainReference: s.optional(s.uuid()),
    metadata: s.optional(EntityMetadata),
  },
  iamNoun: 'Route_Table_Route',
  internal: { ...held, change: changeHolding(held) },
  parent: { param: 'routeTableExtId', kind: 'RouteTable', field: 'routeTableReference' },
  unique: [{ fields: ['routeTableReference', 'destinationAndNexthop'], error: 'NETWORKING_ENTITY_ALREADY_EXISTS' }],
  indexed: ['vpcReference'],
  gate: { product: 'FLOW_VIRTUAL_NETWORKING', networkController: true },
})

const routes = '/config/route-tables/{routeTableExtId}/routes'
const view = { roles: bgpReaders }
const mutation = { roles: names('Platform Admin, Super Admin, VPC Admin'), rateLimit: mutationRate }

export const routeOperations = {
  listRoutesByRouteTableId: list(routes, Route, {
    ...view,
    filter: names(`
      destination, extId, externalRoutingDomainReference, isActive, name, nexthop/nexthopName, nexthop/nexthopReference,
      nexthop/nexthopType, priority, routeTableReference, routeType, vpcReference
    `),
    orderby: names('isActive, name, priority, routeType'),
  }),
  createRouteForRouteTable: create(routes, Route, mutation),
  getRouteForRouteTableById: get(`${routes}/{extId}`, Route, view),
  updateRouteForRouteTableById: update(`${routes}/{extId}`, Route, mutation),
  deleteRouteForRouteTableById: remove(`${routes}/{extId}`, Route, mutation),
}
