/** The NICs that a VM has on another cluster. Source: behaviour vmm.md 1.1 (migrate), 3.5. */
import type { EntityOf } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { ApiError } from '../../../../core/api-error.ts'
import type { Reader } from '../../../../store/store.ts'
import { isManaged } from '../../../addressing/leases.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { vcpusOf } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { virtualFunctionOf } from '../../../virtual-machines/virtual-functions.ts'
import { requireRequestedFree } from '../parts/nic-addresses.ts'
import {
  canonicalMac,
  type EthernetNic,
  ethernetNicsOf,
  type NicBody,
  nicFaults,
  nicOf,
  subnetFaults,
  subnetOf,
} from '../parts/nics.ts'

type SubnetEntity = EntityOf<typeof Subnet>
type ClusterName = Pick<EntityOf<typeof Cluster>, 'extId' | 'name'>

export interface Clusters {
  readonly from: ClusterName
  readonly to: ClusterName
}

interface Route extends Clusters {
  readonly mayName: (subnet: SubnetEntity) => Promise<boolean>
}

export interface MovedNics {
  readonly nics: readonly EthernetNic[]
  readonly problems: readonly ApiError[]
  readonly warnings: readonly string[]
}

interface Findings {
  readonly problems: ApiError[]
  readonly warnings: string[]
}

export async function movedNics(
  store: Reader,
  vm: VmEntity,
  route: Route,
  overrides: readonly NicBody[] = [],
): Promise<MovedNics> {
  const found: Findings = { problems: [], warnings: [] }
  const own = ethernetNicsOf(vm)
  if (overrides.length > own.length)
    found.problems.push(
      fault('overrides/overrideNicList', `at most ${own.length} NICs, as the VM has`, overrides.length),
    )
  const nics: EthernetNic[] = []
  for (const [index, nic] of own.entries()) {
    const override = overrides[index]
    const at = override === undefined ? `nics[${index}]/` : `overrides/overrideNicList[${index}]/`
    if (override !== undefined) found.problems.push(...backingFaults(nic, override, at))
    nics.push(await movedNic(store, { vm, nic, override, at }, route, found))
  }
  return { nics, ...found }
}

/** The adapter stays: the guest would not notice another one while it runs. */
function backingFaults({ backingInfo }: EthernetNic, override: NicBody, at: string): ApiError[] {
  const { $objectType: _, ...given }: Record<string, unknown> = override.nicBackingInfo ?? override.backingInfo ?? {}
  const own: Readonly<Record<string, unknown>> = backingInfo
  return Object.entries(given).flatMap(([name, value]) => {
    const wanted = name === 'macAddress' ? canonicalMac(String(value)) : value
    const path = `${at}nicBackingInfo/${name}`
    return wanted === own[name] ? [] : [fault(path, `${JSON.stringify(own[name])}, as the NIC has`, value)]
  })
}

interface MovingNic {
  readonly vm: VmEntity
  readonly nic: EthernetNic
  readonly override: NicBody | undefined
  readonly at: string
}

async function movedNic(store: Reader, moving: MovingNic, route: Route, found: Findings): Promise<EthernetNic> {
  const { vm, nic, override, at } = moving
  const {
    $objectType: _,
    ipv4Info: _seen,
    ...given
  } = (override?.nicNetworkInfo ?? override?.networkInfo ?? {}) as {
    readonly $objectType?: string
    readonly ipv4Info?: unknown
  } & EthernetNic['networkInfo']
  const former = await subnetOf(store, nic)
  const subnet = await subnetOn(store, moving, given.subnet?.extId, route, found)
  const { ipv4Config, subnet: _former, ...network } = nic.networkInfo
  const unaddressed = nicOf(
    nic.extId,
    nic.backingInfo,
    { ...network, ...given, ...(subnet === undefined ? {} : { subnet: { extId: subnet.extId } }) },
    virtualFunctionOf(nic),
  )
  if (subnet === undefined) return unaddressed
  const isSame = subnet.extId === former?.extId
  const config = given.ipv4Config ?? (isSame ? ipv4Config : await kept(store, unaddressed, subnet, nic, found))
  const planned = nicOf(
    nic.extId,
    nic.backingInfo,
    { ...unaddressed.networkInfo, ...(config === undefined ? {} : { ipv4Config: config }) },
    virtualFunctionOf(nic),
  )
  found.problems.push(...nicFaults(planned, at, vcpusOf(vm)), ...subnetFaults(planned, subnet, at))
  if (given.ipv4Config !== undefined && isManaged(subnet))
    await requireRequestedFree(store, planned).catch((error) => found.problems.push(asProblem(error)))
  return planned
}

