/** NICs of a VM, and the addresses that they hold. Source: behaviour vmm.md 1.4, 1.16, 6. */
import type { ValueOf } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { type AssignIpParams, type MigrateNicConfig, Nic, nicOperations } from '@hyperplane/contract/vmm/vm/parts/nic'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import { notFound } from '../../../../core/standard.ts'
import type { Step } from '../../../../core/tasks/define-task.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { Reader } from '../../../../store/store.ts'
import type { SubnetEntity } from '../../../addressing/address-plan.ts'
import { floatingIpsOf, stopTranslating } from '../../../addressing/floating-ips.ts'
import { isManaged, releaseHolder, requireSubnetAttachable } from '../../../addressing/leases.ts'
import { detachTargets } from '../../../addressing/lost-targets.ts'
import { implement } from '../../../context.ts'
import { overlaySwitchOf } from '../../../scheduling/overlay-switches.ts'
import { type NicEntity, type VmEntity, vcpusOf } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { MacLease } from '../../../virtual-machines/mac-lease.ts'
import { present } from '../admission.ts'
import { presentVms } from '../present.ts'
import { refuseUnbuiltNic } from '../unbuilt.ts'
import { nicIn, readdressing, requireAskedFree } from './nic-addresses.ts'
import {
  canonicalMac,
  type EthernetNic,
  macInUse,
  type NicBody,
  nicFaults,
  nicOf,
  pairsAreEqual,
  readNic,
  subnetFaults,
  subnetOf,
  takeAskedAddresses,
  takeFreeAddress,
  takeMac,
  withHeld,
} from './nics.ts'
import { changeOf, distinctAddresses, type PartChange, type PartKind, type PartTask, readsOf } from './part.ts'

type Network = EthernetNic['networkInfo']

const coldFields = {
  model: ({ backingInfo }: NicEntity) => backingInfo?.model,
  nicType: ({ networkInfo }: NicEntity) => networkInfo?.nicType,
  numQueues: ({ backingInfo }: NicEntity) => backingInfo?.numQueues,
}

const nics: PartKind<'nics'> = {
  resource: Nic,
  field: 'nics',
  maximum: 64,
  addresses: {
    path: 'nicBackingInfo/macAddress',
    of: (vm) =>
      (vm.nics ?? []).flatMap(({ backingInfo }) => backingInfo?.macAddress ?? []).map((mac) => `MAC address ${mac}`),
  },
  coldFields: (before, after) =>
    before === undefined || after === undefined
      ? []
      : Object.entries(coldFields).flatMap(([name, of]) => (of(before) === of(after) ? [] : name)),
}

/** The NIC that a request asks for. Its `ipv4Config` names every address that the NIC keeps. */
type Wish<B> = (body: B, before: EthernetNic, store: Reader) => Promise<EthernetNic>

const withNetwork = (nic: EthernetNic, network: Network): EthernetNic => nicOf(nic.extId, nic.backingInfo, network)

/** Without `ipv4Config` the NIC keeps its addresses, unless the subnet is another one. */
const updated: Wish<NicBody> = async (body, before) => {
  const nic = readNic(body, () => before.extId)
  const { macAddress } = before.backingInfo
  const given = nic.backingInfo.macAddress ?? macAddress
  if (given !== macAddress) {
    const pair = body.nicBackingInfo === undefined ? 'backingInfo' : 'nicBackingInfo'
    throw fault(`${pair}/macAddress`, `${macAddress}, because the MAC address of a NIC is immutable`, given)
  }
  const held = before.networkInfo.ipv4Config
  const { ipv4Config = held ?? { shouldAssignIp: false }, ...network } = nic.networkInfo
  const keepsPrimary = ipv4Config.shouldAssignIp !== false && ipv4Config.ipAddress === undefined
  const ipAddress = keepsPrimary ? held?.ipAddress : undefined
  const isSameSubnet = network.subnet?.extId === before.networkInfo.subnet?.extId
  const addressed = isSameSubnet
    ? { ...network, ipv4Config: { ...ipv4Config, ...(ipAddress && { ipAddress }) } }
    : nic.networkInfo
  return nicOf(before.extId, { ...nic.backingInfo, ...(macAddress && { macAddress }) }, addressed)
}

const assigned: Wish<ValueOf<typeof AssignIpParams>> = async ({ ipAddress }, before, store) => {
  await requireManaged(store, before)
  const { secondaryIpAddressList: secondary } = before.networkInfo.ipv4Config ?? {}
  return withNetwork(before, {
    ...before.networkInfo,
    ipv4Config: {
      shouldAssignIp: true,
      ...(ipAddress && { ipAddress }),
      ...(secondary && { secondaryIpAddressList: secondary }),
    },
  })
}

