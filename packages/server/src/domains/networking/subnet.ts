/** Source: behaviour networking.md 1.1, 1.2. */
import { Subnet, subnetOperations } from '@hyperplane/contract/networking/subnet'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { formatAddress, overlap } from '../../core/ip-address.ts'
import { families, hostsOf, planOf, type SubnetEntity } from '../addressing/address-plan.ts'
import { addressRules } from '../addressing/invariants.ts'
import {
  isManaged,
  leasesOutside,
  ownAddresses,
  releaseSubnet,
  stateOf,
  syncOwnLeases,
  textOfLease,
} from '../addressing/leases.ts'
import { requireCapability } from '../admission/cluster-capabilities.ts'
import { type AffectedEntity, bodyRules, implement, type WriteContext } from '../context.ts'
import { limit } from '../limits.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import { refuseDuringCreationOrDeletion, refuseWhileChanging } from './busy.ts'
import { inUse, nameFor } from './in-use.ts'
import type { Learned } from './learned-addresses.ts'
import { type Configuring, lifecycle, refuseBeyond } from './lifecycle.ts'
import { refuseReservedSwitch } from './reserved-switches.ts'
import { refuseUnfitForStretch } from './stretched-subnets.ts'
import {
  referenceFaults,
  type SubnetBody,
  type SubnetReferences,
  subnetConfigurationOf,
  subnetFaults,
  subnetReferences,
} from './subnet-rules.ts'
import { settleAddresses, subnetPhases } from './subnet-tasks.ts'
import { refuseWhileAttached, refuseWhileConnected, refuseWhileUsed } from './subnet-users.ts'
import { presentSubnets } from './subnet-view.ts'

const networkIdentifiers = { minimum: 4096, maximum: 16777215 }

/** Source: behaviour networking.md 3.5. */
const maximumSubnets = limit('subnets', 5000)

const subnets = lifecycle<SubnetEntity, SubnetBody, SubnetReferences>(Subnet, {
  phases: subnetPhases,
  async resolve(ctx, body, stored) {
    const references = await subnetReferences(ctx.store, body, stored)
    refuseAll(referenceFaults(body, references))
    return references
  },
  async configure(ctx, request) {
    const { body, references, entity, stored } = request
    // Its tasks program subnets on other hosts, or expect that there are none.
    if (references.virtualSwitch !== undefined) refuseWhileChanging('Virtual switch', references.virtualSwitch)
    const cluster = stored === undefined ? references.virtualSwitch?.clusterExtId : stored.clusterReference
    await requireClusterReachable(ctx, cluster)
    const own = stored === undefined ? await added(ctx, request) : { isAdvancedNetworking: stored.isAdvancedNetworking }
    const next: SubnetEntity = { ...entity, ...subnetConfigurationOf(body, references), ...own }
    if (stored !== undefined) await refuseChangesInUse(ctx, stored, next)
    if (stored?.virtualSwitchReference !== next.virtualSwitchReference)
      await refuseReservedSwitch(ctx, next, references.virtualSwitch)
    await refuseOverlap(ctx, next)
    // Leases a new gateway now; the task releases the old one when it succeeds.
    await syncOwnLeases(ctx, next, planOf(next.ipConfig), stored !== undefined)
    return next
  },
  // More locks would make tasks of other subnets of the same switch or VPC wait.
  async task(_, entity, before = entity) {
    const { virtualSwitchReference, vpcReference, subnetType, clusterReference } = before
    const affected: AffectedEntity[] = []
    if (virtualSwitchReference !== undefined) {
      affected.push({ extId: virtualSwitchReference, rel: 'networking:config:virtual-switch' })
    }
    if (vpcReference !== undefined) affected.push({ extId: vpcReference, rel: 'networking:config:vpc' })
    const isOfCluster = subnetType === 'VLAN' && clusterReference !== undefined
    return { affected, ...(isOfCluster && { clusterExtIds: [clusterReference] }) }
  },
  async refuseRemoval(ctx, stored) {
    await requireClusterReachable(ctx, stored.clusterReference)
    await refuseWhileUsed(ctx, stored)
  },
  settle: (ctx, entity, learned) => settleAddresses(ctx, entity, learned as readonly Learned[] | undefined),
  release: (ctx, { extId }) => releaseSubnet(ctx.store, extId),
})

