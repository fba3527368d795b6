/** restoreVmRecoveryPoint: a new VM from a recovery point. Source: behaviour vmm.md 1.6 (restore). */
import type { ValueOf } from '@hyperplane/contract'
import type { RestoreVmRecoveryPointParams } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll, withMessages } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import type { Reader } from '../../../../store/store.ts'
import type { WriteContext } from '../../../context.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import type { NicEntity, VmBody, VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { virtualFunctionOf } from '../../../virtual-machines/virtual-functions.ts'
import { affectedVm, taskOf } from '../admission.ts'
import { makingVm, type NewVm } from '../create/create.ts'
import { deriveVm, nicLike, withPair } from '../create/derived-vm.ts'
import { type MissingReference, missingReferenceOf } from '../parts/nics.ts'
import { nameFaults } from '../rules.ts'
import { blueprintOfPoint, type Point, requirePoint } from './captured.ts'
import { requireNative } from './native.ts'
import { affectedPoint } from './new-point.ts'

type Body = ValueOf<typeof RestoreVmRecoveryPointParams>
type NicSpec = NonNullable<NonNullable<Body['vmConfigOverrideSpec']>['nicSpec']>
const nicSpecPath = 'vmConfigOverrideSpec/nicSpec'

type NicOverride = NonNullable<NicSpec['nicOverrideList']>[number]

interface Captured {
  readonly pointExtId: string
  readonly isStrict: boolean
  /** Subnets and NIC profiles of captured NICs that were deleted. */
  readonly missing: readonly Missing[]
}

interface Restore extends NewVm, Captured {
  readonly isWithoutTools?: boolean
}

export interface Missing extends MissingReference {
  readonly nicExtId: string
}

/** `shouldClearInGuestVolumeGroupAttachments` always holds: a new VM has no attachments in its guest. @throws ApiError 501 */
export function restoreFaults({ vmConfigOverrideSpec: spec = {} }: Body): ApiError[] {
  const statics = spec.nicSpec?.nicOverrideList?.flatMap(({ guestNicInfo }) => guestNicInfo?.guestStaticIpList ?? [])
  if (statics?.some(({ gatewayIpv4AddressList }) => gatewayIpv4AddressList !== undefined) === true)
    throw new ApiError('NOT_IMPLEMENTED', { operation: 'restoreVmRecoveryPoint with gatewayIpv4AddressList' })
  const missing = (spec.nicSpec?.nicOverrideList ?? []).flatMap(({ guestNicInfo }, index) =>
    (guestNicInfo?.guestStaticIpList ?? []).flatMap(({ ipv4Address }, at) =>
      ipv4Address === undefined ? [`nicOverrideList[${index}]/guestNicInfo/guestStaticIpList[${at}]/ipv4Address`] : [],
    ),
  )
  return [
    ...nameFaults(spec),
    ...missing.map((path) => fault(`vmConfigOverrideSpec/nicSpec/${path}`, 'an IPv4 address', undefined)),
  ]
}

export async function restorePoint(ctx: WriteContext<Point>, body: Body): Promise<TaskStarted> {
  const point = ctx.target
  await requireClusterReachable(ctx, point.clusterExtId)
  requireNative(point)
  const { nicSpec, name, description, categories, ownershipInfo } = body.vmConfigOverrideSpec ?? {}
  const blueprint = blueprintOfPoint(point)
  const { nics = [] } = blueprint.spec
  refuseAll(nicSpecFaults(nicSpec ?? {}, nics))
  const wanted = nicsWith(nicSpec ?? {}, nics)
  const { kept, missing } = await presentNics(ctx.store, wanted)
  const overrides: Partial<VmBody> = {
    name: name ?? (await freeName(ctx.store, blueprint.spec.name)),
    categories,
    source: { entityType: 'VM_RECOVERY_POINT', extId: point.extId },
    ...(description === undefined ? {} : { description }),
    ...(ownershipInfo === undefined ? {} : { ownershipInfo }),
    ...(nicSpec === undefined && missing.length === 0 ? {} : { nics: kept }),
  }
  const isStrict = body.isStrictMode !== false
  const toolsAddresses = toolsAddressesOf(nicSpec ?? {}, kept)
  const hasTools = blueprint.spec.guestTools?.isInstalled === true
  const indexes = kept.map(({ extId }) =>
    (nicSpec?.nicOverrideList ?? []).findIndex(({ nicExtId }) => nicExtId === extId),
  )
  return atOverrides(indexes, () =>
    deriveVm(ctx, blueprint, overrides, {
      task: restoreVm,
      ...(toolsAddresses.length === 0 ? {} : { internal: { toolsAddresses } }),
      input: { pointExtId: point.extId, isStrict, missing, isWithoutTools: toolsAddresses.length > 0 && !hasTools },
      options: (vm) => ({ ...taskOf('RestoreVmRecoveryPoint', vm), affected: [affectedPoint(point), affectedVm(vm)] }),
    }),
  )
}

/** Faults of a NIC of the new VM name the override that it follows. @param indexes of the overrides, by NIC; -1: none */
async function atOverrides<T>(indexes: readonly number[], work: () => Promise<T>): Promise<T> {
  const inBody = (text: string): string =>
    text.replace(/\bnics\[(\d+)\]/g, (path, index) => {
      const override = indexes[Number(index)] ?? -1
      return override < 0 ? path : `${nicSpecPath}/nicOverrideList[${override}]`
    })
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw withMessages(error, ({ message, argumentsMap, ...rest }) => ({
      ...rest,
      message: inBody(message),
      ...(argumentsMap === undefined
        ? {}
        : {
            argumentsMap: Object.fromEntries(Object.entries(argumentsMap).map(([name, text]) => [name, inBody(text)])),
          }),
    }))
  }
}

