/** VLAN subnets from the basic to the advanced stack. Source: catalogue networking.json; behaviour networking.md 1.4, 2. */
import { action } from '../operation.ts'
import * as s from '../schema.ts'
import { mutationRate } from './roles.ts'
import { Subnet } from './subnet.ts'

export const VlanSubnetMigrationSpec = s.object('networking.v4.config.VlanSubnetMigrationSpec', {
  subnets: s.arrayOf(s.object('networking.v4.config.SubnetInfo', { subnetUuid: s.referenceTo('Subnet') }), {
    minItems: 1,
    maxItems: 255,
  }),
})

export const subnetMigrationOperations = {
  migrateSubnets: action('/config/$actions/migrate-subnets', {
    iam: 'Migrate_Subnet',
    of: Subnet,
    roles: ['Network Infra Admin', 'Platform Admin', 'Super Admin'],
    rateLimit: mutationRate,
    body: VlanSubnetMigrationSpec,
  }),
}
