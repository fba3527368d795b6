/** Source: behaviour networking.md 1.8. */
import type { BodyOf, EntityOf, ValueOf } from '@hyperplane/contract'
import type {
  FloatingIp,
  LoadBalancerSessionAssociation,
  PrivateIpAssociation,
  VmNicAssociation,
} from '@hyperplane/contract/networking/floating-ip'
import { LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../core/api-error.ts'
import { type Family, textOf, writeAddress, writeAsGiven } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import type { FloatingIpEntity } from '../addressing/floating-ips.ts'
import { addressOfLease, leasesOf, textOfLease } from '../addressing/leases.ts'
import { mayRefer, type WriteContext } from '../context.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import { refuseDuringCreationOrDeletion, refuseWhileChanging } from './busy.ts'
import type { VpcEntity } from './gateway-nodes.ts'
import { refusal } from './in-use.ts'
import { invalidField } from './ip-config.ts'
import type { BalancerEntity } from './load-balancer-rules.ts'

export type FloatingIpBody = BodyOf<typeof FloatingIp>
type MacLeaseEntity = EntityOf<typeof MacLease>

type Association = Partial<
  ValueOf<typeof VmNicAssociation> &
    ValueOf<typeof PrivateIpAssociation> &
    ValueOf<typeof LoadBalancerSessionAssociation>
>

const references = ['vmNicReference', 'loadBalancerSessionReference', 'vpcReference'] as const

interface Requested {
  readonly association?: Association | undefined
  readonly vpcReference?: string | undefined
  readonly faults: readonly ApiError[]
}

/** Clients send back the whole entity with one change, so a field that equals the stored one requests nothing. */
export function requestedBy(body: FloatingIpBody, stored?: FloatingIpEntity): Requested {
  const given = body.association as Association | undefined
  const renewed = references.filter((name) => body[name] !== undefined && body[name] !== stored?.[name])
  const vpcReference = renewed.includes('vpcReference') ? body.vpcReference : undefined
  const targets = renewed.filter((name) => name !== 'vpcReference')
  if (given !== undefined && !isSame(given, stored?.association as Association | undefined)) {
    const faults = targets
      .filter((name) => given[name] !== body[name])
      .map((name) =>
        invalidField(name, `expected ${given[name] ?? 'none'}, as in the association, found ${body[name]}`),
      )
    return { association: given, vpcReference, faults }
  }
  const [target, other] = targets
  if (other !== undefined) return { faults: [invalidField(target!, `expected it alone, found ${other} as well`)] }
  if (target !== undefined) return { association: { [target]: body[target] }, vpcReference, faults: [] }
  const isKept = [given, body.vmNicReference, body.loadBalancerSessionReference].some((value) => value !== undefined)
  if (isKept) return { association: stored?.association, vpcReference, faults: [] }
  const alone = 'expected beside a NIC or an association: a VPC alone has no private address'
  return { faults: vpcReference === undefined ? [] : [invalidField('vpcReference', alone)] }
}

const isSame = (a: Association, b: Association = {}): boolean =>
  textOf(a.privateIp) === textOf(b.privateIp) &&
  references.every((name) => a[name] === b[name] || (name === 'vpcReference' && a.vmNicReference !== undefined))

export const referenceNotFound = (verb: string, name: string, referencedKind: string, referencedExtId: string) =>
  new ApiError('NETWORKING_REFERENCE_NOT_FOUND', { verb, kind: 'floating IP', name, referencedKind, referencedExtId })

export interface Target {
  readonly association: Association
  readonly vpcExtId: string | undefined
  readonly nic?: MacLeaseEntity
  readonly session?: BalancerEntity
}

/** @throws ApiError 404 for a NIC or session that the caller cannot see, 400 for a NIC of another VPC than the named one */
export async function associationTarget(
  ctx: WriteContext,
  { association, vpcReference }: Requested,
  name: string,
): Promise<Target | undefined> {
  if (association === undefined) return undefined
  const { vmNicReference, loadBalancerSessionReference } = association
  const notFound = (referencedKind: string, referencedExtId: string): ApiError =>
    referenceNotFound(ctx.operation.verb, name, referencedKind, referencedExtId)
  if (vmNicReference !== undefined && loadBalancerSessionReference !== undefined)
    throw invalidField('association', 'expected either a NIC or a load balancer session, found both')
  const session =
    loadBalancerSessionReference && (await ctx.store.get(LoadBalancerSession, loadBalancerSessionReference))
  if (loadBalancerSessionReference !== undefined && !session)
    throw notFound('load balancer session', loadBalancerSessionReference)
  const nic = vmNicReference && (await visibleNic(ctx, vmNicReference))
  if (vmNicReference !== undefined && !nic) throw notFound('NIC', vmNicReference)
  const subnet = nic ? await ctx.store.get(Subnet, nic.subnetExtId ?? '') : undefined
  const vpcExtId = nic ? subnet?.vpcReference : session ? session.vpcReference : association.vpcReference
  if ((nic || session) && vpcExtId !== undefined && !(await mayRefer(ctx, Vpc, await ctx.store.get(Vpc, vpcExtId))))
    throw notFound('VPC', vpcExtId)
  if (vpcReference !== undefined && vpcReference !== vpcExtId) {
    throw invalidField('vpcReference', `expected ${vpcExtId ?? 'none'}, as in the association, found ${vpcReference}`)
  }
  return { association, vpcExtId, ...(nic && { nic }), ...(session && { session }) }
}

async function visibleNic(ctx: WriteContext, nicExtId: string): Promise<MacLeaseEntity | undefined> {
  const nic = await ctx.store.findOne(MacLease, { nicExtId })
  const vm = nic && (await ctx.store.get(Vm, nic.vmExtId))
  return (await mayRefer(ctx, Vm, vm)) ? nic : undefined
}

/** @throws ApiError 409 for a VPC without the external subnet, or a holder without the address; 400 for another family */
export async function associationWith(ctx: WriteContext, target: Target, external: SubnetEntity, family: Family) {
  const { association, vpcExtId, nic, session } = target
  if (vpcExtId === undefined)
    throw refusal(`The NIC ${association.vmNicReference} is not on an overlay subnet of a VPC.`)
  const vpc = (await ctx.store.get(Vpc, vpcExtId)) as VpcEntity
  refuseDuringCreationOrDeletion('VPC', vpc)
  if (!isAttached(vpc, external.extId)) {
    throw refusal(`The VPC ${vpc.name} is not attached to the external subnet ${external.name}. Attach it first.`)
  }
  const privateIp = await privateIpOf(ctx, target, family)
  const text = textOf(privateIp)
  if ((family === 'IPV4') !== (privateIp?.ipv4 !== undefined)) {
    throw invalidField(
      'association/privateIp',
      `expected an address of the family ${family}, as the floating IP has, found ${text}`,
    )
  }
  const [type, associationStatus, reference] = nic
    ? (['VmNicAssociation', 'ASSOCIATED_TO_VNIC', { vmNicReference: nic.nicExtId }] as const)
    : session
      ? ([
          'LoadBalancerSessionAssociation',
          'ASSOCIATED_TO_LOAD_BALANCER_SESSION',
          { loadBalancerSessionReference: session.extId },
        ] as const)
      : (['PrivateIpAssociation', 'ASSOCIATED_TO_PRIVATE_IP', {}] as const)
  return {
    association: {
      $objectType: `networking.v4.config.${type}`,
      ...reference,
      privateIp: privateIp!,
      vpcReference: vpcExtId,
    },
    associationStatus,
    privateIp: text,
    ...reference,
    vpcReference: vpcExtId,
  } as const
}

/** The requested address; default: the virtual IP of the session, or the primary address of the NIC. */
async function privateIpOf(ctx: WriteContext, { association, nic, session }: Target, family: Family) {
  const { privateIp, vmNicReference } = association
  const requested = privateIp && writeAsGiven(privateIp)
  if (session !== undefined) {
    // Only a session that no task changes has one virtual IP for certain.
    refuseWhileChanging('Load balancer session', session)
    const virtualIp = session.listener.virtualIP.ipAddress!
    if (requested === undefined || textOf(requested) === textOf(virtualIp)) return virtualIp
    throw refusal(`The load balancer session ${session.name} has the virtual IP ${textOf(virtualIp)}.`)
  }
  if (nic === undefined) return requested
  const own = (await leasesOf(ctx.store, nic.nicExtId)).filter((lease) => lease.family === family)
  const primary = own.find(({ kind }) => kind === 'ASSIGNED')
  const shown = requested ?? (primary && writeAddress(addressOfLease(primary)))
  if (own.some((lease) => textOfLease(lease) === textOf(shown))) return shown
  throw refusal(`The NIC ${vmNicReference} does not have the address ${textOf(shown) ?? `of the family ${family}`}.`)
}

/** During an update a VPC is attached to its old and its new subnets. */
const isAttached = ({ externalSubnets = [], change }: VpcEntity, subnetExtId: string): boolean =>
  [externalSubnets, change?.externalSubnets ?? externalSubnets].every((attachments) =>
    attachments.some(({ subnetReference }) => subnetReference === subnetExtId),
  )
