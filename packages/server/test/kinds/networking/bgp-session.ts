/** Requests by which suites that cover every kind reach BGP sessions. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { deleteEntity, named } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { ip, made, prefix } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const sessions = '/networking/v4.3/config/bgp-sessions'
const gateways = {
  localGatewayReference: seedId('gateway/bgp-prod'),
  remoteGatewayReference: seedId('gateway/tor-a'),
}
const session = (name: string): object => ({ name, ...gateways, password: 'of-the-peers' })

const contradiction = {
  shouldAdvertiseAllExternallyRoutablePrefixes: true,
  externallyRoutablePrefixesToAdvertise: [],
}

/** The demo has one pair of gateways: another session needs the present one to go. */
async function freed(app: TestApp): Promise<void> {
  for (const { extId } of (await app.call('GET', sessions)).data) await deleteEntity(app, `${sessions}/${extId}`)
}
async function aSession(app: TestApp): Promise<string> {
  await freed(app)
  return made(app, sessions, session(named()))
}

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createBgpSession': { path: sessions, body: session, prepare: freed },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createBgpSession': {
    path: '/config/bgp-sessions',
    body: { name: 'by-order', ...gateways, remoteGatewayReference: unknown },
    broken: contradiction,
  },
  'networking.updateBgpSessionById': {
    path: `/config/bgp-sessions/${seedId('bgp-session/prod-tor-a')}`,
    body: { name: 'by-order', ...gateways, metadata: { categoryIds: [unknown] } },
    broken: contradiction,
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-bgp-session': async (app) => {
    await freed(app)
    return { method: 'POST', path: sessions, body: session('killed') }
  },
  'networking.delete-bgp-session': async (app) => deleting(await aSession(app)),
  'networking.update-bgp-session': async (app) =>
    changing(app, await aSession(app), { dynamicRoutePriority: 800, password: 'another' }),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createBgpSession': [
    async (app) => {
      await freed(app)
      return { path: sessions, body: session(named()) }
    },
  ],
  'networking.updateBgpSessionById': [
    async (app) => ({ path: await aSession(app) }),
    async (app) => ({ path: await aSession(app), body: session(named()) }),
  ],
}

const advertised = prefix('192.168.20.0/24')
export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'networking.createBgpSession externallyRoutablePrefixesToAdvertise': [advertised],
  'networking.createBgpSession localGatewayInterfaceIpAddress': [ip('10.44.4.151')],
  'networking.updateBgpSessionById externallyRoutablePrefixesToAdvertise': [advertised],
  'networking.updateBgpSessionById localGatewayInterfaceIpAddress': [ip('10.44.4.152')],
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.bgp-fault': ({ ids }) => ids('BgpSession'),
  'fabric.bgp-peer': ({ ids }) => ids('BgpSession'),
}

export const walkEntities = { [sessions]: ['bgp-session/prod-tor-a'] }

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createBgpSession: (asking) =>
    walk.post(sessions, { name: walk.name(asking, 'session'), ...gateways, password: walk.walkersPassword }),
  prioritizeBgpSession: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, sessions), {
      dynamicRoutePriority: 500 + asking.draw.below(3),
      password: walk.walkersPassword,
    }),
  deleteBgpSession: walk.removing(sessions),
}
