/** Requests by which suites that cover every kind reach floating IPs. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { changing, deleting } from '../../restart/asked.ts'
import type { TestApp } from '../../support/start-app.ts'
import { floatingIps, ip, made } from '../../support/vpcs.ts'
import { type Creation, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const externalSubnetReference = seedId('subnet/ext-nat')
const toPrivate = (address: string): object => ({
  $objectType: 'networking.v4.config.PrivateIpAssociation',
  privateIp: ip(address),
  vpcReference: seedId('vpc/prod'),
})
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