/** @throws the error if it is no refusal */
export function asProblem(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}

/** Named by the override, else the VLAN subnet of the same name; an overlay subnet is on every cluster. */
async function subnetOn(
  store: Reader,
  { nic, at }: MovingNic,
  givenExtId: string | undefined,
  { from, to, mayName }: Route,
  { problems }: Findings,
): Promise<SubnetEntity | undefined> {
  const former = await subnetOf(store, nic)
  const isOf = ({ clusterReference, subnetType }: SubnetEntity, { extId }: ClusterName): boolean =>
    subnetType !== 'VLAN' || clusterReference === undefined || clusterReference === extId
  if (givenExtId !== undefined) {
    const given = await store.get(Subnet, givenExtId)
    if (given !== undefined && isOf(given, to)) return given
    const path = `${at}nicNetworkInfo/subnet/extId`
    const text = given?.clusterReference === from.extId ? `the cluster "${from.name}"` : 'another cluster'
    const fault = `${path}: the subnet ${givenExtId} belongs to ${text}, not to the cluster "${to.name}".`
    problems.push(new ApiError('CONFLICT', { fault }))
    return undefined
  }
  if (former === undefined || isOf(former, to)) return former
  const named = await store.findWhere(Subnet, { clusterReference: to.extId, name: former.name })
  const same = named.find(({ subnetType, isExternal }) => subnetType === 'VLAN' && isExternal !== true)
  if (same === undefined || !(await mayName(same))) {
    const lacks = `${at}nicNetworkInfo/subnet: the cluster "${to.name}" has no VLAN subnet "${former.name}"`
    const fault = `${lacks}, which the NIC has on the cluster "${from.name}". Name another one in overrideNicList.`
    problems.push(new ApiError('CONFLICT', { fault }))
    return undefined
  }
  return same
}

/** The guest goes on using its address if the other subnet has the same one free. */
async function kept(
  store: Reader,
  moved: EthernetNic,
  subnet: SubnetEntity,
  { extId, networkInfo }: EthernetNic,
  { warnings }: Findings,
): Promise<EthernetNic['networkInfo']['ipv4Config']> {
  const { ipAddress, secondaryIpAddressList = [] } = networkInfo.ipv4Config ?? {}
  if (ipAddress === undefined && secondaryIpAddressList.length === 0) return undefined
  const lost = (addresses: readonly { readonly value: string }[]): void => {
    const texts = addresses.map(({ value }) => value).join(', ')
    if (texts !== '') warnings.push(`The NIC ${extId} cannot keep ${texts} on the subnet "${subnet.name}".`)
  }
  if (!isManaged(subnet)) {
    lost([...(ipAddress === undefined ? [] : [ipAddress]), ...secondaryIpAddressList])
    return undefined
  }
  lost(secondaryIpAddressList)
  if (ipAddress === undefined) return { shouldAssignIp: false }
  const config = { shouldAssignIp: true, ipAddress }
  const asking = nicOf(extId, moved.backingInfo, { ...moved.networkInfo, ipv4Config: config })
  try {
    await requireRequestedFree(store, asking)
    return config
  } catch (error) {
    asProblem(error)
    lost([ipAddress])
    return { shouldAssignIp: true }
  }
}
