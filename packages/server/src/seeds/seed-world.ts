import { drawsFrom } from '../core/ids/draws.ts'
import { createIds } from '../core/ids/ids.ts'
import { seedId } from '../core/ids/named-id.ts'
import type { TrackingClock } from '../core/time/clock.ts'
import { formatTime } from '../core/time/clock.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { factsIn, type SimulatedWorld } from '../drivers/simulated/world.ts'
import { paced } from '../store/paced.ts'
import type { Store } from '../store/store.ts'
import type { SeedContext } from './context.ts'
import { fillBalancers } from './declared/balancers.ts'
import { fillClusters, fillUnregistered } from './declared/clusters.ts'
import { Filling } from './declared/filling.ts'
import { fillHistory } from './declared/history.ts'
import { fillImages, fillVms } from './declared/machines.ts'
import { fillBackups, fillManagers } from './declared/managers.ts'
import { fillNetworks } from './declared/networks.ts'
import { fillNodes } from './declared/nodes.ts'
import { fillOperations } from './declared/operations.ts'
import { fillExternVms } from './declared/outside-machines.ts'
import { fillCategories, fillPeople, fillPolicies } from './declared/people.ts'
import { fillRouting } from './declared/routing.ts'
import { fillExternalStorages, fillProfiles, fillSwitches } from './declared/settings.ts'
import { fillStretches } from './declared/stretches.ts'
import { fillClients, fillVolumeGroups } from './declared/volumes.ts'
import { seedDemo as seedBalancers } from './demo/balancers.ts'
import { seedBase as seedClustermgmtBase, seedDemo as seedClustermgmtDemo } from './demo/clusters.ts'
import { seedFloatingIpsDemo } from './demo/floating-ips.ts'
import { seedFlows } from './demo/flows.ts'
import { seedGatewaysDemo } from './demo/gateways.ts'
import { seedExportersDemo } from './demo/ipfix-exporters.ts'
import { seedDemo as seedVmmDemo } from './demo/machines.ts'
import { seedManyVms } from './demo/many-vms.ts'
import { seedDemo as seedNetworkingDemo } from './demo/networks.ts'
import { seedDemo as seedNicProfiles } from './demo/nic-profiles.ts'
import { seedBase as seedIamBase, seedDemo as seedIamDemo } from './demo/people.ts'
import { createSeedPlaces } from './demo/places.ts'
import {
  moveSystemCategories,
  seedCategories,
  seedBase as seedPlatformBase,
  seedDemo as seedPlatformDemo,
} from './demo/platform.ts'
import { seedStretchesDemo } from './demo/stretches.ts'
import { seedMirrorsDemo } from './demo/traffic-mirrors.ts'
import { seedUnregistered } from './demo/unregistered.ts'
import { seedDemo as seedVolumesDemo } from './demo/volumes.ts'
import { fillExactly } from './exact-fill.ts'
import type { Layer, SeedPlan } from './read-seed.ts'
import { SeedRefusal } from './seed-refusal.ts'

export interface SeedOptions {
  readonly plan: SeedPlan
  /** Random seed of the world; the plan may prescribe it. */
  readonly random: string
  readonly store: Store
  readonly world: SimulatedWorld
  readonly drivers: Drivers
  readonly clock: TrackingClock
  readonly tenantId: string
  readonly managerExtId: string
  readonly adminPasswordHash: string
  /** Called at the end of the load: what it stores is committed with the rows. */
  readonly filled: () => void
  readonly tier: SeedContext['tier']
  readonly version: string
  readonly folder: string
  readonly backup: SeedContext['backup']
  readonly machinery: SeedContext['machinery']
}