function nicSpecFaults({ nicOverrideList = [], nicRemoveList = [] }: NicSpec, nics: readonly NicEntity[]): ApiError[] {
  const faultsOf = (path: string, extId: string): ApiError[] =>
    nics.some((nic) => nic.extId === extId) ? [] : [fault(path, 'the id of a NIC of the recovery point', extId)]
  const sriov = new Set(nics.flatMap((nic) => (virtualFunctionOf(nic)?.type === 'SRIOV' ? nic.extId! : [])))
  const placed = nicOverrideList.flatMap(({ nicExtId, nicNetworkInfo }, index) =>
    nicNetworkInfo === undefined || !sriov.has(nicExtId)
      ? []
      : fault(`${nicSpecPath}/nicOverrideList[${index}]/nicNetworkInfo`, 'none for an SR-IOV NIC', nicNetworkInfo),
  )
  const named = [...nicOverrideList.map(({ nicExtId }) => nicExtId), ...nicRemoveList]
  const paths = [
    ...nicOverrideList.map((_, index) => `${nicSpecPath}/nicOverrideList[${index}]/nicExtId`),
    ...nicRemoveList.map((_, index) => `${nicSpecPath}/nicRemoveList[${index}]`),
  ]
  const misnamed = named.flatMap((extId, index) => {
    const path = paths[index] as string
    const first = named.indexOf(extId)
    return first === index ? faultsOf(path, extId) : [fault(path, `another NIC than ${paths[first]}`, extId)]
  })
  return [...misnamed, ...placed]
}

/** The captured NICs with new MAC addresses and addresses, except where an override names them. */
function nicsWith({ nicOverrideList = [], nicRemoveList = [] }: NicSpec, nics: readonly NicEntity[]): NicEntity[] {
  const overrides = new Map(nicOverrideList.map((override) => [override.nicExtId, override]))
  return nics
    .filter(({ extId }) => !nicRemoveList.includes(extId))
    .map((nic) => ({ ...overridden(nicLike(nic), overrides.get(nic.extId)), extId: nic.extId }))
}

function overridden(nic: NicEntity, override: NicOverride | undefined): NicEntity {
  const { macAddress } = override?.nicBackingInfo ?? {}
  const { subnet, ipv4Config } = override?.nicNetworkInfo ?? {}
  return withPair(nic, {
    ...nic,
    backingInfo: { ...nic.backingInfo, ...(macAddress === undefined ? {} : { macAddress }) },
    networkInfo: {
      ...nic.networkInfo,
      ...(subnet === undefined ? {} : { subnet }),
      ...(ipv4Config === undefined ? {} : { ipv4Config: { shouldAssignIp: true, ...ipv4Config } }),
    },
  } as NicEntity)
}

function toolsAddressesOf(
  { nicOverrideList = [] }: NicSpec,
  nics: readonly NicEntity[],
): NonNullable<VmEntity['toolsAddresses']> {
  return nicOverrideList.flatMap(({ nicExtId, guestNicInfo }) => {
    const nic = nics.findIndex(({ extId }) => extId === nicExtId)
    const addresses = (guestNicInfo?.guestStaticIpList ?? []).flatMap(({ ipv4Address }) => ipv4Address?.value ?? [])
    return nic < 0 || addresses.length === 0 ? [] : [{ nic, addresses }]
  })
}

/** `kept`: the NICs whose subnets and NIC profiles exist. */
export async function presentNics(
  store: Reader,
  nics: readonly NicEntity[],
): Promise<{ readonly kept: NicEntity[]; readonly missing: Missing[] }> {
  const missing: Missing[] = []
  for (const nic of nics) {
    const reference = await missingReferenceOf(store, nic)
    if (reference !== undefined) missing.push({ nicExtId: nic.extId, ...reference })
  }
  return { kept: nics.filter(({ extId }) => missing.every(({ nicExtId }) => nicExtId !== extId)), missing }
}

/** Doubles the number until a name is free, then halves the gap: one VM may have been restored thousands of times. */
async function freeName(store: Reader, name: string): Promise<string> {
  const nameWith = (number: number): string => {
    const ending = `_restored_${number}`
    return `${name.slice(0, 80 - ending.length)}${ending}`
  }
  const isTaken = async (number: number): Promise<boolean> =>
    (await store.findOne(Vm, { name: nameWith(number) })) !== undefined
  let taken = 0
  let free = 1
  while (await isTaken(free)) [taken, free] = [free, 2 * free]
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2)
    if (await isTaken(middle)) taken = middle
    else free = middle
  }
  return nameWith(free)
}

/** @throws ApiError 404 when the recovery point, or in strict mode a subnet or NIC profile of its VM, was deleted */
export async function requireCaptured(store: Reader, { isStrict, missing, pointExtId }: Captured): Promise<void> {
  await requirePoint(store, pointExtId)
  const faults = missing.map(
    ({ nicExtId, kind, id }) => new ApiError('VMM_ENTITY_NOT_FOUND', { kind, id, attribute: `vm/nics/${nicExtId}` }),
  )
  if (isStrict) refuseAll(faults)
}

export const restoreVm = makingVm<Restore>('vmm.restore-vm-recovery-point', {
  check: ({ store }, input) => requireCaptured(store, input),
  stored: async (ctx, { vmExtId, missing, isWithoutTools }) => {
    if (isWithoutTools === true)
      ctx.warn('The VM of the recovery point has no guest tools, which would set the static addresses of its guest.')
    for (const { nicExtId, kind, id } of missing)
      ctx.warn(`The NIC ${nicExtId} was left out: the service could not find the ${kind} ${id}.`)
    ctx.complete([{ name: 'vmExtIds', value: [vmExtId] }])
  },
})
