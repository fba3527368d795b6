/** Source: behaviour networking.md 1.3 (FLOATING), 1.8, 1.22. */
import { FloatingIp, floatingIpOperations } from '@hyperplane/contract/networking/floating-ip'
import { LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { type ApiError, refuseAll } from '../../core/api-error.ts'
import {
  type Address,
  formatAddress,
  readAddress,
  textOf,
  type WireAddress,
  writeAddress,
  writeAsGiven,
} from '../../core/ip-address.ts'
import type { Reader } from '../../store/store.ts'
import { familyOf, planOf, type SubnetEntity } from '../addressing/address-plan.ts'
import { type FloatingIpEntity, floatingIpsInVpc, notAssociated } from '../addressing/floating-ips.ts'
import { leaseAddress, leasesOf, releaseHolder, textOfLease } from '../addressing/leases.ts'
import { type Broken, implement, type ReadContext, type StepContext, type WriteContext } from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'
import { limit } from '../limits.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import {
  associationTarget,
  associationWith,
  type FloatingIpBody,
  referenceNotFound,
  requestedBy,
  type Target,
} from './floating-ip-association.ts'
import { hostFaults, invalidField } from './ip-config.ts'
import { lifecycle, refuseBeyond } from './lifecycle.ts'

/** Per VPC. Source: behaviour networking.md 3.5. */
const maximumFloatingIps = limit('floatingIpsOfVpc', 2500)

interface FloatingIpReferences {
  readonly external: SubnetEntity
  readonly target: Target | undefined
}

const floatingIps = lifecycle<FloatingIpEntity, FloatingIpBody, FloatingIpReferences>(FloatingIp, {
  phases: [
    {
      create: ['program NAT', 80, [0.15, 0.5]],
      update: ['program NAT', 80, [0.15, 0.5]],
      delete: ['remove NAT', 100, [0.2, 0.7]],
      program: translate,
      remove: (ctx, { extId }) => ctx.drivers.networkFabric.removeFloatingIp(extId),
    },
    {
      create: ['send gratuitous ARP', 100, [0.05, 0.2]],
      update: ['send gratuitous ARP', 100, [0.05, 0.2]],
      program: async (ctx, { extId, vpcReference }) => {
        if (vpcReference !== undefined) await ctx.drivers.networkFabric.announceFloatingIp(extId)
      },
    },
  ],
  async resolve(ctx, body, stored) {
    const external = (await ctx.store.get(Subnet, body.externalSubnetReference)) as SubnetEntity
    const requested = requestedBy(body, stored)
    const hasNat = external.isNatEnabled === true && external.change?.isNatEnabled !== false
    const isExternal = external.isExternal === true && hasNat
    refuseAll([
      ...(isExternal ? [] : [invalidField('externalSubnetReference', 'expected an external subnet with NAT')]),
      ...requested.faults,
    ])
    await requireClusterReachable(ctx, external.clusterReference)
    return { external, target: await associationTarget(ctx, requested, body.name) }
  },
  async configure(ctx, { references: { external, target }, entity, stored }) {
    const given = (stored ?? entity).floatingIp
    const address = stored === undefined ? await leased(ctx, external, entity.extId, given) : addressIn(given)
    const associated = target && (await associationWith(ctx, target, external, address.family))
    const vpcReference = associated?.vpcReference
    if (vpcReference !== undefined && vpcReference !== stored?.vpcReference) {
      const others = await ctx.store.count(FloatingIp, { refersTo: { kind: Vpc.kind, extId: vpcReference } })
      refuseBeyond(ctx, maximumFloatingIps, `Floating IPs of VPC ${vpcReference}`, others + 1)
    }
    return {
      floatingIp: given === undefined ? writeAddress(address) : writeAsGiven(given),
      floatingIpValue: formatAddress(address),
      ...notAssociated,
      ...associated,
    }
  },
  async task({ store }, entity, before) {
    const nics = [entity.vmNicReference, before?.vmNicReference].flatMap((nic) => nic ?? [])
    const sessions = [entity.loadBalancerSessionReference, before?.loadBalancerSessionReference]
    const vpcReference = entity.vpcReference ?? before?.vpcReference
    const subnet = await store.get(Subnet, entity.externalSubnetReference)
    const vpc = vpcReference === undefined ? undefined : await store.get(Vpc, vpcReference)
    const [nic] = nics
    return {
      affected: [
        { extId: entity.externalSubnetReference, name: subnet!.name, rel: Subnet.rel },
        ...(nic === undefined ? [] : [{ extId: nic, rel: 'networking:config:vnic' }]),
        ...(nic !== undefined || vpc === undefined ? [] : [{ extId: vpc.extId, name: vpc.name, rel: Vpc.rel }]),
      ],
      // Deletions lock NICs and sessions, too. A lock of the VM would stop all its tasks while the controller is down.
      locks: [...nics, ...sessions.flatMap((session) => session ?? [])],
    }
  },
  held: ({ loadBalancerSessionReference, privateIp, vmNicReference, vpcReference }) => ({
    loadBalancerSessionReference,
    privateIp,
    vmNicReference,
    vpcReference,
  }),
  unique: {
    fields: ['vpcReference', 'privateIp'],
    among: (ctx, { vpcReference }) => floatingIpsInVpc(ctx.store, vpcReference!),
    text: ({ privateIp }) => `private address ${privateIp} in the VPC`,
  },
  release: async (ctx, { extId }) => void (await releaseHolder(ctx.store, extId)),
})

