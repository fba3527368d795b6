/** Requests by which suites that cover every kind reach migrations of subnets. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../../src/core/ids/named-id.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { subnets } from '../../support/subnets.ts'
import { made } from '../../support/vpcs.ts'
import {
  type FactOwner,
  type FieldBase,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const path = '/networking/v4.3/config/$actions/migrate-subnets'
const naming = (...extIds: readonly string[]): object => ({ subnets: extIds.map((subnetUuid) => ({ subnetUuid })) })
const app100 = seedId('subnet/vlan-100-app')

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.migrateSubnets': {
    path: '/config/$actions/migrate-subnets',
    body: naming(unknown),
    broken: naming(app100, app100),
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.migrateSubnets': [
    async (app) => {
      const subnet = await made(app, subnets, {
        name: 'moving',
        subnetType: 'VLAN',
        networkId: 3950,
        clusterReference: nativeCluster,
      })
      return { path, readPath: subnet, body: naming(subnet.slice(-36)) }
    },
  ],
}

const asked = { method: 'POST', path, body: naming(app100, seedId('subnet/vlan-200-static')) }

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'networking.migrate-subnet': async () => asked,
  'networking.migrate-subnets': async () => asked,
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'fabric.port': async ({ all }) =>
    new Set((await all(Vm)).flatMap(({ nics = [] }) => nics.map(({ extId }: { readonly extId: string }) => extId))),
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  migrateSubnet: ({ draw, model }) => walk.post(path, naming(model.extId(draw, walk.collections.subnets))),
}

export const staysAfterUndo: Readonly<Record<string, string>> = {
  'networking.migrate-subnet': 'the subnet says that its migration failed',
  'networking.migrate-subnets': 'subnets that have moved stay on the advanced stack',
}
