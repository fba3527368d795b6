/** Requests by which suites that cover every kind reach NICs of subnets. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { nicOf } from '../../support/load-balancers.ts'
import { ip } from '../../support/vpcs.ts'
import { type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const moving = (nic: string): string => `/networking/v4.3/config/vnics/${nic}/$actions/migrate`

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.migrateVnicById': {
    path: async (app) => moving(await nicOf(app, 'web-01')).slice('/networking/v4.3'.length),
    body: { networkUuid: unknown },
    broken: { requestedIpAddresses: [ip('192.168.20.60'), ip('192.168.20.61')] },
  },
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.migrate-vnic': async (app) => ({
    method: 'POST',
    path: moving(await nicOf(app, 'web-01')),
    body: { networkUuid: seedId('subnet/db') },
  }),
}
