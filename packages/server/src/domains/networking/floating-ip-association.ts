/** Source: behaviour networking.md 1.8. */
import type { BodyOf, ValueOf } from '@hyperplane/contract'
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
import { type Family, textOf, type WireAddress, writeAddress, writeAsGiven } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import type { FloatingIpEntity } from '../addressing/floating-ips.ts'
import { addressOfLease, leasesOf } from '../addressing/leases.ts'
import { mayRefer, type WriteContext } from '../context.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import { refuseDuringCreationOrDeletion, refuseWhileChanging } from './busy.ts'
import type { VpcEntity } from './gateway-nodes.ts'
import { refusal } from './in-use.ts'
import { invalidField } from './ip-config.ts'
import type { BalancerEntity } from './load-balancer-rules.ts'

export type FloatingIpBody = BodyOf<typeof FloatingIp>

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

/** The NIC, load balancer session or VPC that a floating IP forwards to, before its private address is chosen. */
export interface Target {
  readonly association: Association
  readonly type: string
  readonly status: FloatingIpEntity['associationStatus']
  readonly reference: Pick<Association, 'loadBalancerSessionReference' | 'vmNicReference'>
  readonly vpcExtId: string | undefined
  readonly title: string
  /** The first is the default, if there is one. Absent: any address will do. */
  readonly addresses?: readonly (WireAddress | undefined)[]
  readonly session?: BalancerEntity
}

/** @throws ApiError 404 for a NIC or session that the caller cannot see, 400 for a target in another VPC than the named one */
export async function targetOf(
  ctx: WriteContext,
  { association, vpcReference }: Requested,
  { name, family }: { readonly name: string; readonly family: Family },
): Promise<Target | undefined> {
  if (association === undefined) return undefined
  const notFound = (kind: string, extId: string): ApiError => referenceNotFound(ctx.operation.verb, name, kind, extId)
  const target = await foundTarget(ctx, association, family, notFound)
  const { vpcExtId, addresses } = target
  if (vpcExtId !== undefined && addresses && !(await mayRefer(ctx, Vpc, await ctx.store.get(Vpc, vpcExtId))))
    throw notFound('VPC', vpcExtId)
  if (vpcReference !== undefined && vpcReference !== vpcExtId)
    throw invalidField('vpcReference', `expected ${vpcExtId ?? 'none'}, as in the association, found ${vpcReference}`)
  return target
}

async function foundTarget(
  ctx: WriteContext,
  association: Association,
  family: Family,
  notFound: (kind: string, extId: string) => ApiError,
): Promise<Target> {
  const { vmNicReference, loadBalancerSessionReference, vpcReference: vpcExtId } = association
  if (vmNicReference !== undefined && loadBalancerSessionReference !== undefined)
    throw invalidField('association', 'expected either a NIC or a load balancer session, found both')
  if (vmNicReference !== undefined) {
    const nic = await ctx.store.findOne(MacLease, { nicExtId: vmNicReference })
    const vm = nic && (await ctx.store.get(Vm, nic.vmExtId))
    if (!(await mayRefer(ctx, Vm, vm))) throw notFound('NIC', vmNicReference)
    const leases = (await leasesOf(ctx.store, vmNicReference)).filter((lease) => lease.family === family)
    const primary = leases.find(({ kind }) => kind === 'ASSIGNED')
    return {
      association,
      type: 'VmNic',
      status: 'ASSOCIATED_TO_VNIC',
      reference: { vmNicReference },
      vpcExtId: (await ctx.store.get(Subnet, nic?.subnetExtId ?? ''))?.vpcReference,
      title: `NIC ${vmNicReference}`,
      addresses: [primary, ...leases].map((lease) => lease && writeAddress(addressOfLease(lease))),
    }
  }
  if (loadBalancerSessionReference === undefined)
    return { association, type: 'PrivateIp', status: 'ASSOCIATED_TO_PRIVATE_IP', reference: {}, vpcExtId, title: '' }
  const session = (await ctx.store.get(LoadBalancerSession, loadBalancerSessionReference)) as BalancerEntity | undefined
  if (session === undefined) throw notFound('load balancer session', loadBalancerSessionReference)
  return {
    association,
    type: 'LoadBalancerSession',
    status: 'ASSOCIATED_TO_LOAD_BALANCER_SESSION',
    reference: { loadBalancerSessionReference },
    vpcExtId: session.vpcReference,
    title: `load balancer session ${session.name}`,
    addresses: [session.listener.virtualIP.ipAddress],
    session,
  }
}

/** @throws ApiError 409 for a VPC without the external subnet, or a target without the address; 400 for another family */
export async function associationWith(ctx: WriteContext, target: Target, external: SubnetEntity, family: Family) {
  const { association, type, status, reference, vpcExtId, title, addresses, session } = target
  if (vpcExtId === undefined) throw refusal(`The ${title} is not on an overlay subnet of a VPC.`)
  const vpc = (await ctx.store.get(Vpc, vpcExtId)) as VpcEntity
  refuseDuringCreationOrDeletion('VPC', vpc)
  if (!isAttached(vpc, external.extId))
    throw refusal(`The VPC ${vpc.name} is not attached to the external subnet ${external.name}. Attach it first.`)
  // Only a session that no task changes has one virtual IP for certain.
  if (session !== undefined) refuseWhileChanging('Load balancer session', session)
  const given = association.privateIp ?? addresses?.[0]
  const [privateIp, text] = [given && writeAsGiven(given), textOf(given)]
  if (addresses !== undefined && (text === undefined || !addresses.some((address) => textOf(address) === text))) {
    const own = [...new Set(addresses.flatMap((address) => textOf(address) ?? []))].join(', ')
    throw refusal(`The ${title} has ${own || 'no address'}${text ? `, not ${text}` : ` of the family ${family}`}.`)
  }
  if ((family === 'IPV4') !== (privateIp?.ipv4 !== undefined))
    throw invalidField('association/privateIp', `expected an address of the family ${family}, found ${text}`)
  const $objectType = `networking.v4.config.${type}Association`
  return {
    association: { $objectType, ...reference, privateIp, vpcReference: vpcExtId } as FloatingIpEntity['association'],
    associationStatus: status,
    privateIp: text,
    ...reference,
    vpcReference: vpcExtId,
  }
}

/** During an update a VPC is attached to its old and its new subnets. */
const isAttached = ({ externalSubnets = [], change }: VpcEntity, subnetExtId: string): boolean =>
  [externalSubnets, change?.externalSubnets ?? externalSubnets].every((attachments) =>
    attachments.some(({ subnetReference }) => subnetReference === subnetExtId),
  )
