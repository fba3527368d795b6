/** The fabric holds the health of the targets. Source: behaviour networking.md 1.14, 1.22. */

import { FloatingIp } from '@hyperplane/contract/networking/floating-ip'
import {
  LoadBalancerSession,
  loadBalancerSessionOperations,
} from '@hyperplane/contract/networking/load-balancer-session'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { textOf } from '../../core/ip-address.ts'
import type { BalancerTarget, BalancerView } from '../../drivers/load-balancing.ts'
import type { Reader } from '../../store/store.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { notAssociated } from '../addressing/floating-ips.ts'
import { leasesOf, textOfLease } from '../addressing/leases.ts'
import { dropLostTargets } from '../addressing/lost-targets.ts'
import {
  affected,
  type Broken,
  bodyRules,
  implement,
  mayRefer,
  type ReadContext,
  type WriteContext,
} from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'
import { limit } from '../limits.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import { refuseDuringCreationOrDeletion } from './busy.ts'
import { followTargets } from './follow-targets.ts'
import { invalidField } from './ip-config.ts'
import { lifecycle, refuseBeyond } from './lifecycle.ts'
import { type BalancerBody, type BalancerEntity, onlyPort, sessionFaults } from './load-balancer-rules.ts'
import { balancedTargets, balancerOf, checkOf, maximumTargets, resolvedTargets } from './load-balancer-targets.ts'
import { floatingIpsOfSession, refuseSharedListener, releaseVirtualIps, virtualIpFor } from './virtual-ip.ts'

/** Source: behaviour networking.md 3.5. */
const maximumSessions = limit('loadBalancerSessionsOfVpc', 100)
const maximumOfSession = limit('targetsOfLoadBalancerSession', maximumTargets)

const sessions = lifecycle<BalancerEntity, BalancerBody, SubnetEntity>(LoadBalancerSession, {
  phases: [
    {
      create: ['install balancer', 70, [0.3, 1.4]],
      update: ['configure balancer', 70, [0.3, 1.4]],
      delete: ['remove balancer', 100, [0.5, 2]],
      program: async (ctx, session) => ctx.drivers.networkFabric.programBalancer(await balancerOf(ctx.store, session)),
      async remove({ drivers, store }, { extId }) {
        for (const floatingIp of await floatingIpsOfSession(store, extId))
          await drivers.networkFabric.removeFloatingIp(floatingIp.extId)
        await drivers.networkFabric.removeBalancer(extId)
      },
    },
    {
      create: ['start health checks', 100, [0.2, 0.6]],
      update: ['configure health checks', 100, [0.2, 0.6]],
      program: (ctx, session) => ctx.drivers.networkFabric.checkTargets(session.extId, checkOf(session)),
    },
  ],
  resolve: subnetFor,
  async configure(ctx, { references: subnet, entity, stored }) {
    if (stored === undefined) {
      const others = await ctx.store.count(LoadBalancerSession, {
        refersTo: { kind: Vpc.kind, extId: entity.vpcReference },
      })
      refuseBeyond(ctx, maximumSessions, `Load balancer sessions of VPC ${entity.vpcReference}`, others + 1)
    }
    const listener = { ...entity.listener, virtualIP: await virtualIpFor(ctx, subnet, entity, stored) }
    const session = { ...entity, listener, targetsConfig: storedTargets(entity) }
    await refuseSharedListener(ctx, session)
    const found = balancedTargets(await resolvedTargets(ctx.store, session), Number.POSITIVE_INFINITY).length
    refuseBeyond(ctx, maximumOfSession, `Targets of the load balancer session ${entity.name}`, found)
    return {
      listener,
      targetsConfig: session.targetsConfig,
      ...(stored === undefined && { createdAt: ctx.clock.iso() }),
    }
  },
  async task({ store }, { vpcReference, listener }) {
    const vpc = await store.get(Vpc, vpcReference)
    const subnet = await store.get(Subnet, listener.virtualIP.subnetReference)
    return {
      affected: [affected(Vpc, vpc!), affected(Subnet, subnet!)],
    }
  },
  unique: {
    fields: ['vpcReference', 'name'],
    among: (ctx, { vpcReference }) => ctx.store.findWhere(LoadBalancerSession, { vpcReference }),
    text: () => 'name in the VPC',
  },
  async settle(ctx, session) {
    await releaseVirtualIps(ctx.store, session, session.listener)
    await dropLostTargets(ctx.store, session)
  },
  async release(ctx, session) {
    await releaseVirtualIps(ctx.store, session)
    for (const { extId } of await floatingIpsOfSession(ctx.store, session.extId))
      await ctx.store.update(FloatingIp, extId, notAssociated)
  },
})

export const loadBalancerSession = implement(
  loadBalancerSessionOperations,
  {
    createLoadBalancerSession: sessions.create,
    updateLoadBalancerSessionById: sessions.update,
    deleteLoadBalancerSessionById: sessions.remove,
  },
  {
    rules: bodyRules('createLoadBalancerSession, updateLoadBalancerSessionById', sessionFaults),
    tasks: sessions.tasks,
    present: [[LoadBalancerSession, presentSessions]],
    schedules: [followTargets],
    limits: [maximumSessions, maximumOfSession],
    invariants: [{ promise: 'The virtual IP of every load balancer is leased, and its targets are there', look }],
  },
)

