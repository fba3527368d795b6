/** Requests by which suites that cover every kind reach VPCs. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import { attachedTo, aVpc, ip, prefix, vpcs } from '../../support/vpcs.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

export const creations: Readonly<Record<string, Creation>> = {
  'networking.createVpc': { path: '/networking/v4.3/config/vpcs', body: (name) => ({ name }) },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.createVpc': {
    path: '/config/vpcs',
    body: { name: 'by-order', externalSubnets: [{ subnetReference: unknown }] },
    broken: { kubernetesClusters: [{ extId: unknown }, { extId: unknown }] },
  },
  'networking.updateVpcById': {
    path: `/config/vpcs/${seedId('vpc/tenant-a')}`,
    body: { name: 'by-order', externalSubnets: [{ subnetReference: unknown }] },
    broken: { kubernetesClusters: [{ extId: unknown }, { extId: unknown }] },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.create-vpc': async () => ({
    method: 'POST',
    path: vpcs,
    body: {
      name: 'killed',
      externalSubnets: [attachedTo('ext-nat'), attachedTo('ext-routed')],
      externallyRoutablePrefixes: [prefix('192.168.99.0/24')],
      commonDhcpOptions: { domainNameServers: [ip('10.8.8.8')] },
    },
  }),
  'networking.delete-vpc': async (app) =>
    deleting(await aVpc(app, { externalSubnets: [attachedTo('ext-nat'), attachedTo('ext-routed')] })),
  // One attachment goes, one comes.
  'networking.update-vpc': async (app) =>
    changing(app, await aVpc(app, { externalSubnets: [attachedTo('ext-nat')] }), {
      externalSubnets: [attachedTo('ext-routed')],
      externallyRoutablePrefixes: [prefix('192.168.98.0/24')],
    }),
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.createVpc': [creating(vpcs, () => ({ name: named(), externalSubnets: [attachedTo('ext-nat')] }))],
  'networking.updateVpcById': [updating(vpcs, () => ({ name: named(), externalSubnets: [attachedTo('ext-nat')] }))],
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.router': ({ ids }) => ids('Vpc'),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createVpc: (asking) =>
    walk.post(walk.collections.vpcs, {
      name: walk.name(asking, 'vpc'),
      ...(asking.draw.isOneIn(2) ? { externalSubnets: [attachedTo(asking.draw.of(['ext-nat', 'ext-routed']))] } : {}),
    }),
  renameVpc: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, walk.collections.vpcs), { name: walk.name(asking, 'vpc') }),
  deleteVpc: walk.removing(walk.collections.vpcs),
}

export const walkEntities = { [walk.collections.vpcs]: ['vpc/prod'] }
