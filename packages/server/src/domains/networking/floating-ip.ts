/** Source: behaviour networking.md 1.3 (FLOATING), 1.8, 1.22. */
import { FloatingIp, floatingIpOperations } from '@hyperplane/contract/networking/floating-ip'
import { LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { type ApiError, refuseAll } from '../../core/api-error.ts'
import {
  type Address,
  type Family,
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
import { affected, type Broken, implement, type StepContext } from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'
import { limit } from '../limits.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import {
  associationWith,
  type FloatingIpBody,
  referenceNotFound,
  requestedBy,
  type Target,
  targetOf,
} from './floating-ip-association.ts'
import { hostFaults, invalidField } from './ip-config.ts'
import { lifecycle, refuseBeyond } from './lifecycle.ts'

/** Per VPC. Source: behaviour networking.md 3.5. */
const maximumFloatingIps = limit('floatingIpsOfVpc', 2500)

interface References {
  readonly external: SubnetEntity
  readonly family: Family
  readonly target: Target | undefined
}

const floatingIps = lifecycle<FloatingIpEntity, FloatingIpBody, References>(FloatingIp, {
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
    const given = (stored ?? body).floatingIp
    const family = given === undefined ? familyOf(planOf(external.ipConfig)) : addressIn(given).family
    return { external, family, target: await targetOf(ctx, requested, { name: body.name, family }) }
  },
  async configure(ctx, { references: { external, family, target }, entity, stored }) {
    const given = (stored ?? entity).floatingIp
    const terms = { kind: 'FLOATING', holder: entity.extId, family, attributePath: 'floatingIp' } as const
    const wanted = given === undefined ? terms : { ...terms, address: addressIn(given) }
    const address = stored === undefined ? await leaseAddress(ctx, external, wanted) : addressIn(given)
    const associated = target && (await associationWith(ctx, target, external, family))
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
    const changed = [entity, ...(before ? [before] : [])]
    const nics = changed.flatMap(({ vmNicReference }) => vmNicReference ?? [])
    const sessions = changed.flatMap(({ loadBalancerSessionReference }) => loadBalancerSessionReference ?? [])
    const [nic] = nics
    const vpc = await store.get(Vpc, entity.vpcReference ?? before?.vpcReference ?? '')
    const inVpc = vpc === undefined ? [] : [affected(Vpc, vpc)]
    const others = nic === undefined ? inVpc : [{ extId: nic, rel: 'networking:config:vnic' }]
    const subnet = (await store.get(Subnet, entity.externalSubnetReference)) as SubnetEntity
    // Deletions lock NICs and sessions, too. A lock of the VM would stop all its tasks while the controller is down.
    return { affected: [affected(Subnet, subnet), ...others], locks: [...nics, ...sessions] }
  },
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
    present: [[FloatingIp, async (_, shown, { expand }) => (expand.has('vmNic') ? shown.map(withNic) : shown)]],
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

const withNic = (each: FloatingIpEntity): FloatingIpEntity & { readonly vmNicProjection?: object } =>
  each.vmNicReference === undefined ? each : { ...each, vmNicProjection: { privateIp: each.privateIp } }

async function translate({ drivers, store }: StepContext, floatingIp: FloatingIpEntity): Promise<void> {
  const { extId, name, externalSubnetReference, floatingIpValue, privateIp, vpcReference } = floatingIp
  if (vpcReference === undefined) return drivers.networkFabric.removeFloatingIp(extId)
  if (!(await targetHasAddress(store, floatingIp))) {
    const { vmNicReference: nic, loadBalancerSessionReference: session } = floatingIp
    throw referenceNotFound('associate', name, nic ? 'NIC' : 'load balancer session', (nic ?? session) as string)
  }
  await drivers.networkFabric.programFloatingIp({
    extId,
    vpcExtId: vpcReference,
    externalSubnetExtId: externalSubnetReference,
    address: floatingIpValue as string,
    privateAddress: privateIp as string,
  })
}

async function* leasesAgree(store: Reader): AsyncGenerator<Broken> {
  for await (const floatingIp of rowsOf(store, FloatingIp)) {
    const { extId, name, externalSubnetReference, floatingIpValue, privateIp } = floatingIp
    const broken = (fault: string): Broken => ({ about: [extId], fault: `the floating IP "${name}" ${fault}` })
    const leases = await leasesOf(store, extId)
    const held = leases.map((lease) => `${lease.kind} ${textOfLease(lease)} ${lease.subnetExtId}`).join()
    if (held !== `FLOATING ${floatingIpValue} ${externalSubnetReference}`) yield broken(`holds the leases [${held}]`)
    if (!(await targetHasAddress(store, floatingIp)))
      yield broken(`is associated with ${privateIp}, which its target lacks`)
  }
}

/** True without a NIC and a session. */
async function targetHasAddress(store: Reader, floatingIp: FloatingIpEntity): Promise<boolean> {
  const { loadBalancerSessionReference: sessionExtId, privateIp, vmNicReference } = floatingIp
  if (vmNicReference !== undefined)
    return (await leasesOf(store, vmNicReference)).some((lease) => textOfLease(lease) === privateIp)
  if (sessionExtId === undefined) return true
  return textOf((await store.get(LoadBalancerSession, sessionExtId))?.listener.virtualIP.ipAddress) === privateIp
}