/** @throws ApiError 400 for a VPC or a subnet of another sort, 404 for a NIC that the caller cannot see, 409 for a busy VPC */
async function subnetFor(
  ctx: WriteContext,
  body: BalancerBody,
  stored: BalancerEntity | undefined,
): Promise<SubnetEntity> {
  const vpc = (await ctx.store.get(Vpc, body.vpcReference))!
  const subnet = (await ctx.store.get(Subnet, body.listener.virtualIP.subnetReference))!
  refuseDuringCreationOrDeletion('VPC', vpc)
  refuseAll([
    ...(vpc.vpcType === 'REGULAR'
      ? []
      : [invalidField('vpcReference', `expected a REGULAR VPC, found a ${vpc.vpcType} one`)]),
    ...(subnet.vpcReference === vpc.extId
      ? []
      : [invalidField('listener/virtualIP/subnetReference', `expected an overlay subnet of the VPC ${vpc.name}`)]),
  ])
  await refuseForeignNics(ctx, body, stored)
  return subnet
}

/** @throws ApiError 404 for NICs that the caller cannot see, 400 for NICs outside the VPC */
async function refuseForeignNics(
  ctx: WriteContext,
  { name, targetsConfig, vpcReference }: BalancerBody,
  stored: BalancerEntity | undefined,
): Promise<void> {
  const storedNics = new Set(stored?.targetsConfig.nicTargets?.map((target) => target.virtualNicReference))
  const [missing, foreign]: [ApiError[], ApiError[]] = [[], []]
  for (const [index, { virtualNicReference: nicExtId }] of (targetsConfig.nicTargets ?? []).entries()) {
    // A client that sends the session back may not see all its targets.
    if (storedNics.has(nicExtId)) continue
    const attributePath = `targetsConfig/nicTargets[${index}]/virtualNicReference`
    const nic = await ctx.store.findOne(MacLease, { nicExtId })
    const isVisible = nic !== undefined && (await mayRefer(ctx, Vm, await ctx.store.get(Vm, nic.vmExtId)))
    const subnet = isVisible ? await ctx.store.get(Subnet, nic.subnetExtId ?? '') : undefined
    const values = { kind: LoadBalancerSession.title, name, referencedKind: 'NIC', referencedExtId: nicExtId }
    if (!isVisible)
      missing.push(
        new ApiError(
          'NETWORKING_REFERENCE_NOT_FOUND',
          { verb: ctx.operation.verb, ...values },
          { extra: { attributePath } },
        ),
      )
    else if (subnet?.vpcReference !== vpcReference)
      foreign.push(invalidField(attributePath, 'expected a NIC in the VPC'))
  }
  refuseAll(missing)
  refuseAll(foreign)
}

function storedTargets({ targetsConfig, listener }: BalancerEntity): BalancerEntity['targetsConfig'] {
  const nicTargets = targetsConfig.nicTargets?.map((target) => ({
    ...target,
    port: target.port ?? onlyPort(listener)!,
  }))
  return { ...targetsConfig, ...(nicTargets && { nicTargets }) }
}

async function presentSessions(ctx: ReadContext, shown: readonly BalancerEntity[]): Promise<readonly BalancerEntity[]> {
  return Promise.all(shown.map(async (session) => ({ ...session, targetsConfig: await shownTargets(ctx, session) })))
}

async function shownTargets(ctx: ReadContext, session: BalancerEntity): Promise<BalancerEntity['targetsConfig']> {
  const { nicTargets, categoryTargets } = session.targetsConfig
  const { ofNics, ofCategories } = await resolvedTargets(ctx.store, session)
  const view = await ctx.drivers.networkFabric.balancer(session.extId)
  return {
    ...(nicTargets && { nicTargets: ofNics.map((target) => shownTarget(target, view)) }),
    ...(categoryTargets && {
      categoryTargets: categoryTargets.map((target, index) => ({
        ...target,
        nics: ofCategories[index]!.map((nic) => shownTarget(nic, view)),
      })),
    }),
  }
}

/** A target that the balancer does not have yet is UNHEALTHY. */
function shownTarget({ nicExtId, vmExtId, port }: BalancerTarget, view: BalancerView | undefined) {
  const isHealthy = view?.targets.find((each) => each.nicExtId === nicExtId && each.port === port)?.isHealthy === true
  const health = isHealthy ? ('HEALTHY' as const) : ('UNHEALTHY' as const)
  return { virtualNicReference: nicExtId, vmReference: vmExtId, port, health }
}

async function* look(store: Reader): AsyncGenerator<Broken> {
  for await (const session of rowsOf(store, LoadBalancerSession)) {
    const { extId, name, listener, targetsConfig, vpcReference } = session
    const address = textOf(listener.virtualIP.ipAddress)
    const sharing = (await store.findWhere(LoadBalancerSession, { vpcReference })).filter(
      (other) => textOf(other.listener.virtualIP.ipAddress) === address,
    )
    const leases = (await Promise.all(sharing.map((other) => leasesOf(store, other.extId)))).flat()
    const isLeased = leases.some(
      (lease) => lease.subnetExtId === listener.virtualIP.subnetReference && textOfLease(lease) === address,
    )
    if (!isLeased) yield { about: [extId], fault: `the virtual IP ${address} of "${name}" is not leased` }
    for (const { virtualNicReference: nicExtId } of targetsConfig.nicTargets ?? [])
      if ((await store.findOne(MacLease, { nicExtId })) === undefined)
        yield { about: [extId, nicExtId], fault: `the target ${nicExtId} of "${name}" is not there` }
  }
}