const released: Wish<undefined> = async (_, before) => {
  if (before.networkInfo.ipv4Config === undefined)
    throw new ApiError('CONFLICT', { fault: `The NIC ${before.extId} holds no address.` })
  return withNetwork(before, { ...before.networkInfo, ipv4Config: { shouldAssignIp: false } })
}

const migrated: Wish<ValueOf<typeof MigrateNicConfig>> = async ({ subnet, migrateType, ipAddress }, before, store) => {
  const ipv4Config = { shouldAssignIp: true, ...(ipAddress && { ipAddress }) }
  const nic = withNetwork(before, { ...before.networkInfo, subnet, ipv4Config })
  if (migrateType === 'ASSIGN_IP') await requireManaged(store, nic)
  return nic
}

async function requireManaged(store: Reader, nic: EthernetNic): Promise<void> {
  const subnet = await subnetOf(store, nic)
  if (subnet === undefined || !isManaged(subnet))
    throw fault('subnet/extId', 'a managed subnet, which assigns addresses', subnet?.name ?? 'a NIC without a subnet')
}

const planned =
  <B>(wish: Wish<B>) =>
  async ({ partExtId, body }: PartChange<B>, vm: VmEntity, store: Reader): Promise<EthernetNic> => {
    const before = nicIn(vm, partExtId)
    if (before === undefined) throw notFound(Nic, Nic.kind, partExtId, 'extId')
    return wish(body, before, store)
  }

/** The NIC with its own MAC address and the addresses that it holds. @throws ApiError when the VM cannot have the NIC */
async function checked(store: Reader, vm: VmEntity, nic: EthernetNic): Promise<EthernetNic> {
  const subnet = await subnetOf(store, nic)
  const subnetExtId = nic.networkInfo.subnet?.extId
  if (subnet === undefined && subnetExtId !== undefined)
    throw new ApiError('VMM_ENTITY_NOT_FOUND', { kind: 'subnet', id: subnetExtId, attribute: 'subnet/extId' })
  refuseAll([...nicFaults(nic, '', vcpusOf(vm)), ...(subnet === undefined ? [] : subnetFaults(nic, subnet, ''))])
  if (subnet !== undefined) await requireReach(store, vm, subnet)
  await requireAskedFree(store, nic)
  return withHeld(store, await withMac(store, nic))
}

async function withMac(store: Reader, nic: EthernetNic): Promise<EthernetNic> {
  const own = await store.get(MacLease, nic.extId)
  if (own !== undefined) return nicOf(nic.extId, { ...nic.backingInfo, macAddress: own.macAddress }, nic.networkInfo)
  const { macAddress } = nic.backingInfo
  if (macAddress !== undefined && (await store.findOne(MacLease, { macAddress })) !== undefined)
    throw macInUse(macAddress)
  return nic
}

/** @throws ApiError 409 when the subnet is not on the VM's cluster, is being deleted, or is not on the host of a VM that runs */
async function requireReach(store: Reader, vm: VmEntity, subnet: SubnetEntity): Promise<void> {
  requireSubnetAttachable(subnet)
  const isOverlay = subnet.subnetType === 'OVERLAY'
  if (!isOverlay && subnet.clusterReference !== undefined && subnet.clusterReference !== vm.cluster?.extId)
    throw new ApiError('CONFLICT', { fault: `The subnet ${subnet.name} is not on the cluster of VM ${vm.name}.` })
  const host = vm.host?.extId === undefined ? undefined : await store.get(Host, vm.host.extId)
  const switchExtId = isOverlay ? await overlaySwitchOf(store, vm.cluster?.extId) : subnet.virtualSwitchReference
  if (host === undefined || switchExtId === undefined) return
  const found = await store.get(VirtualSwitch, switchExtId)
  if (found?.clusters.some(({ hosts }) => hosts.some(({ extId }) => extId === host.extId)) === true) return
  const reasons = `${host.hostName}: network: the virtual switch of subnet ${subnet.name} is missing`
  throw new ApiError('NO_HOST_FOR_VM', { name: vm.name, reasons })
}

function refuseBootDevice({ name, bootConfig }: VmEntity, { backingInfo }: NicEntity): void {
  const device = bootConfig?.bootDevice as { readonly macAddress?: string } | undefined
  if (device?.macAddress === undefined || canonicalMac(device.macAddress) !== backingInfo?.macAddress) return
  throw new ApiError('CONFLICT', { fault: `VM ${name} boots from this NIC. Choose another boot device first.` })
}

