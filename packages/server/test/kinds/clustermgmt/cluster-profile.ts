/** Requests by which suites that cover every kind reach cluster profiles. */
import type { TestApp } from '../../support/start-app.ts'
import { type Creation, type OrderCase, unknown } from '../kind.ts'

const profile = (action: string) => async (app: TestApp) =>
  `/config/cluster-profiles/${await firstOf(app, '/clustermgmt/v4.2/config/cluster-profiles')}/$actions/${action}`
async function firstOf(app: TestApp, list: string): Promise<string> {
  return (await app.call('GET', list)).data[0].extId
}

export const creations: Readonly<Record<string, Creation>> = {
  'clustermgmt.createClusterProfile': { path: '/clustermgmt/v4.2/config/cluster-profiles', body: (name) => ({ name }) },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'clustermgmt.applyClusterProfile': {
    path: profile('apply'),
    body: { clusters: [{ uuid: unknown }] },
    broken: { clusters: [{ uuid: unknown }, {}] },
  },
  'clustermgmt.disassociateClusterFromClusterProfile': {
    path: profile('disassociate-cluster'),
    body: { clusters: [{ uuid: unknown }] },
    broken: { clusters: [{ uuid: unknown }, {}] },
  },
}