export const floatingIp = implement(
  floatingIpOperations,
  {
    createFloatingIp: floatingIps.create,
    updateFloatingIpById: floatingIps.update,
    deleteFloatingIpById: floatingIps.remove,
  },
  {
    rules: {
      createFloatingIp: ({ body }) => [...addressFaults(body), ...requestedBy(body).faults],
      updateFloatingIpById: ({ body }) => addressFaults(body),
    },
    tasks: floatingIps.tasks,
    present: [[FloatingIp, presentFloatingIps]],
    limits: [maximumFloatingIps],
    invariants: [{ promise: 'Every floating IP has its lease, and its NIC the private address', look: leasesAgree }],
  },
)

function addressFaults({ floatingIp, association }: FloatingIpBody): ApiError[] {
  const privateIp = association?.privateIp
  return [
    ...(floatingIp === undefined ? [] : hostFaults(floatingIp, 'floatingIp')),
    ...(privateIp === undefined ? [] : hostFaults(privateIp, 'association/privateIp')),
  ]
}

const addressIn = (given: WireAddress | undefined): Address => readAddress(given ?? {}) as Address

function leased(ctx: WriteContext, subnet: SubnetEntity, holder: string, given: WireAddress | undefined) {
  const family = familyOf(planOf(subnet.ipConfig))
  const terms = { kind: 'FLOATING', holder, family, attributePath: 'floatingIp' } as const
  return leaseAddress(ctx, subnet, given === undefined ? terms : { ...terms, address: addressIn(given) })
}

async function translate({ drivers, store }: StepContext, floatingIp: FloatingIpEntity): Promise<void> {
  const { extId, name, externalSubnetReference, floatingIpValue, privateIp, vmNicReference, vpcReference } = floatingIp
  if (vpcReference === undefined) return drivers.networkFabric.removeFloatingIp(extId)
  if (vmNicReference !== undefined && !(await hasAddress(store, vmNicReference, privateIp)))
    throw referenceNotFound('associate', name, 'NIC', vmNicReference)
  const session = floatingIp.loadBalancerSessionReference
  if (session !== undefined && !(await store.has(LoadBalancerSession, session)))
    throw referenceNotFound('associate', name, 'load balancer session', session)
  await drivers.networkFabric.programFloatingIp({
    extId,
    vpcExtId: vpcReference,
    externalSubnetExtId: externalSubnetReference,
    address: floatingIpValue as string,
    privateAddress: privateIp as string,
  })
}

const hasAddress = async (store: Reader, nicExtId: string, text: string | undefined): Promise<boolean> =>
  (await leasesOf(store, nicExtId)).some((lease) => textOfLease(lease) === text)

async function presentFloatingIps(
  _: ReadContext,
  floatingIps: readonly FloatingIpEntity[],
  { expand }: { readonly expand: ReadonlySet<string> },
): Promise<readonly FloatingIpEntity[]> {
  if (!expand.has('vmNic')) return floatingIps
  return floatingIps.map((each) =>
    each.vmNicReference === undefined ? each : { ...each, vmNicProjection: { privateIp: each.privateIp } },
  )
}

async function* leasesAgree(store: Reader): AsyncGenerator<Broken> {
  for await (const floatingIp of rowsOf(store, FloatingIp)) {
    const { extId, name, externalSubnetReference, floatingIpValue, privateIp } = floatingIp
    const leases = await leasesOf(store, extId)
    const held = leases.map((lease) => `${lease.kind} ${textOfLease(lease)} ${lease.subnetExtId}`).join()
    if (held !== `FLOATING ${floatingIpValue} ${externalSubnetReference}`)
      yield { about: [extId], fault: `the floating IP "${name}" holds the leases [${held}]` }
    if (!(await holderHasAddress(store, floatingIp)))
      yield {
        about: [extId],
        fault: `the floating IP "${name}" is associated with ${privateIp}, which its target lacks`,
      }
  }
}

/** True without a NIC and a session. */
async function holderHasAddress(store: Reader, floatingIp: FloatingIpEntity): Promise<boolean> {
  const { loadBalancerSessionReference: sessionExtId, privateIp, vmNicReference } = floatingIp
  if (vmNicReference !== undefined) return hasAddress(store, vmNicReference, privateIp)
  if (sessionExtId === undefined) return true
  return textOf((await store.get(LoadBalancerSession, sessionExtId))?.listener.virtualIP.ipAddress) === privateIp
}