const leasing = (task: PartTask<NicBody>): PartTask<NicBody> => {
  const [define, store] = task.steps as [Step<Drivers, PartChange<NicBody>>, Step<Drivers, PartChange<NicBody>>]
  const nicOfBody = ({ partExtId, body }: PartChange<NicBody>): EthernetNic => readNic(body, () => partExtId)
  return {
    ...task,
    steps: [
      {
        name: 'MAC',
        progress: 20,
        record: async (ctx, change) => {
          await present(ctx.store, change.vmExtId, 'update')
          await takeMac(ctx, change.vmExtId, nicOfBody(change))
        },
        unrecord: (ctx, { partExtId }) => ctx.store.remove(MacLease, partExtId),
      },
      {
        name: 'address',
        progress: 40,
        record: async (ctx, change) => {
          await takeAskedAddresses(ctx, nicOfBody(change))
          await takeFreeAddress(ctx, nicOfBody(change))
        },
        unrecord: async (ctx, { partExtId }) => void (await releaseHolder(ctx.store, partExtId)),
      },
      { ...define, name: 'plug', progress: 90 },
      store,
    ],
  }
}

const releasing = (task: PartTask<undefined>): PartTask<undefined> => {
  const [define, store] = task.steps as [Step<Drivers, PartChange<undefined>>, Step<Drivers, PartChange<undefined>>]
  return {
    ...task,
    pointOfNoReturn: 'address and MAC',
    steps: [
      { ...define, name: 'unplug', progress: 40 },
      {
        name: 'address and MAC',
        progress: 90,
        acts: async ({ store }, { partExtId }) => (await floatingIpsOf(store, [{ extId: partExtId }])).length > 0,
        run: (ctx, { partExtId }) => stopTranslating(ctx, [{ extId: partExtId }]),
        record: async (ctx, { partExtId }) => {
          await releaseHolder(ctx.store, partExtId)
          await ctx.store.remove(MacLease, partExtId)
          await detachTargets(ctx.store, [{ extId: partExtId }])
        },
      },
      store,
    ],
  }
}

/** A change of the NIC and its addresses, as one task. */
const moving = <B>(verb: string, wish: Wish<B>, progress: number, operation?: string) =>
  changeOf<'nics', B>(
    nics,
    verb,
    async ({ body, before, rest, store }) => checked(store, rest, await wish(body, before as EthernetNic, store)),
    readdressing({ name: 'reserve new', progress }, planned(wish)),
    operation,
  )

const create = changeOf<'nics', NicBody>(
  nics,
  'Create',
  ({ body, extId, rest, store }) =>
    checked(
      store,
      rest,
      readNic(body, () => extId),
    ),
  leasing,
)
const update = moving('Update', updated, 50)
const assignIp = moving('Assign', assigned, 40, 'AssignIp')
const releaseIp = moving('Release', released, 40, 'ReleaseIp')
const migrate = moving('Migrate', migrated, 40)
const remove = changeOf<'nics', undefined>(
  nics,
  'Delete',
  async ({ before, rest }) => {
    if (before !== undefined) refuseBootDevice(rest, before)
    return undefined
  },
  releasing,
)

const faultsIn = (operation: string, body: NicBody): ApiError[] => {
  refuseUnbuiltNic(operation, body)
  return nicFaults(
    readNic(body, () => ''),
    '',
  )
}

const migrationFaults = ({ subnet, migrateType, ipAddress }: ValueOf<typeof MigrateNicConfig>): ApiError[] => [
  ...(subnet.extId === undefined ? [fault('subnet/extId', 'the id of a subnet', undefined)] : []),
  ...(migrateType === 'RELEASE_IP' && ipAddress !== undefined
    ? [fault('ipAddress', 'none with migrateType RELEASE_IP', ipAddress.value)]
    : []),
]

// With the addresses that the guest uses now.
const reads = readsOf(Nic, 'nics', presentVms)

export const nic = implement(
  nicOperations,
  {
    listNicsByVmId: reads.list,
    createNic: create.handle,
    getNicById: reads.get,
    updateNicById: update.handle,
    deleteNicById: remove.handle,
    assignIpById: assignIp.handle,
    releaseIpById: releaseIp.handle,
    migrateNicById: migrate.handle,
  },
  {
    rules: {
      createNic: ({ body }) => faultsIn('createNic', body),
      updateNicById: ({ body }) => faultsIn('updateNicById', body),
      migrateNicById: ({ body }) => migrationFaults(body),
    },
    tasks: [create.task, update.task, remove.task, assignIp.task, releaseIp.task, migrate.task],
    invariants: [distinctAddresses(nics), pairsAreEqual],
  },
)