export const subnet = implement(
  subnetOperations,
  { createSubnet: subnets.create, updateSubnetById: subnets.update, deleteSubnetById: subnets.remove },
  {
    rules: bodyRules('createSubnet, updateSubnetById', subnetFaults),
    tasks: subnets.tasks,
    present: [[Subnet, presentSubnets]],
    limits: [maximumSubnets],
    invariants: addressRules,
  },
)

type Request = Configuring<SubnetEntity, SubnetBody, SubnetReferences>

async function added(ctx: WriteContext, { body, references }: Request) {
  if (references.vpc !== undefined) refuseDuringCreationOrDeletion('VPC', references.vpc)
  if (references.isAdvanced === true)
    await requireCapability(ctx.store, references.virtualSwitch?.clusterExtId, 'SUPPORTS_VLAN_ADVANCED')
  refuseBeyond(ctx, maximumSubnets, 'Subnets', (await ctx.store.count(Subnet)) + 1)
  const vni = body.subnetType === 'OVERLAY' ? await freeNetworkIdentifier(ctx) : undefined
  return { vni }
}

/** @throws ApiError 409 for changes that NICs, attached VPCs or leases prevent */
async function refuseChangesInUse(ctx: WriteContext, stored: SubnetEntity, next: SubnetEntity): Promise<void> {
  if (stored.networkId !== next.networkId || stored.virtualSwitchReference !== next.virtualSwitchReference) {
    await refuseWhileConnected(ctx, stored)
  }
  if (stored.isNatEnabled !== next.isNatEnabled) await refuseWhileAttached(ctx, stored)
  await refuseUnfitForStretch(ctx, stored, next)
  if (!isManaged(stored)) return
  const plan = planOf(next.ipConfig)
  const present = planOf(stored.ipConfig)
  const own = new Set(ownAddresses(present).map(([, address]) => formatAddress(address)))
  const homeless: string[] = []
  for (const family of families) {
    const prefix = plan[family]?.prefix
    // Five for the error, and up to two (gateway, DHCP server) that the update moves.
    const outside = await leasesOutside(ctx.store, stored.extId, family, prefix && hostsOf(prefix), 7)
    for (const lease of outside) {
      const address = textOfLease(lease)
      if (!own.has(address)) homeless.push(`${address} (${stateOf[lease.kind!]})`)
    }
  }
  if (homeless.length > 0) throw inUse('subnet', stored.name, homeless.slice(0, 5))
}

async function refuseOverlap(ctx: WriteContext, entity: SubnetEntity): Promise<void> {
  if (entity.vpcReference === undefined) return
  const plan = planOf(entity.ipConfig)
  for (const sibling of await ctx.store.findWhere(Subnet, { vpcReference: entity.vpcReference })) {
    if (sibling.extId === entity.extId) continue
    // A sibling that is being updated holds its old and its new range.
    for (const other of [planOf(sibling.ipConfig), planOf(sibling.change?.ipConfig)]) {
      for (const family of families) {
        const [a, b] = [plan[family]?.prefix, other[family]?.prefix]
        if (a !== undefined && b !== undefined && overlap(a, b)) {
          const fields = `range in the VPC (${await nameFor(ctx, Subnet, sibling)} overlaps it)`
          throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: 'subnet', fields })
        }
      }
    }
  }
}

/** At most a few thousand of 16 million identifiers are in use, so random tries end soon. */
async function freeNetworkIdentifier(ctx: WriteContext): Promise<number> {
  const { minimum, maximum } = networkIdentifiers
  for (;;) {
    const vni = minimum + Math.floor(ctx.ids.random() * (maximum - minimum + 1))
    if ((await ctx.store.findOne(Subnet, { vni })) === undefined) return vni
  }
}
