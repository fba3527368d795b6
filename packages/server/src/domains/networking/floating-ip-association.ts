/** Source: behaviour networking.md 1.8. */
import type { BodyOf, EntityOf, ValueOf } from '@hyperplane/contract'
import type {
  FloatingIp,
  LoadBalancerSessionAssociation,
  PrivateIpAssociation,
  VmNicAssociation,
} from '@hyperplane/contract/networking/floating-ip'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../core/api-error.ts'
import { type Family, textOf, writeAddress, writeAsGiven } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import type { FloatingIpEntity } from '../addressing/floating-ips.ts'
import { addressOf, leasesOf, textOfLease } from '../addressing/leases.ts'
import { mayRefer, type WriteContext } from '../context.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import { refuseDuringCreationOrDeletion } from './busy.ts'
import type { VpcEntity } from './gateway-nodes.ts'
import { fault } from './ip-config.ts'

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
      .map((name) => fault(name, `expected ${given[name] ?? 'none'}, as in the association, found ${body[name]}`))
    return { association: given, vpcReference, faults }
  }
  const [target, other] = targets
  if (other !== undefined) return { faults: [fault(target!, `expected it alone, found ${other} as well`)] }
  if (target !== undefined) return { association: { [target]: body[target] }, vpcReference, faults: [] }
  const isKept = [given, body.vmNicReference, body.loadBalancerSessionReference].some((value) => value !== undefined)
  if (isKept) return { association: stored?.association, vpcReference, faults: [] }
  const alone = 'expected beside a NIC or an association: a VPC alone has no private address'
  return { faults: vpcReference === undefined ? [] : [fault('vpcReference', alone)] }
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
}

/** @throws ApiError 404 for a NIC or session that the caller cannot see, 400 for a NIC of another VPC than the named one */
export async function targetOf(
  ctx: WriteContext,
  { association, vpcReference }: Requested,
  name: string,
): Promise<Target | undefined> {
  if (association === undefined) return undefined
  const { vmNicReference, loadBalancerSessionReference } = association
  const notFound = (referencedKind: string, referencedExtId: string): ApiError =>
    referenceNotFound(ctx.operation.verb, name, referencedKind, referencedExtId)
  if (loadBalancerSessionReference !== undefined) throw notFound('load balancer session', loadBalancerSessionReference)
  const nic = vmNicReference && (await visibleNic(ctx, vmNicReference))
  if (vmNicReference !== undefined && !nic) throw notFound('NIC', vmNicReference)
  const subnet = nic ? await ctx.store.get(Subnet, nic.subnetExtId ?? '') : undefined
  const vpcExtId = nic ? subnet?.vpcReference : association.vpcReference
  if (nic && vpcExtId !== undefined && !(await mayRefer(ctx, Vpc, await ctx.store.get(Vpc, vpcExtId))))
    throw notFound('VPC', vpcExtId)
  if (vpcReference !== undefined && vpcReference !== vpcExtId) {
    throw fault('vpcReference', `expected ${vpcExtId ?? 'none'}, as in the association, found ${vpcReference}`)
  }
  return { association, vpcExtId, ...(nic && { nic }) }
}

async function visibleNic(ctx: WriteContext, nicExtId: string): Promise<MacLeaseEntity | undefined> {
  const nic = await ctx.store.findOne(MacLease, { nicExtId })
  const vm = nic && (await ctx.store.get(Vm, nic.vmExtId))
  return (await mayRefer(ctx, Vm, vm)) ? nic : undefined
}

/** @throws ApiError 409 for a VPC without the external subnet, or a NIC without the address; 400 for another family */
export async function associationWith(
  ctx: WriteContext,
  { association: { privateIp, vmNicReference }, vpcExtId, nic }: Target,
  external: SubnetEntity,
  family: Family,
) {
  const refuse = (text: string): ApiError => new ApiError('CONFLICT', { fault: text })
  if (vpcExtId === undefined) throw refuse(`The NIC ${vmNicReference} is not on an overlay subnet of a VPC.`)
  const vpc = (await ctx.store.get(Vpc, vpcExtId)) as VpcEntity
  refuseDuringCreationOrDeletion('VPC', vpc)
  if (!isAttached(vpc, external.extId)) {
    throw refuse(`The VPC ${vpc.name} is not attached to the external subnet ${external.name}. Attach it first.`)
  }
  const own =
    nic === undefined ? [] : (await leasesOf(ctx.store, nic.nicExtId)).filter((lease) => lease.family === family)
  const primary = own.find(({ kind }) => kind === 'ASSIGNED')
  const shown = privateIp === undefined ? primary && writeAddress(addressOf(primary)) : writeAsGiven(privateIp)
  const text = textOf(shown)
  if (nic !== undefined && !own.some((lease) => textOfLease(lease) === text)) {
    throw refuse(`The NIC ${vmNicReference} does not have the address ${text ?? `of the family ${family}`}.`)
  }
  if ((family === 'IPV4') !== (shown?.ipv4 !== undefined)) {
    throw fault(
      'association/privateIp',
      `expected an address of the family ${family}, as the floating IP has, found ${text}`,
    )
  }
  const type = vmNicReference === undefined ? 'PrivateIpAssociation' : 'VmNicAssociation'
  return {
    association: {
      $objectType: `networking.v4.config.${type}`,
      ...(vmNicReference !== undefined && { vmNicReference }),
      privateIp: shown!,
      vpcReference: vpcExtId,
    },
    associationStatus: vmNicReference === undefined ? 'ASSOCIATED_TO_PRIVATE_IP' : 'ASSOCIATED_TO_VNIC',
    privateIp: text,
    ...(vmNicReference !== undefined && { vmNicReference }),
    vpcReference: vpcExtId,
  } as const
}

/** During an update a VPC is attached to its old and its new subnets. */
const isAttached = ({ externalSubnets = [], change }: VpcEntity, subnetExtId: string): boolean =>
  [externalSubnets, change?.externalSubnets ?? externalSubnets].every((attachments) =>
    attachments.some(({ subnetReference }) => subnetReference === subnetExtId),
  )
