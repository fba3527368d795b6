/** Requests by which suites that cover every kind reach VPN connections. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { deleteEntity, named } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { unstretched } from '../../support/stretches.ts'
import { demoRoutes, ip, made } from '../../support/vpcs.ts'
import { connectionTo, demoConnection, vpnConnections } from '../../support/vpn.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const connection = (name: string, more: object = {}): object => connectionTo(seedId('gateway/branch'), name, more)
const contradiction = { dpdConfig: { intervalSecs: 30, timeoutSecs: 10 } }

/** The demo has one pair of gateways: another connection needs the present one to go, and its stretches before. */
async function freed(app: TestApp): Promise<void> {
  await unstretched(app)
  for (const { extId, nexthop } of (await app.call('GET', `${demoRoutes('prod')}?$limit=100`)).data)
    if (nexthop.nexthopType === 'VPN_CONNECTION') await deleteEntity(app, `${demoRoutes('prod')}/${extId}`)
  for (const { extId } of (await app.call('GET', vpnConnections)).data)
    await deleteEntity(app, `${vpnConnections}/${extId}`)
}
async function aConnection(app: TestApp): Promise<string> {
  await freed(app)
  return made(app, vpnConnections, connection(named()))
}

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createVpnConnection': { path: vpnConnections, body: connection, prepare: freed },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createVpnConnection': {
    path: '/config/vpn-connections',
    body: connection('by-order', { remoteGatewayReference: unknown }),
    broken: contradiction,
  },
  'networking.updateVpnConnectionById': {
    path: demoConnection.slice('/networking/v4.3'.length),
    body: connection('by-order', { metadata: { categoryIds: [unknown] } }),
    broken: contradiction,
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-vpn-connection': async (app) => {
    await freed(app)
    return { method: 'POST', path: vpnConnections, body: connection('killed') }
  },
  'networking.delete-vpn-connection': async (app) => deleting(await aConnection(app)),
  'networking.update-vpn-connection': async (app) =>
    changing(app, await aConnection(app), {
      dynamicRoutePriority: 800,
      ipsecConfig: { preSharedKey: 'another-key-of-it', espPfsDhGroupNumber: 20 },
    }),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createVpnConnection': [
    async (app) => {
      await freed(app)
      return { path: vpnConnections, body: connection(named()) }
    },
  ],
  'networking.updateVpnConnectionById': [
    async (app) => ({ path: await aConnection(app) }),
    async (app) => ({ path: await aConnection(app), body: connection(named()) }),
  ],
}

const pair = { localVtiIp: ip('169.254.9.1'), remoteVtiIp: ip('169.254.9.2') }
const operations = ['createVpnConnection', 'updateVpnConnectionById'] as const
export const fieldValues: Readonly<Record<string, readonly unknown[]>> = Object.fromEntries(
  operations.flatMap((operation) => [
    [`networking.${operation} ipsecConfig`, [{ preSharedKey: 'a-key-of-a-field', ...pair }]],
    [`networking.${operation} ipsecConfig/espPfsDhGroupNumber`, [19, 20]],
    [`networking.${operation} ipsecConfig/localVtiIp`, [pair.localVtiIp]],
    [`networking.${operation} ipsecConfig/remoteVtiIp`, [pair.remoteVtiIp]],
    [`networking.${operation} dpdConfig/intervalSecs`, [15]],
    [`networking.${operation} dpdConfig/timeoutSecs`, [60]],
  ]),
)

const ownedByConnections: FactOwner = ({ ids }) => ids('VpnConnection')
export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.vpn-tunnel': ownedByConnections,
  'fabric.vpn-tunnel-fault': ownedByConnections,
}

export const walkEntities = { [vpnConnections]: ['vpn-connection/branch-1'] }

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVpnConnection: (asking) =>
    walk.post(
      vpnConnections,
      connection(walk.name(asking, 'connection'), { ipsecConfig: { preSharedKey: walk.walkersPassword } }),
    ),
  prioritizeVpnConnection: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, vpnConnections), {
      dynamicRoutePriority: 500 + asking.draw.below(3),
    }),
  deleteVpnConnection: walk.removing(vpnConnections),
}
