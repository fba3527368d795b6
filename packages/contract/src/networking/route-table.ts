/** Source: catalogue networking.json; behaviour networking.md 1.6, 2, operation-roles.tsv. */
import { get, list, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { routingReaders } from './roles.ts'
import { EntityMetadata } from './shapes.ts'

export const RouteTable = resource('networking.v4.config.RouteTable', {
  fields: {
    vpcReference: s.readOnly(s.referenceTo('Vpc')),
    externalRoutingDomainReference: s.readOnly(s.uuid()),
    metadata: s.readOnly(EntityMetadata),
  },
  iamNoun: 'VPC_Route_Table',
  unique: [{ fields: ['vpcReference'] }],
  iam: { vpc_uuid: 'vpcReference' },
  iamName: 'route_table',
})

const view = { roles: routingReaders }

export const routeTableOperations = {
  listRouteTables: list('/config/route-tables', RouteTable, {
    ...view,
    filter: ['extId', 'externalRoutingDomainReference', 'vpcReference'],
    orderby: ['vpcReference'],
  }),
  getRouteTableById: get('/config/route-tables/{extId}', RouteTable, view),
}
