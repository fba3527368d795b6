/** Requests by which suites that cover every kind reach NICs of subnets. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { nicOf } from '../../support/load-balancers.ts'
import { aVm, type NativeCluster, nicOn } from '../../support/native-cluster.ts'
import { ip } from '../../support/vpcs.ts'
import { type FieldBase, nativeCluster, type OrderCase, type RestartScenario, unknown } from '../kind.ts'

const moving = (nic: string): string => `/networking/v4.3/config/vnics/${nic}/$actions/migrate`

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'networking.migrateVnicById': {
    path: async (app) => moving(await nicOf(app, 'web-01')).slice('/networking/v4.3'.length),
    body: { networkUuid: unknown },
    broken: { requestedIpAddresses: [ip('192.168.20.60'), ip('192.168.20.61')] },
  },
}

/** A NIC of a new VM, which moves to the subnet `web`. */
const aMove: FieldBase = async (app) => {
  const cluster = { extId: nativeCluster } as NativeCluster
  const { extId, nics } = await aVm(app, cluster, { name: 'moving', nics: [nicOn(seedId('subnet/vlan-100-app'))] })
  return {
    path: moving(nics[0].extId),
    readPath: `/vmm/v4.2/ahv/config/vms/${extId}`,
    body: { networkUuid: seedId('subnet/web') },
  }
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'networking.migrateVnicById': [
    aMove,
    async (app) => {
      const { body, ...base } = await aMove(app)
      return { ...base, body: { ...body, requestedIpAddresses: [ip('192.168.10.177')] } }
    },
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.migrate-vnic': async (app) => ({
    method: 'POST',
    path: moving(await nicOf(app, 'web-01')),
    body: { networkUuid: seedId('subnet/db') },
  }),
}
