/** The NICs of network functions. Their faults surface in the task. Source: behaviour networking.md 1.15. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import { NetworkFunction } from '@hyperplane/contract/networking/network-function'
import { Nic } from '@hyperplane/contract/vmm/vm/parts/nic'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { maySee, type Reporting } from '../../core/access/may-see.ts'
import { ApiError } from '../../core/api-error.ts'
import type { FunctionPair, FunctionProgram } from '../../drivers/network-functions.ts'
import type { Reader } from '../../store/store.ts'
import { supports } from '../admission/cluster-capabilities.ts'
import type { NicEntity, VmEntity } from '../virtual-machines/entity.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import { invalidField } from './ip-config.ts'

export type FunctionEntity = EntityOf<typeof NetworkFunction>
export type FunctionBody = BodyOf<typeof NetworkFunction>
type Pair = FunctionEntity['nicPairs'][number]
type NicType = NonNullable<NonNullable<NicEntity['networkInfo']>['networkFunctionNicType']>

export function functionFaults(body: FunctionBody): readonly ApiError[] {
  const isInline = (body.trafficForwardingMode ?? 'INLINE') === 'INLINE'
  const inlineOnly = ['failureHandling', 'dataPlaneHealthCheckConfig'] as const
  const seen = new Set<string>()
  return [
    ...inlineOnly.flatMap((name) =>
      isInline || body[name] === undefined ? [] : [invalidField(name, 'expected none with trafficForwardingMode VTAP')],
    ),
    ...body.nicPairs.flatMap(({ ingressNicReference, egressNicReference }, index) => {
      const faults: ApiError[] = []
      const path = (name: string): string => `nicPairs[${index}]/${name}`
      if (isInline && egressNicReference === undefined)
        faults.push(invalidField(path('egressNicReference'), 'is required with trafficForwardingMode INLINE'))
      if (!isInline && egressNicReference !== undefined)
        faults.push(invalidField(path('egressNicReference'), 'expected none with trafficForwardingMode VTAP'))
      for (const [name, extId] of Object.entries({ ingressNicReference, egressNicReference })) {
        if (extId !== undefined && seen.has(extId)) faults.push(invalidField(path(name), 'expected each NIC once'))
        if (extId !== undefined) seen.add(extId)
      }
      return faults
    }),
  ]
}

export const nicIdsOf = ({ nicPairs }: Pick<FunctionEntity, 'nicPairs'>): readonly string[] =>
  nicPairs.flatMap(({ ingressNicReference, egressNicReference }) =>
    [ingressNicReference, egressNicReference ?? []].flat(),
  )

/** VM of the ingress NIC, whatever else is wrong with the pair. */
export async function vmOfPair(store: Reader, { ingressNicReference }: Pair): Promise<VmEntity | undefined> {
  const lease = await store.findOne(MacLease, { nicExtId: ingressNicReference })
  return lease === undefined ? undefined : store.get(Vm, lease.vmExtId)
}

interface Checking extends Reporting {
  readonly store: Reader
}

/** @throws ApiError for the first fault @param storedNics NICs that the function has already: the caller need not see them */
export async function requireFitNics(
  ctx: Checking,
  entity: FunctionEntity,
  verb: 'Create' | 'Update',
  storedNics: ReadonlySet<string>,
): Promise<void> {
  const refuse = (text: string): never => {
    throw new ApiError('NETWORK_FUNCTION_REFUSED', { verb, name: entity.name, fault: text })
  }
  const machines: string[] = []
  for (const pair of entity.nicPairs) {
    const vm = await vmOfPair(ctx.store, pair)
    const isSeen = storedNics.has(pair.ingressNicReference) || (await maySee(ctx, Vm, vm))
    if (vm === undefined || !isSeen) return refuse(`NIC ${pair.ingressNicReference} not found`)
    const isVtap = entity.trafficForwardingMode === 'VTAP'
    const unfit =
      nicFault(vm, pair.ingressNicReference, isVtap ? ['INGRESS', 'TAP'] : ['INGRESS']) ??
      (pair.egressNicReference === undefined ? undefined : nicFault(vm, pair.egressNicReference, ['EGRESS']))
    if (unfit !== undefined) refuse(unfit)
    if (pair.vmReference !== undefined && pair.vmReference !== vm.extId)
      refuse(`the NICs of the pair belong to VM ${vm.extId}, not to ${pair.vmReference}`)
    if (machines.includes(vm.extId)) refuse(`two pairs need two VMs, found ${vm.extId} in both`)
    machines.push(vm.extId)
    if (!(await supports(ctx.store, vm.cluster?.extId, 'SUPPORTS_NETWORK_FUNCTION')))
      refuse(`the cluster of VM ${vm.extId} does not support network functions`)
  }
  for (const nicExtId of nicIdsOf(entity)) {
    const users = await ctx.store.find(NetworkFunction, { refersTo: { kind: Nic.kind, extId: nicExtId } })
    // Tasks lock the NICs: a function that is still being created waits behind this one.
    const other = users.find(({ extId, change }) => extId !== entity.extId && change?.verb !== 'create')
    if (other !== undefined) refuse(`NIC ${nicExtId} belongs to another network function`)
  }
}

function nicFault({ extId: vmExtId, nics = [] }: VmEntity, nicExtId: string, types: readonly NicType[]) {
  const nic = nics.find(({ extId }) => extId === nicExtId)
  if (nic === undefined) return `NIC ${nicExtId} not found in VM ${vmExtId}`
  const { nicType, networkFunctionNicType: type } = nic.networkInfo ?? {}
  if (nicType === 'NETWORK_FUNCTION_NIC' && type !== undefined && types.includes(type)) return undefined
  return `NIC ${nicExtId} is not a NETWORK_FUNCTION_NIC of type ${types.join(' or ')}`
}

export async function functionProgramOf(store: Reader, entity: FunctionEntity): Promise<FunctionProgram> {
  const pairs = await Promise.all(
    entity.nicPairs.map(async (pair): Promise<FunctionPair> => {
      const { ingressNicReference: ingressNicExtId, egressNicReference: egressNicExtId, isEnabled = true } = pair
      const vmExtId = (await vmOfPair(store, pair))?.extId ?? ''
      return { vmExtId, ingressNicExtId, ...(egressNicExtId && { egressNicExtId }), isEnabled }
    }),
  )
  const mode = entity.trafficForwardingMode ?? 'INLINE'
  return { extId: entity.extId, mode, failsOpen: entity.failureHandling === 'FAIL_OPEN', pairs }
}