/** @throws SeedRefusal with all dangling names and everything that does not fit */
export async function seedWorld(options: SeedOptions): Promise<void> {
  const { plan, store } = options
  await store.bulkLoad(async (transaction) => {
    // The world is not served yet, so the long transaction may yield to other worlds.
    const ctx = contextOf(options, paced(transaction))
    if (plan.base !== 'nothing') {
      await seedCategories(ctx, plan.base)
      await seedIamBase(ctx)
      await seedClustermgmtBase(ctx)
      await seedPlatformBase(ctx)
    }
    if (plan.base === 'demo') await seedDemo(ctx)
    const faults = await fillExactly(ctx, plan)
    if (faults.length > 0) throw new SeedRefusal(plan.name, faults)
    for (const layer of plan.layers) await fillLayer(ctx, plan, layer)
    if (plan.base !== 'nothing') await seedFlows(ctx)
    options.filled()
  })
}

function contextOf(options: SeedOptions, transaction: SeedContext['store']): SeedContext {
  const { plan, random, world, clock } = options
  const now = clock.now()
  const ctx: Omit<SeedContext, 'places'> = {
    store: transaction,
    world: world.through(factsIn(transaction)),
    drivers: options.drivers,
    clock,
    // A separate id stream: imported rows may already use ids drawn from the same random seed.
    ids: createIds(`${random}\0${plan.digest}\0seed`),
    tenantId: options.tenantId,
    tier: options.tier,
    version: options.version,
    folder: options.folder,
    backup: options.backup,
    managerExtId: options.managerExtId,
    adminId: seedId('user/admin'),
    adminPasswordHash: options.adminPasswordHash,
    ago: (seconds) => formatTime(now - seconds * 1000),
    draws: (what) => drawsFrom(`${random}/seed/${what}`),
    nameOf: (name) => plan.names[name] ?? name,
    machinery: options.machinery,
  }
  return { ...ctx, places: createSeedPlaces(ctx) }
}

async function seedDemo(ctx: SeedContext): Promise<void> {
  await seedIamDemo(ctx)
  await seedClustermgmtDemo(ctx)
  await seedNetworkingDemo(ctx)
  await seedVmmDemo(ctx)
  await seedBalancers(ctx)
  await seedNicProfiles(ctx)
  await seedMirrorsDemo(ctx)
  await seedExportersDemo(ctx)
  await seedVolumesDemo(ctx)
  await seedUnregistered(ctx)
  await seedPlatformDemo(ctx)
  await seedGatewaysDemo(ctx)
  await seedFloatingIpsDemo(ctx)
  await seedStretchesDemo(ctx)
}

async function fillLayer(ctx: SeedContext, { base, layers }: SeedPlan, layer: Layer): Promise<void> {
  const { declared } = layer
  const filling = new Filling(ctx, layer)
  await fillCategories(filling, declared.categories)
  if (base === 'empty' && layer === layers[0]) await moveSystemCategories(ctx)
  await fillPeople(filling, declared)
  await fillExternalStorages(filling, declared.externalStorages)
  await fillClusters(filling, declared.clusters)
  await fillNodes(filling, declared.unconfiguredNodes)
  await fillProfiles(filling, declared.clusterProfiles)
  await fillSwitches(filling, declared.virtualSwitches)
  await fillNetworks(filling, declared)
  await fillRouting(filling, declared)
  await fillImages(filling, declared.images)
  const { vms = 0 } = declared
  if (typeof vms !== 'number') await fillVms(filling, vms)
  else if ((await seedManyVms(ctx, vms)) < vms)
    filling.note('vms', 'expected a native cluster for them: describe one, or extend a preset that has one')
  await fillBalancers(filling, declared.loadBalancerSessions)
  await fillExternVms(filling, declared.externalVms)
  await fillClients(filling, declared)
  await fillVolumeGroups(filling, declared.volumeGroups)
  await fillManagers(filling, declared)
  await fillStretches(filling, declared.layer2Stretches)
  await fillOperations(filling, declared.operations)
  await fillHistory(filling, declared)
  await fillUnregistered(filling, declared.clusters)
  await fillPolicies(filling, declared.authorizationPolicies)
  if (filling.faults.length === 0) await fillBackups(filling, declared.backupTargets)
  if (filling.faults.length > 0) throw new SeedRefusal(layer.name, filling.faults)
}
