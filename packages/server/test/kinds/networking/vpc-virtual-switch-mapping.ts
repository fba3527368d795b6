/** Requests by which suites that cover every kind reach mappings of VPC traffic to switches. */
import { VpcVirtualSwitchMapping } from '@hyperplane/contract/networking/vpc-virtual-switch-mapping'
import { seedId } from '../../../src/core/ids/named-id.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { type Creation, type FactOwner, type FieldBase, nativeCluster, type RestartScenario } from '../kind.ts'

const path = '/networking/v4.3/config/vpc-virtual-switch-mappings'
const toSwitch = (name: string, more: object = {}): object[] => [
  { virtualSwitchUuid: seedId(`virtual-switch/${name}`), ...more },
]

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createVpcVirtualSwitchMapping': { path, body: () => toSwitch('vs1') },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createVpcVirtualSwitchMapping': [
    async () => ({ path, body: toSwitch('vs1', { clusterUuids: [nativeCluster], isAllTrafficPermitted: true }) }),
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.map-vpc-switches': async (app) => {
    await app.task(await app.call('POST', path, { body: toSwitch('vs0', { isAllTrafficPermitted: true }) }))
    return { method: 'POST', path, body: toSwitch('vs1') }
  },
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.overlay-transport': async ({ all }) =>
    new Set((await all(VpcVirtualSwitchMapping)).map(({ clusterExtId }) => clusterExtId)),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  mapVpcTraffic: ({ draw }) =>
    walk.post(path, toSwitch(draw.of(['vs0', 'vs1']), { isAllTrafficPermitted: draw.isOneIn(2) })),
}
