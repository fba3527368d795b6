/** Where a mirror is: all its NICs have to be on one host. Source: behaviour networking.md 1.16. */
import type { EntityOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { TrafficMirror } from '@hyperplane/contract/networking/traffic-mirror'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { requireSupport } from '../admission/cluster-capabilities.ts'
import { mayRefer, type WriteContext } from '../context.ts'
import type { VmEntity } from '../virtual-machines/entity.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import { inUse, refusal, shownUsers } from './in-use.ts'
import { invalidField } from './ip-config.ts'
import type { MirrorBody, MirrorEntity } from './traffic-mirror-rules.ts'

export interface MirrorPlace {
  readonly host: EntityOf<typeof Host>
  readonly clusterExtId: string
}

interface FoundPort {
  readonly path: string
  readonly nicUuid: string
  readonly isDestination: boolean
  /** Absent: the VM was deleted after the mirror was created. */
  readonly vm?: VmEntity
}

type MirrorPort = MirrorBody['destinationList'][number]

/** @throws ApiError 404 for NICs and hosts that the caller cannot see, 400, and 409 for NICs on several hosts */
export async function placeFor(
  ctx: WriteContext,
  body: MirrorBody,
  stored: MirrorEntity | undefined,
): Promise<MirrorPlace> {
  const ports = await portsOf(ctx, body, stored)
  refuseAll(
    ports.flatMap(({ isDestination, vm, nicUuid, path }) =>
      isDestination && vm !== undefined && typeOf(vm, nicUuid) !== 'SPAN_DESTINATION_NIC'
        ? [invalidField(`${path}/nicUuid`, 'expected a NIC of the type SPAN_DESTINATION_NIC')]
        : [],
    ),
  )
  const host = await hostFor(ctx, body, stored, ports)
  refuseUnfitHostNics(ctx, body, stored, host)
  const clusterExtId = host.cluster?.uuid ?? ''
  const [givenCluster = clusterExtId] = body.clusterReferenceList ?? []
  const carrier = await ctx.store.get(VirtualSwitch, body.virtualSwitchReference ?? '')
  refuseAll([
    ...(givenCluster === clusterExtId
      ? []
      : [invalidField('clusterReferenceList', `expected the cluster of the host, ${clusterExtId}`)]),
    ...(carrier === undefined || carrier.clusterExtId === clusterExtId
      ? []
      : [invalidField('virtualSwitchReference', 'expected a virtual switch of the cluster of the host')]),
  ])
  if (carrier !== undefined) await requireSupport(ctx.store, clusterExtId, 'SUPPORTS_PC_SPAN')
  if (!hasSamePlace(body, stored, host.extId)) refuseApart(ports, host, carrier !== undefined)
  return { host, clusterExtId }
}

const typeOf = (vm: VmEntity, nicExtId: string): string | undefined =>
  vm.nics?.find(({ extId }) => extId === nicExtId)?.networkInfo?.nicType

async function portsOf(
  ctx: WriteContext,
  { name, sourceList, destinationList }: MirrorBody,
  stored: MirrorEntity | undefined,
): Promise<readonly FoundPort[]> {
  const storedNics = nicsIn(stored)
  const requested = [
    ...sourceList.map((port, index) => ({ ...port, path: `sourceList[${index}]`, isDestination: false })),
    ...destinationList.map((port, index) => ({ ...port, path: `destinationList[${index}]`, isDestination: true })),
  ].filter(({ nicType }) => nicType === 'VIRTUAL_NIC')
  const faults: ApiError[] = []
  const found: FoundPort[] = []
  for (const port of requested) {
    const nic = await ctx.store.findOne(MacLease, { nicExtId: port.nicUuid })
    const vm = nic && ((await ctx.store.get(Vm, nic.vmExtId)) as VmEntity | undefined)
    // A client that sends the mirror back may not see all its NICs, and some may be gone.
    if (storedNics.has(port.nicUuid) || (await mayRefer(ctx, Vm, vm)))
      found.push(vm === undefined ? port : { ...port, vm })
    else faults.push(missing(ctx, name, 'NIC', port.nicUuid, `${port.path}/nicUuid`))
  }
  refuseAll(faults)
  return found
}

const nicsIn = (stored: MirrorEntity | undefined): ReadonlySet<string> =>
  new Set([...(stored?.sourceList ?? []), ...(stored?.destinationList ?? [])].map(({ nicUuid }) => nicUuid))

/** @throws ApiError 404 for a NIC that the host does not have, 409 for a destination that carries traffic of the host */
function refuseUnfitHostNics(
  ctx: WriteContext,
  { name, sourceList, destinationList }: MirrorBody,
  stored: MirrorEntity | undefined,
  { extId: hostExtId }: MirrorPlace['host'],
): void {
  const { networkFabric } = ctx.drivers
  const storedNics = stored?.hostExtId === hostExtId ? nicsIn(stored) : new Set()
  const faultsOf = (list: readonly MirrorPort[], field: 'destinationList' | 'sourceList'): readonly ApiError[] =>
    list.flatMap(({ nicType, nicUuid }, index) => {
      if (nicType !== 'HOST_NIC' || storedNics.has(nicUuid)) return []
      const nic = networkFabric.hostNics(hostExtId).find(({ extId }) => extId === nicUuid)
      if (nic === undefined) return [missing(ctx, name, 'Host NIC', nicUuid, `${field}[${index}]/nicUuid`)]
      const bridge = networkFabric.bridges(hostExtId).find(({ uplinks }) => uplinks.includes(nic.name))
      if (field === 'sourceList' || bridge === undefined) return []
      return [refusal(`The host NIC ${nicUuid} is an uplink of ${bridge.name}. Choose one that is in no bridge.`)]
    })
  refuseAll([...faultsOf(sourceList, 'sourceList'), ...faultsOf(destinationList, 'destinationList')])
}

async function hostFor(
  ctx: WriteContext,
  { name, hostReferenceList: [requested] = [] }: MirrorBody,
  stored: MirrorEntity | undefined,
  ports: readonly FoundPort[],
): Promise<MirrorPlace['host']> {
  const chosen = requested ?? ports.find(({ isDestination }) => !isDestination)?.vm?.host?.extId
  if (chosen === undefined)
    throw invalidField('hostReferenceList', 'is required while the VM of the first source is off or deleted')
  const host = await ctx.store.get(Host, chosen)
  const isVisible =
    host !== undefined && (chosen === stored?.hostExtId || requested === undefined || (await mayRefer(ctx, Host, host)))
  if (!isVisible) throw missing(ctx, name, 'Host', chosen, 'hostReferenceList[0]')
  return host
}

const missing = (ctx: WriteContext, name: string, kind: string, extId: string, attributePath: string): ApiError =>
  new ApiError(
    'NETWORKING_REFERENCE_NOT_FOUND',
    { verb: ctx.operation.verb, kind: TrafficMirror.title, name, referencedKind: kind, referencedExtId: extId },
    { extra: { attributePath } },
  )

/** VMs may have moved since, which must not prevent other changes. */
function hasSamePlace(body: MirrorBody, stored: MirrorEntity | undefined, hostExtId: string): boolean {
  const nicsOf = ({ sourceList, destinationList, virtualSwitchReference }: MirrorBody | MirrorEntity): string =>
    JSON.stringify([virtualSwitchReference, ...[...sourceList, ...destinationList].map(({ nicUuid }) => nicUuid)])
  return stored !== undefined && stored.hostExtId === hostExtId && nicsOf(stored) === nicsOf(body)
}

/** VMs that are off have no host yet. Stored NICs may be of VMs that the caller does not see. @throws ApiError 409 */
function refuseApart(ports: readonly FoundPort[], host: MirrorPlace['host'], isRemote: boolean): void {
  const apart = ports.flatMap(({ vm, isDestination, nicUuid }) =>
    vm?.host?.extId === undefined || vm.host.extId === host.extId || (isRemote && isDestination)
      ? []
      : [`the VM of the NIC ${nicUuid} is on ${vm.host.extId}`],
  )
  if (apart.length === 0) return
  throw new ApiError('MIRROR_PORTS_APART', { host: host.hostName ?? host.extId, apart: apart.join(' and ') })
}

/** Counts destinations that running updates of other mirrors will use. @throws ApiError 409 */
export async function refuseSharedDestinations(
  ctx: WriteContext,
  { destinationList }: MirrorEntity,
  others: readonly MirrorEntity[],
): Promise<void> {
  for (const { nicUuid } of destinationList) {
    const users = others.filter((other) =>
      [...other.destinationList, ...(other.change?.destinationList ?? [])].some((port) => port.nicUuid === nicUuid),
    )
    if (users.length === 0) continue
    const names = await shownUsers(
      ctx,
      users.map((entity) => ({ kind: TrafficMirror, entity })),
    )
    throw inUse('NIC', nicUuid, names)
  }
}
