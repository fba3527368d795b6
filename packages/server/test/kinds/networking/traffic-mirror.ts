/** Requests by which suites that cover every kind reach traffic mirrors. */
import { changing, deleting } from '../../restart/asked.ts'
import type { TestApp } from '../../support/start-app.ts'
import { aWatchedVm, mirrorBody, mirrors } from '../../support/traffic-mirrors.ts'
import { made } from '../../support/vpcs.ts'
import { type FactOwner, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const ofUnknown = (more: object = {}): object => mirrorBody('by-order', unknown, unknown.replace('a', 'b'), more)

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createTrafficMirror': {
    path: '/config/traffic-mirrors',
    body: ofUnknown(),
    broken: { destinationList: [{ nicType: 'VIRTUAL_NIC', nicUuid: unknown }] },
  },
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
