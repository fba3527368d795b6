/** NICs of a VM, and the addresses that they hold. Source: behaviour vmm.md 1.4, 1.16, 6. */
import type { ValueOf } from '@hyperplane/contract'
import { type AssignIpParams, type MigrateNicConfig, Nic, nicOperations } from '@hyperplane/contract/vmm/vm/parts/nic'
import { ApiError } from '../../../../core/api-error.ts'
import type { Reader } from '../../../../store/store.ts'
import { floatingIpsOf, stopTranslating } from '../../../addressing/floating-ips.ts'
import { isManaged, releaseHolder } from '../../../addressing/leases.ts'
import { detachTargets } from '../../../addressing/lost-targets.ts'
import { implement, type Step } from '../../../context.ts'
import type { NicEntity, VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { MacLease } from '../../../virtual-machines/mac-lease.ts'
import { requireNoFunctionOfNics } from '../../../virtual-machines/network-functions.ts'
import { virtualFunctionOf } from '../../../virtual-machines/virtual-functions.ts'
import { requireVm } from '../admission.ts'
import { presentVms } from '../present.ts'
import { checked, moving, nicList, type Wish, withNetwork } from './nic-changes.ts'
import {
  canonicalMac,
  type EthernetNic,
  leaseRequestedAddresses,
  type NicBody,
  nicBodyFaults,
  nicOf,
  pairsAreEqual,
  readNic,
  subnetOf,
  takeFreeAddress,
  takeMac,
} from './nics.ts'
import { changeOf, distinctAddresses, type PartChange, type PartTask, readsOf } from './part.ts'
import { vnicMigration } from './vnic-migration.ts'

const functionTypeOf = ({ networkInfo }: EthernetNic): string | undefined => networkInfo.networkFunctionNicType

/** Without `ipv4Config` the NIC keeps its addresses, unless the subnet is another one. */
const updated: Wish<NicBody> = async (body, before, store) => {
  const nic = readNic(body, () => before.extId)
  if (functionTypeOf(nic) !== functionTypeOf(before)) await requireNoFunctionOfNics(store, [before])
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
  const backing = { ...nic.backingInfo, ...(macAddress && { macAddress }) }
  return nicOf(before.extId, backing, addressed, virtualFunctionOf(nic))
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

function refuseBootDevice({ name, bootConfig }: VmEntity, { backingInfo }: NicEntity): void {
  const device = bootConfig?.bootDevice as { readonly macAddress?: string } | undefined
  if (device?.macAddress === undefined || canonicalMac(device.macAddress) !== backingInfo?.macAddress) return
  throw new ApiError('CONFLICT', { fault: `VM ${name} boots from this NIC. Choose another boot device first.` })
}

const leasing = (task: PartTask<NicBody>): PartTask<NicBody> => {
  const [define, store] = task.steps as [Step<PartChange<NicBody>>, Step<PartChange<NicBody>>]
  const nicOfBody = ({ partExtId, body }: PartChange<NicBody>): EthernetNic => readNic(body, () => partExtId)
  return {
    ...task,
    steps: [
      {
        name: 'MAC',
        progress: 20,
        record: async (ctx, change) => {
          await requireVm(ctx.store, change.vmExtId, 'update')
          await takeMac(ctx, change.vmExtId, nicOfBody(change))
        },
        unrecord: (ctx, { partExtId }) => ctx.store.remove(MacLease, partExtId),
      },
      {
        name: 'address',
        progress: 40,
        record: async (ctx, change) => {
          await leaseRequestedAddresses(ctx, nicOfBody(change))
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
  const [define, store] = task.steps as [Step<PartChange<undefined>>, Step<PartChange<undefined>>]
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

const create = changeOf<'nics', NicBody>(
  nicList,
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
  nicList,
  'Delete',
  async ({ before, rest, store }) => {
    if (before !== undefined) {
      refuseBootDevice(rest, before)
      await requireNoFunctionOfNics(store, [before])
    }
    return undefined
  },
  releasing,
)

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
      createNic: ({ body }) => nicBodyFaults(body, ''),
      updateNicById: ({ body }) => nicBodyFaults(body, ''),
      migrateNicById: ({ body }) => migrationFaults(body),
    },
    tasks: [create.task, update.task, remove.task, assignIp.task, releaseIp.task, migrate.task, vnicMigration],
    invariants: [distinctAddresses(nicList), pairsAreEqual],
  },
)
