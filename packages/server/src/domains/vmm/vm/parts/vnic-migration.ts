/** Source: behaviour networking.md 1.4 (migrateVnicById). */
import { ApiError } from '../../../../core/api-error.ts'
import { isInRange, parseAddress } from '../../../../core/ip-address.ts'
import type { Reader } from '../../../../store/store.ts'
import { hostsOf, planOf, type SubnetEntity } from '../../../addressing/address-plan.ts'
import { holdersOf, isManaged } from '../../../addressing/leases.ts'
import { defineTask, type Step } from '../../../context.ts'
import { migrateVnic, type VnicMigration } from '../../../virtual-machines/vnic-migration.ts'
import { readdressing } from './nic-addresses.ts'
import { checked, nicList, planned, type Wish, withNetwork } from './nic-changes.ts'
import { type EthernetNic, subnetOf } from './nics.ts'
import { changeOf, type PartChange } from './part.ts'

type Body = VnicMigration['body']

/** Secondary addresses stay behind. */
const connected: Wish<Body> = async ({ subnetExtId, address }, before, store) => {
  const nic = withNetwork(before, { ...before.networkInfo, subnet: { extId: subnetExtId } })
  const subnet = await subnetOf(store, nic)
  const shouldAssignIp = subnet !== undefined && isManaged(subnet)
  const value = address ?? (shouldAssignIp ? await addressToKeep(store, before, subnet) : undefined)
  const ipAddress = value === undefined ? {} : { ipAddress: { value, prefixLength: 32 } }
  return withNetwork(nic, { ...nic.networkInfo, ipv4Config: { shouldAssignIp, ...ipAddress } })
}

async function addressToKeep(store: Reader, nic: EthernetNic, subnet: SubnetEntity): Promise<string | undefined> {
  const text = nic.networkInfo.ipv4Config?.ipAddress?.value
  const address = text === undefined ? undefined : parseAddress('IPV4', text)
  const prefix = planOf(subnet.ipConfig).IPV4?.prefix
  if (address === undefined || prefix === undefined || !isInRange(hostsOf(prefix), address.value)) return undefined
  const [holder] = await holdersOf(store, subnet.extId, [address])
  return holder === undefined || holder.holderExtId === nic.extId ? text : undefined
}

const steps = {
  reserve: { name: 'lease new addresses', progress: 20 },
  plug: { name: 're-plug', seconds: [9, 20] },
  release: 'free old addresses',
} as const

const { task } = changeOf<'nics', Body>(
  nicList,
  'Migrate',
  async ({ body, before, rest, store }) => checked(store, rest, await connected(body, before as EthernetNic, store)),
  readdressing(steps, planned(connected)),
)
const { onUndone: _, ...undoneSilently } = task
const [lease, ...others] = task.steps as [Step<PartChange<Body>>, ...Step<PartChange<Body>>[]]

export const vnicMigration = defineTask<VnicMigration>({
  ...undoneSilently,
  name: migrateVnic.name,
  steps: [
    { ...lease, record: (ctx, change, output) => asNetworking(async () => lease.record?.(ctx, change, output)) },
    ...others,
  ],
})

/** Codes of vmm become those of networking, whose operation was requested. */
async function asNetworking<T>(take: () => Promise<T>): Promise<T> {
  try {
    return await take()
  } catch (error) {
    throw error instanceof ApiError && error.cause instanceof ApiError ? error.cause : error
  }
}
