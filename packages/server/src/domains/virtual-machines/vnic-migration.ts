/** Where networking and vmm meet: NICs migrate to other subnets. Source: behaviour networking.md 1.4. */

import { taskNamed } from '../context.ts'

export interface VnicMigration {
  readonly vmExtId: string
  readonly partExtId: string
  readonly body: {
    readonly subnetExtId: string
    /** IPv4. Default: the present address if the subnet has it free, else the lowest free one. */
    readonly address?: string
  }
}

/** A failure leaves the NIC as it was, and the VM with its entity tag. */
export const migrateVnic = taskNamed<VnicMigration>('vmm.migrate-vnic')
