/** Requests by which suites that cover every kind reach virtual switches. */
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { hostId, ids } from '../../support/clustermgmt.ts'
import { createdPath, creating, named, once, updating } from '../../support/field-bases.ts'
import { aNativeCluster } from '../../support/native-cluster.ts'
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

const ofUnknownCategory = switchBody('by-order', [], { metadata: { categoryIds: [unknown] } })

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createVirtualSwitch': {
    path: '/config/virtual-switches',
    body: ofUnknownCategory,
    broken: { isDefault: true },
  },
  'networking.updateVirtualSwitchById': {
    path: async (app) => (await made(app, switches, switchBody('ordered', []))).slice('/networking/v4.3'.length),
    body: ofUnknownCategory,
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

/** On a cluster of its own: each switch takes NICs of its hosts. */
async function withUplinks(app: TestApp) {
  const cluster = await aNativeCluster(app)
  const hosts = cluster.hostExtIds.map((extId, index) => ({
    extId,
    hostNics: ['eth0', 'eth1'],
    ipAddress: { ip: { value: `10.9.0.${5 + index}`, prefixLength: 32 }, prefixLength: 24 },
  }))
  return switchBody(named(), [], { clusters: [{ extId: cluster.extId, hosts }] })
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createVirtualSwitch': [
    creating(switches, plain),
    async (app) => ({ path: switches, body: await withUplinks(app) }),
  ],
  'networking.updateVirtualSwitchById': [
    updating(switches, plain),
    async (app) => ({
      path: await once(app, 'switch with uplinks', async () => createdPath(app, switches, await withUplinks(app))),
    }),
  ],
}

const valuesOf = (operation: string, hostNics: readonly string[]): Readonly<Record<string, readonly unknown[]>> =>
  Object.fromEntries(
    Object.entries({
      'clusters/extId': [ids.native],
      'clusters/gatewayIpAddress': [{ value: '10.9.0.1', prefixLength: 32 }],
      'clusters/hosts/activeUplink': ['eth1'],
      'clusters/hosts/extId': [demoHosts[3]],
      'clusters/hosts/hostNics': hostNics,
      'clusters/hosts/ipAddress': [{ ip: { value: '10.9.0.9', prefixLength: 32 }, prefixLength: 24 }],
    }).map(([field, values]) => [`networking.${operation} ${field}`, values]),
  )

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  ...valuesOf('createVirtualSwitch', ['eth4']),
  ...valuesOf('updateVirtualSwitchById', ['eth5']),
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

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'networking.create-virtual-switch': 'the journal of power says that VMs moved and came back',
  'networking.update-virtual-switch': 'the switch says that its deployment failed',
}
