/** The load balancer of the demo, after its VMs. Source: behaviour networking.md 4. */
import { LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../core/ids/named-id.ts'
import { parseAddress, writeAddress } from '../../core/ip-address.ts'
import { leaseAddress } from '../../domains/addressing/leases.ts'
import { balancerOf, checkOf } from '../../domains/networking/load-balancer-targets.ts'
import type { BalancerTarget } from '../../drivers/load-balancing.ts'
import { observed } from '../../drivers/simulated/balancer-health.ts'
import { balancerFacts } from '../../drivers/simulated/balancers.ts'
import type { SeedContext } from '../context.ts'

const daysHealthy = 8
/** Outside the pool of its subnet. */
const virtualIp = parseAddress('IPV4', '192.168.10.5')!

export async function seedDemo(ctx: SeedContext): Promise<void> {
  const extId = seedId('load-balancer-session/web-lb')
  const subnet = (await ctx.store.get(Subnet, seedId('subnet/web')))!
  await leaseAddress(ctx, subnet, { kind: 'VIRTUAL_IP', holder: extId, address: virtualIp })
  const machines = await ctx.store.getMany(Vm, [seedId('vm/web-01'), seedId('vm/web-02')])
  const session = {
    tenantId: ctx.tenantId,
    extId,
    name: 'web-lb',
    description: 'Spreads requests over the front ends',
    vpcReference: seedId('vpc/prod'),
    type: 'NETWORK_LOAD_BALANCER' as const,
    algorithm: 'FIVE_TUPLE_HASH' as const,
    listener: {
      protocol: 'TCP' as const,
      portRanges: [{ startPort: 443, endPort: 443 }],
      virtualIP: {
        assignmentType: 'STATIC' as const,
        ipAddress: writeAddress(virtualIp),
        subnetReference: subnet.extId,
      },
    },
    healthCheckConfig: { intervalSecs: 5, timeoutSecs: 2, successThreshold: 3, failureThreshold: 3 },
    targetsConfig: {
      nicTargets: machines.flatMap(({ nics = [] }) =>
        nics.map((nic) => ({ virtualNicReference: nic.extId!, port: 443 })),
      ),
    },
    metadata: { ownerReferenceId: ctx.adminId, ownerUserName: 'admin' },
    createdAt: ctx.ago(daysHealthy * 24 * 3600),
  }
  await ctx.store.insert(LoadBalancerSession, session)
  await balancerFacts(ctx.world).balancers.put(extId, {
    ...(await balancerOf(ctx.store, session)),
    check: checkOf(session),
  })
  await seedHealthy(ctx, extId)
}

/** As if the checks had begun days ago and the guests had answered ever since. */
export async function seedHealthy(ctx: SeedContext, sessionExtId: string): Promise<void> {
  const { balancers, health } = balancerFacts(ctx.world)
  const balancer = balancers.get(sessionExtId)!
  const since = ctx.clock.now() - daysHealthy * 24 * 3600 * 1000
  const guests = await ctx.drivers.hypervisor.observeGuests(balancer.targets.map(({ vmExtId }) => vmExtId))
  const upSince = ({ vmExtId }: BalancerTarget): number | undefined => guests.get(vmExtId)?.upSince
  await health.put(sessionExtId, observed({ targets: [] }, balancer, since, upSince))
}
