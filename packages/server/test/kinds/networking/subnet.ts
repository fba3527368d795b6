/** Requests by which suites that cover every kind reach subnets. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { completed, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { address, creating, named, updating } from '../../support/field-bases.ts'
import type { TestApp } from '../../support/start-app.ts'
import { ipConfigOf, subnets } from '../../support/subnets.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

let networkId = 2000
export const vlanSubnet = () => ({
  name: named(),
  subnetType: 'VLAN',
  networkId: ++networkId,
  clusterReference: nativeCluster,
  ipConfig: ipConfigOf({ ipv4: '10.77.0.0/16', pools: [['10.77.0.100', '10.77.0.120']] }),
})
const externalSubnet = () => ({
  ...vlanSubnet(),
  isExternal: true,
  isNatEnabled: false,
  ipConfig: ipConfigOf({ ipv4: `172.20.${++networkId % 250}.0/24` }),
})
const sixSubnet = () => ({
  ...vlanSubnet(),
  ipConfig: ipConfigOf({ ipv4: '10.77.0.0/16', ipv6: 'fd00::/64', pools6: [['fd00::100', 'fd00::120']] }),
})
const relayedSubnet = () => ({
  name: named(),
  subnetType: 'VLAN',
  networkId: ++networkId,
  isAdvancedNetworking: true,
  ipConfig: ipConfigOf({ ipv4: '10.77.0.0/16' }),
  externalDhcpServers: [{ externalDhcpServerIpAddress: address('10.77.0.5') }],
})
const overlaySubnet = () => ({
  name: named(),
  subnetType: 'OVERLAY',
  vpcReference: seedId('vpc/prod'),
  ipConfig: ipConfigOf({ ipv4: `10.${60 + (++networkId % 180)}.7.0/24` }),
})

/** A VLAN with a pool, so that NICs have addresses. */
const pooled = (name: string): object => ({
  name,
  subnetType: 'VLAN',
  networkId: 3050,
  clusterReference: nativeCluster,
  ipConfig: ipConfigOf({ ipv4: '10.50.0.0/24', pools: [['10.50.0.10', '10.50.0.20']] }),
})
/** @returns its id */
export const aPooledSubnet = (app: TestApp): Promise<string> =>
  completed(app, 'POST', subnets, { body: pooled('pooled') })

const vlan = { name: 'by-order', subnetType: 'VLAN', networkId: 77, virtualSwitchReference: unknown }

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createSubnet': {
    path: '/networking/v4.3/config/subnets',
    isRandom: true,
    body: (name) => ({
      name,
      subnetType: 'VLAN',
      networkId: 3100 + Math.floor(Math.random() * 900),
      clusterReference: nativeCluster,
    }),
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createSubnet': { path: '/config/subnets', body: vlan, broken: { networkId: 5000 } },
  'networking.updateSubnetById': {
    path: `/config/subnets/${seedId('subnet/vlan-100-app')}`,
    body: vlan,
    broken: { networkId: 5000 },
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createSubnet': [vlanSubnet, overlaySubnet, externalSubnet, sixSubnet, relayedSubnet].map((body) =>
    creating(subnets, body),
  ),
  'networking.updateSubnetById': [vlanSubnet, overlaySubnet, externalSubnet, sixSubnet, relayedSubnet].map((body) =>
    updating(subnets, body),
  ),
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  '* dhcpServerAddress': [{ value: '10.77.0.2' }, { value: 'fd00::2' }],
  '* startIp': [{ value: '10.77.0.90' }, { value: 'fd00::90' }],
  '* endIp': [{ value: '10.77.0.130' }, { value: 'fd00::130' }],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-subnet': async () => ({
    method: 'POST',
    path: subnets,
    body: {
      name: 'killed',
      subnetType: 'VLAN',
      networkId: 3050,
      clusterReference: nativeCluster,
      ipConfig: ipConfigOf({ ipv4: '10.50.0.0/24', pools: [['10.50.0.10', '10.50.0.20']] }),
    },
  }),
  'networking.delete-subnet': async (app) => ({ method: 'DELETE', path: `${subnets}/${await aPooledSubnet(app)}` }),
  'networking.update-subnet': async (app) => {
    const path = `${subnets}/${await aPooledSubnet(app)}`
    const { data } = await app.call('GET', path)
    return tagged(app, 'PUT', path, {
      ...data,
      ipConfig: ipConfigOf({ ipv4: '10.50.0.0/24', pools: [['10.50.0.30', '10.50.0.40']] }),
    })
  },
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.dhcp': ({ ids }) => ids('Subnet'),
  'fabric.subnet': ({ ids }) => ids('Subnet'),
}

const walkersSubnet = (asking: walk.Asking): object => {
  const { model, draw } = asking
  const overlay = { subnetType: 'OVERLAY', vpcReference: model.extId(draw, walk.collections.vpcs) }
  const network = draw.below(8)
  return {
    name: walk.name(asking, 'subnet'),
    ...(draw.isOneIn(4)
      ? overlay
      : { subnetType: 'VLAN', networkId: 3000 + draw.below(200), clusterReference: walk.nativeCluster }),
    // Few addresses, so that they run out.
    ipConfig: ipConfigOf({
      ipv4: `10.9${network}.0.0/24`,
      pools: [[`10.9${network}.0.10`, `10.9${network}.0.1${draw.of([3, 9])}`]],
    }),
  }
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createSubnet: (asking) => walk.post(walk.collections.subnets, walkersSubnet(asking)),
  renameSubnet: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, walk.collections.subnets), { name: walk.name(asking, 'subnet') }),
  deleteSubnet: walk.removing(walk.collections.subnets),
}

export const walkEntities = { [walk.collections.subnets]: ['subnet/vlan-100-app', 'subnet/web'] }
