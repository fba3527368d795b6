/** Requests by which suites that cover every kind reach gateways. */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { domainFacts } from '../../../src/drivers/simulated/hypervisor/facts.ts'
import { changing, deleting } from '../../restart/asked.ts'
import { happen } from '../../support/events.ts'
import { named, once } from '../../support/field-bases.ts'
import { aNativeCluster, aSubnet } from '../../support/native-cluster.ts'
import type { TestApp } from '../../support/start-app.ts'
import { attachedTo, aVpc, ip, made, prefix } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  nativeCluster,
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

const remoteVpn = {
  ...type('Remote'),
  remoteVpnService: { serviceAddress: ip('203.0.113.7'), ebgpConfig: { asn: 65087 } },
}
const remoteVtep = { ...type('Remote'), remoteVtepService: { vteps: [{ address: ip('203.0.113.8') }] } }
const localVpn = { ...type('Local'), localVpnService: { ebgpConfig: { asn: 65088 } } }
const localBgp = { ...type('Local'), localBgpService: { asn: 65089 } }
const onVlan = { managementInterface: { vlanId: 13, address: ip('10.13.0.5'), defaultGateway: ip('10.13.0.1') } }
/** A pool of their own: the other kinds need that of the demo. */
const onPool = async (app: TestApp): Promise<object> => ({
  managementInterface: {
    subnetReference: await once(app, 'subnet of gateways', async () =>
      aSubnet(app, await aNativeCluster(app, { usableGiB: 4000 }), ['10.0.0.10', '10.0.0.199']),
    ),
  },
})
const ofServices: readonly ((app: TestApp) => Promise<object>)[] = [
  async () => remote(named()),
  async () => ({ name: named(), services: remoteVpn }),
  async () => ({ name: named(), services: remoteVtep }),
  async (app) => vtep(named(), { deployment: await onPool(app) }),
  async (app) => vtep(named(), { services: localVpn, deployment: await onPool(app) }),
  async () => vtep(named(), { deployment: { clusterReference: nativeCluster, ...onVlan } }),
]
const aBgp = async (app: TestApp): Promise<object> => {
  const vpcReference = (await aVpc(app, { externalSubnets: [attachedTo('ext-routed')] })).slice(-36)
  return { name: named(), vpcReference, services: localBgp }
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createGateway': [...ofServices, aBgp].map(
    (body): FieldBase =>
      async (app) => ({ path: gateways, body: await body(app) }),
  ),
  'networking.updateGatewayById': [...ofServices, aBgp, async () => vtep(named())].map(
    (body): FieldBase =>
      async (app) => ({ path: await made(app, gateways, await body(app)) }),
  ),
}

const asnOf = ({ asn }: { readonly asn: number }): readonly number[] => [asn]
const interiorValues = ['createGateway', 'updateGatewayById'].flatMap((operation) =>
  (
    [
      ['Local', asnOf(localVpn.localVpnService.ebgpConfig)],
      ['Remote', asnOf(remoteVpn.remoteVpnService.ebgpConfig)],
    ] as const
  ).flatMap(([side, asn]) => {
    const igp = `networking.${operation} services<${side}NetworkServices>/${side.toLowerCase()}VpnService/peerIgpConfig`
    return [
      [`${igp}/ibgpConfigList/asn`, asn],
      [`${igp}/localPrefixList`, [prefix('10.99.0.0/16')]],
      [`${igp}/ospfConfig/areaId`, ['0.0.0.1']],
    ] as const
  }),
)
const free = 'deployment/managementInterface/address'
export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  ...Object.fromEntries(interiorValues),
  [`networking.createGateway ${free}`]: [ip('10.0.0.192')],
  [`networking.updateGatewayById ${free}`]: [ip('10.0.0.193')],
}

const ownedByGateways: FactOwner = ({ ids }) => ids('Gateway')
export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.gateway': ownedByGateways,
  'fabric.gateway-agent': ownedByGateways,
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'networking.update-remote-gateway': 'its sessions were ended, and are established again',
  'networking.upgrade-gateway': 'the appliance was rebooted',
}
