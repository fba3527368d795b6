/** Floating IPs of the demo, after its VMs and gateways. Source: behaviour networking.md 4. */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../core/ids/named-id.ts'
import { Acting, operationOf } from '../acting.ts'
import type { SeedContext } from '../context.ts'

export async function seedFloatingIpsDemo(ctx: SeedContext): Promise<void> {
  const acting = new Acting(ctx)
  const create = (name: string, more: object) =>
    acting.perform(operationOf('networking.createFloatingIp'), {
      called: `floating-ip/${name}`,
      body: { name, externalSubnetReference: seedId('subnet/ext-nat'), ...more },
    })
  const [nic] = (await ctx.store.get(Vm, seedId('vm/web-01')))?.nics ?? []
  await create('web-1', { description: 'The first front end, from outside', vmNicReference: nic!.extId! })
  await create('spare', { description: 'For the next machine that needs an address outside' })
}
