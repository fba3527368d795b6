/** Requests by which suites that cover every kind reach traffic mirrors. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { named, once } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { aWatchedVm, mirrorBody, mirrors } from '../../support/traffic-mirrors.ts'
import { made, removed } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const ofUnknown = (more: object = {}): object => mirrorBody('by-order', unknown, unknown.replace('a', 'b'), more)

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createTrafficMirror': {
    path: '/config/traffic-mirrors',
    body: ofUnknown(),
    broken: { destinationList: [{ nicType: 'VIRTUAL_NIC', nicUuid: unknown }] },
  },
  'networking.updateTrafficMirrorById': {
    path: `/config/traffic-mirrors/${seedId('traffic-mirror/db-mirror')}`,
    body: ofUnknown(),
    broken: { destinationList: [{ nicType: 'VIRTUAL_NIC', nicUuid: unknown }] },
  },
}

/** The demo has one destination. */
const demoBody = (name: string): object =>
  mirrorBody(name, seedId('nic/db-01/0'), seedId('nic/desktop-01/1'), {
    description: '',
    virtualSwitchReference: seedId('virtual-switch/vs0'),
  })
async function withoutOthers(app: TestApp): Promise<void> {
  for (const { extId } of (await app.call('GET', `${mirrors}?$limit=100`)).data ?? [])
    await removed(app, `${mirrors}/${extId}`)
}

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createTrafficMirror': { path: mirrors, body: demoBody, prepare: withoutOthers },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createTrafficMirror': [
    async (app) => {
      await withoutOthers(app)
      return { path: mirrors, body: demoBody(named()) }
    },
    async (app) => ({ path: mirrors, body: await placedBody(app, named()) }),
  ],
  'networking.updateTrafficMirrorById': [
    async (app) => ({
      path: await once(app, 'mirror', async () => {
        await withoutOthers(app)
        return made(app, mirrors, demoBody(named()))
      }),
    }),
    async (app) => ({
      path: await once(app, 'mirror that gets other NICs', async () =>
        made(app, mirrors, await placedBody(app, named())),
      ),
      body: await placedBody(app, named()),
    }),
  ],
}

/** Names everything that follows from the source. */
async function placedBody(app: TestApp, vmName: string): Promise<object> {
  const vm = await aWatchedVm(app, vmName)
  return mirrorBody(named(), vm.nics[0].extId, vm.nics[1].extId, {
    hostReferenceList: [vm.host.extId],
    clusterReferenceList: [vm.cluster.extId],
  })
}

const ofVm = async (app: TestApp, name: string): Promise<object> => {
  const vm = await aWatchedVm(app, name)
  return mirrorBody(name, vm.nics[0].extId, vm.nics[1].extId)
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-traffic-mirror': async (app) => ({
    method: 'POST',
    path: mirrors,
    body: await ofVm(app, 'killed'),
  }),
  'networking.delete-traffic-mirror': async (app) => deleting(await made(app, mirrors, await ofVm(app, 'killed'))),
  'networking.update-traffic-mirror': async (app) =>
    changing(app, await made(app, mirrors, await ofVm(app, 'killed')), { isEnabled: false }),
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.mirror': ({ ids }) => ids('TrafficMirror'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  changeMirror: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, mirrors), { isEnabled: asking.draw.of([true, false]) }),
  deleteMirror: walk.removing(mirrors),
}

export const walkEntities = { [mirrors]: ['traffic-mirror/db-mirror'] }
