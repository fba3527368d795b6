/** Requests by which suites that cover every kind reach routes. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, creating, once } from '../../support/field-bases.ts'
import { demoRoutes, ip, made, prefix, throughSubnet } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const routes = demoRoutes('prod')
let number = 0
/** Each call has another destination. */
const throughNat = (more: object = {}): object =>
  throughSubnet(`172.16.${number++ % 256}.0/24`, 'ext-nat', { name: 'to another site', ...more })
const bodies: readonly (() => object)[] = [
  throughNat,
  () => throughNat({ nexthop: { nexthopType: 'IP_ADDRESS', nexthopIpAddress: ip('10.44.4.9') } }),
  () => throughNat({ nexthop: { nexthopType: 'LOCAL_SUBNET', nexthopReference: seedId('subnet/web') } }),
]
const aRoute = throughSubnet('172.30.0.0/16', 'ext-nat')

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createRouteForRouteTable': { path: routes, body: (name) => throughNat({ name }) },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createRouteForRouteTable': {
    path: routes.slice('/networking/v4.3'.length),
    body: { ...aRoute, nexthop: { nexthopType: 'VPN_CONNECTION', nexthopReference: unknown } },
    broken: { routeType: 'LOCAL' },
  },
  'networking.updateRouteForRouteTableById': {
    path: `${routes.slice('/networking/v4.3'.length)}/${seedId('route/prod/default')}`,
    body: { ...aRoute, metadata: { categoryIds: [unknown] } },
    broken: { nexthop: { nexthopType: 'IP_ADDRESS' } },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-route': async () => ({ method: 'POST', path: routes, body: aRoute }),
  'networking.delete-route': async (app) => deleting(await made(app, routes, aRoute)),
  'networking.update-route': async (app) =>
    changing(app, await made(app, routes, aRoute), { destination: prefix('172.29.0.0/16') }),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createRouteForRouteTable': bodies.map((body) => creating(routes, body)),
  'networking.updateRouteForRouteTableById': bodies.map((body) => async (app) => ({
    path: await once(app, 'route', () => createdPath(app, routes, throughNat())),
    body: body(),
  })),
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'networking.createRouteForRouteTable routeTableReference': [seedId('route-table/prod')],
  'networking.createRouteForRouteTable vpcReference': [seedId('vpc/prod')],
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.route': ({ ids }) => ids('Route'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createRoute: ({ draw }) =>
    walk.post(demoRoutes('prod'), throughSubnet(`172.${20 + draw.below(4)}.0.0/16`, 'ext-nat')),
  deleteRoute: walk.removing(demoRoutes('prod')),
  renameRoute: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, demoRoutes('prod')), { name: walk.name(asking, 'route') }),
}

export const walkEntities = { [demoRoutes('prod')]: [] }
