/** Requests by which suites that cover every kind reach gateways. */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor.ts'
import { changing, deleting } from '../../restart/asked.ts'
import { happen } from '../../support/events.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import { aNativeCluster } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import { ip, made } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const gateways = '/networking/v4.3/config/gateways'
const type = (name: string) => ({ $objectType: `networking.v4.config.${name}NetworkServices` })
const remoteServices = { ...type('Remote'), remoteBgpService: { address: ip('10.44.4.77'), asn: 65077 } }
const remote = (name: string): object => ({ name, services: remoteServices })
const subnetReference = seedId('subnet/vlan-100-app')
/** A VTEP on a VLAN. */
export const vtep = (name: string, more: object = {}): object => ({
  name,
  services: { ...type('Local'), localVtepService: { vxlanPort: 4790 } },
  deployment: { managementInterface: { subnetReference } },
  ...more,
})

const aVtep = async (app: TestApp): Promise<string> => made(app, gateways, vtep(named()))
const aRemote = async (app: TestApp): Promise<string> => made(app, gateways, remote(named()))

const nextLook = {
  method: 'POST',
  path: '/control/v1/worlds/default/clock/$actions/advance',
  body: { duration: 'PT5S' },
} as const

/** On a cluster whose hosts carry nothing else. */
async function aVtepAlone(app: TestApp): Promise<string> {
  const { extId: clusterReference } = await aNativeCluster(app)
  const managementInterface = { vlanId: 12, address: ip('10.12.0.5'), defaultGateway: ip('10.12.0.1') }
  const path = await made(app, gateways, vtep('alone', { deployment: { clusterReference, managementInterface } }))
  return path.slice(-36)
}

/** The host on which the appliance of the gateway runs; default: that of `bgp-prod`. */
export async function hostOfAppliance(app: TestApp, extId = seedId('gateway/bgp-prod')): Promise<string> {
  const { vmReference } = (await app.store.get(Gateway, extId))!
  return domainFacts(app.world).get(vmReference!)!.hostExtId!
}

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createGateway': { path: gateways, body: remote },
}

const both = { ...type('Remote'), remoteBgpService: remoteServices.remoteBgpService, remoteVtepService: { vteps: [] } }
export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createGateway': {
    path: '/config/gateways',
    body: { ...remote('by-order'), metadata: { categoryIds: [unknown] } },
    broken: { services: both },
  },
  'networking.updateGatewayById': {
    path: `/config/gateways/${seedId('gateway/tor-a')}`,
    body: { ...remote('by-order'), metadata: { categoryIds: [unknown] } },
    broken: { services: both },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-gateway': async () => ({ method: 'POST', path: gateways, body: vtep('killed') }),
  'networking.update-gateway': async (app) => {
    const managementInterface = { subnetReference, address: ip('10.10.100.190') }
    return changing(app, await aVtep(app), { description: 'changed', deployment: { managementInterface } })
  },
  'networking.delete-gateway': async (app) => deleting(await aVtep(app)),
  'networking.upgrade-gateway': async () => ({
    method: 'POST',
    path: `${gateways}/${seedId('gateway/bgp-prod')}/$actions/upgrade`,
  }),
  // Its host has failed, or has begun maintenance: the next look of the schedule moves the appliance.
  'networking.recover-gateway': async (app) => {
    await happen(app, { type: 'HOST_FAILS', host: await hostOfAppliance(app, await aVtepAlone(app)) })
    return nextLook
  },
  'networking.migrate-gateway': async (app) => {
    const host = await hostOfAppliance(app, await aVtepAlone(app))
    await app.store.transaction((store) => store.update(Host, host, { maintenanceState: 'in_maintenance' }))
    return nextLook
  },
  'networking.create-remote-gateway': async () => ({ method: 'POST', path: gateways, body: remote('killed') }),
  // The peer of the session of the demo gets another address.
  'networking.update-remote-gateway': async (app) =>
    changing(app, `${gateways}/${seedId('gateway/tor-a')}`, { services: remoteServices }),
  'networking.delete-remote-gateway': async (app) => deleting(await aRemote(app)),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createGateway': [creating(gateways, () => remote(named())), creating(gateways, () => vtep(named()))],
  'networking.updateGatewayById': [updating(gateways, () => remote(named())), updating(gateways, () => vtep(named()))],
}

const ownedByGateways: FactOwner = ({ ids }) => ids('Gateway')
export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.gateway': ownedByGateways,
  'fabric.gateway-agent': ownedByGateways,
}
