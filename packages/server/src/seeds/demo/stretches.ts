/** The layer-2 stretch of the demo, and its local VTEP gateway. Source: behaviour networking.md 4. */
import { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import { seedId } from '../../core/ids/named-id.ts'
import { pathAfter, stretchFacts } from '../../drivers/simulated/stretches.ts'
import { Acting, operationOf } from '../acting.ts'
import type { SeedContext } from '../context.ts'
import { seedOldAppliance } from './gateways.ts'
import { remoteId } from './remote-networks.ts'

const daysUp = 8
/** Outside the pools of both subnets. */
const interfaceAddress = { ipv4: { value: '192.168.10.4', prefixLength: 32 } }

export async function seedStretchesDemo(ctx: SeedContext): Promise<void> {
  const acting = new Acting(ctx)
  const drSite = seedId('manager/dr-site')
  await acting.perform(operationOf('networking.createGateway'), {
    called: 'gateway/vtep-prod',
    body: {
      name: 'vtep-prod',
      vpcReference: seedId('vpc/prod'),
      services: { $objectType: 'networking.v4.config.LocalNetworkServices', localVtepService: { vxlanPort: 4789 } },
    },
  })
  await seedOldAppliance(ctx, seedId('gateway/vtep-prod'))
  await acting.perform(operationOf('networking.createLayer2Stretch'), {
    called: 'layer2-stretch/web-stretch',
    body: {
      name: 'web-stretch',
      description: 'The front ends at both sites',
      connectionType: 'VXLAN',
      vni: 5000,
      localSiteParams: {
        stretchSubnetReference: seedId('subnet/web'),
        connectionReference: seedId('gateway/vtep-prod'),
        stretchInterfaceIpAddress: interfaceAddress,
      },
      remoteSiteParams: {
        pcClusterReference: drSite,
        stretchSubnetReference: remoteId(drSite, 'subnet', 'web-dr'),
        connectionReference: seedId('gateway/vtep-dr'),
      },
    },
  })
  await seedStretched(ctx, seedId('layer2-stretch/web-stretch'))
}

/** As if the stretch had been there for days. */
export async function seedStretched(ctx: SeedContext, stretchExtId: string): Promise<void> {
  const { stretches, paths } = stretchFacts(ctx.world)
  const bridgedAt = ctx.clock.now() - daysUp * 86_400_000
  const fact = { ...stretches.get(stretchExtId)!, bridgedAt }
  await stretches.put(stretchExtId, fact)
  const path = pathAfter(ctx.world, undefined, fact, bridgedAt)
  if (path !== undefined) await paths.put(stretchExtId, path)
  await ctx.store.observe(Layer2Stretch, stretchExtId, { createdAt: ctx.ago(daysUp * 24 * 3600) })
}
