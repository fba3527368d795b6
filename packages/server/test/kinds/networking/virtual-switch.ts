/** Requests by which suites that cover every kind reach virtual switches. */
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { hostId } from '../../support/clustermgmt.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { demoHosts, emptyingHosts, onHosts, switchBody, switches } from '../../support/virtual-switches.ts'
import { made } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createVirtualSwitch': { path: switches, body: (name) => switchBody(name, []) },
}

const ofUnknownCluster = {
  name: 'by-order',
  bondMode: 'NONE',
  clusters: [{ extId: unknown, hosts: [{ extId: unknown }] }],
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createVirtualSwitch': {
    path: '/config/virtual-switches',
    body: ofUnknownCluster,
    broken: { isDefault: true },
  },
  'networking.updateVirtualSwitchById': {
    path: async (app) => (await made(app, switches, switchBody('ordered', []))).slice('/networking/v4.3'.length),
    body: ofUnknownCluster,
    broken: { igmpSpec: { querierSpec: { isQuerierEnabled: true } } },
  },
}

const aSwitch = (app: TestApp): Promise<string> => made(app, switches, switchBody('killed'))

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-virtual-switch': emptyingHosts,
  'networking.update-virtual-switch': async (app) =>
    changing(app, await aSwitch(app), { mtu: 9000, ...onHosts(demoHosts.slice(1), ['eth5']) }),
  'networking.delete-virtual-switch': async (app) => deleting(await aSwitch(app)),
}

const plain = () => switchBody(named(), [])

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createVirtualSwitch': [creating(switches, plain)],
  'networking.updateVirtualSwitchById': [updating(switches, plain)],
}

export const walkEntities: Readonly<Record<string, readonly string[]>> = {
  [switches]: ['virtual-switch/vs0', 'virtual-switch/vs1'],
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVirtualSwitch: (asking) =>
    walk.post(
      switches,
      switchBody(walk.name(asking, 'switch'), asking.draw.of([[], ['eth4'], ['eth5'], ['eth4', 'eth5']]), {
        isQuickMode: asking.draw.isOneIn(2),
      }),
    ),
  updateVirtualSwitch: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, switches), {
      bondMode: asking.draw.of(['ACTIVE_BACKUP', 'BALANCE_SLB']),
      isQuickMode: asking.draw.isOneIn(2),
    }),
  deleteVirtualSwitch: walk.removing(switches),
}

/** The demo's bridges that no virtual switch has. */
const freeBridges = ['a', 'b', 'c', 'd'].map((letter) => `${hostId(`hp-n01-${letter}`)}/br2`)

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.bridge': async ({ all }) =>
    new Set([
      ...freeBridges,
      ...(await all(VirtualSwitch)).flatMap(({ clusters }) =>
        clusters.flatMap(({ hosts }: any) => hosts.map((host: any) => `${host.extId}/${host.internalBridgeName}`)),
      ),
    ]),
}
