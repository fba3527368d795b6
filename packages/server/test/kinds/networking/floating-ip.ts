/** Requests by which suites that cover every kind reach floating IPs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { createdPath, creating, named, once, updating } from '../../support/field-bases.ts'
import { balancerBody, balancers } from '../../support/load-balancers.ts'
import type { TestApp } from '../../support/start-app.ts'
import { ipConfigOf, subnets } from '../../support/subnets.ts'
import { floatingIps, ip, made, removed } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const externalSubnetReference = seedId('subnet/ext-nat')
const toPrivate = (address: string): object => ({
  $objectType: 'networking.v4.config.PrivateIpAssociation',
  privateIp: ip(address),
  vpcReference: seedId('vpc/prod'),
})
const demoOfWeb01 = `${floatingIps}/${seedId('floating-ip/web-1')}`
const aFloatingIp = (app: TestApp): Promise<string> =>
  made(app, floatingIps, { name: 'killed', externalSubnetReference, association: toPrivate('172.16.0.1') })

export const creations: Readonly<Record<string, Creation>> = {
  // Suites create more of them than `ext-nat` has addresses.
  'networking.createFloatingIp': {
    path: floatingIps,
    body: (name) => ({ name, externalSubnetReference: seedId('subnet/transit-ext') }),
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createFloatingIp': {
    path: '/config/floating-ips',
    body: { name: 'by-order', externalSubnetReference: unknown },
    broken: { floatingIp: ip('127.0.0.1') },
  },
  'networking.updateFloatingIpById': {
    path: async (app) => (await aFloatingIp(app)).slice('/networking/v4.3'.length),
    body: { name: 'by-order', externalSubnetReference, association: undefined, vpcReference: unknown },
    broken: { association: toPrivate('127.0.0.1') },
  },
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'networking.updateFloatingIpById floatingIp/ipv4/value': ['100.64.0.250'],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-floating-ip': async () => ({
    method: 'POST',
    path: floatingIps,
    body: { name: 'killed', externalSubnetReference, association: toPrivate('172.16.0.1') },
  }),
  'networking.delete-floating-ip': async (app) => deleting(await aFloatingIp(app)),
  'networking.update-floating-ip': async (app) =>
    changing(app, await aFloatingIp(app), { association: toPrivate('172.16.0.2') }),
}

let host = 200
let guest = 0
const onNat = { externalSubnetReference }
const floating = (more: object) => ({ name: named(), externalSubnetReference: seedId('subnet/transit-ext'), ...more })
const toTenant = () => ({
  $objectType: 'networking.v4.config.PrivateIpAssociation',
  privateIp: ip(`172.16.${++guest}.9`),
  vpcReference: seedId('vpc/tenant-a'),
})
async function toSession(app: TestApp) {
  const path = await made(app, balancers, balancerBody(named()))
  const { extId, listener, vpcReference } = (await app.call('GET', path)).data
  const privateIp = { ipv4: listener.virtualIP.ipAddress.ipv4 }
  const $objectType = 'networking.v4.config.LoadBalancerSessionAssociation'
  return { $objectType, loadBalancerSessionReference: extId, privateIp, vpcReference }
}
async function toNic(app: TestApp, vm: string) {
  const [{ extId, networkInfo }] = (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${seedId(`vm/${vm}`)}`)).data.nics
  const privateIp = { ipv4: networkInfo.ipv4Config.ipAddress }
  return { $objectType: 'networking.v4.config.VmNicAssociation', vmNicReference: extId, privateIp }
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createFloatingIp': [
    creating(floatingIps, () => floating({ association: toTenant() })),
    creating(floatingIps, () => floating({ floatingIp: ip(`100.64.0.${++host}`) })),
    async (app) => {
      await once(app, 'web-01 without its floating IP', async () => {
        await removed(app, demoOfWeb01)
        return demoOfWeb01
      })
      return { path: floatingIps, body: floating({ ...onNat, association: await toNic(app, 'web-01') }) }
    },
    async (app) => ({ path: floatingIps, body: floating({ ...onNat, association: await toSession(app) }) }),
    async (app) => {
      const { loadBalancerSessionReference, vpcReference } = await toSession(app)
      return { path: floatingIps, body: floating({ ...onNat, loadBalancerSessionReference, vpcReference }) }
    },
    async (app) => {
      const { vmNicReference } = await toNic(app, 'web-02')
      return { path: floatingIps, body: floating({ ...onNat, vmNicReference, vpcReference: seedId('vpc/prod') }) }
    },
    async (app) => {
      const ipConfig = ipConfigOf({ ipv6: 'fd00:45::/64' })
      const vlan = { subnetType: 'VLAN', networkId: 345, clusterReference: nativeCluster }
      const outside = { name: named(), ...vlan, isExternal: true, ipConfig }
      const subnet = await once(app, 'outside of six', () => createdPath(app, subnets, outside))
      const floatingIp = { ipv6: { value: `fd00:45::${++host}`, prefixLength: 128 } }
      return { path: floatingIps, body: floating({ externalSubnetReference: subnet.slice(-36), floatingIp }) }
    },
  ],
  'networking.updateFloatingIpById': [
    updating(floatingIps, () => floating({ association: toTenant() })),
    async (app) => {
      const path = await once(app, 'floating IP of a NIC', () => createdPath(app, floatingIps, floating(onNat)))
      return { path, body: floating({ ...onNat, association: await toNic(app, 'db-01') }) }
    },
    async (app) => {
      const path = await once(app, 'floating IP of a balancer', () => createdPath(app, floatingIps, floating(onNat)))
      return { path, body: floating({ ...onNat, association: await toSession(app) }) }
    },
    async (app) => {
      const path = await once(app, 'the same in short', () => createdPath(app, floatingIps, floating(onNat)))
      const { loadBalancerSessionReference, vpcReference } = await toSession(app)
      return { path, body: floating({ ...onNat, loadBalancerSessionReference, vpcReference }) }
    },
    async (app) => {
      const path = await once(app, 'floating IP in short', () => createdPath(app, floatingIps, floating(onNat)))
      const { vmNicReference } = await toNic(app, 'floating-01')
      return { path, body: floating({ ...onNat, vmNicReference, vpcReference: seedId('vpc/prod') }) }
    },
  ],
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.floating-ip': ({ ids }) => ids('FloatingIp'),
}

export const walkEntities = { [floatingIps]: ['floating-ip/web-1', 'floating-ip/spare'] }

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createFloatingIp: (asking) =>
    walk.post(floatingIps, {
      name: walk.name(asking, 'floating'),
      externalSubnetReference: seedId(`subnet/${asking.draw.of(['ext-nat', 'transit-ext'])}`),
    }),
  associateFloatingIp: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, floatingIps), {
      association: toPrivate(`172.16.0.${1 + asking.draw.below(5)}`),
    }),
  deleteFloatingIp: walk.removing(floatingIps),
}
