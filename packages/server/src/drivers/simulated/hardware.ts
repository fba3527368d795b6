/**
 * Simulated clusters and hosts; direct changes of facts simulate drift. `hardware.bmcs` (real credentials), `hardware.boots`,
 * `hardware.controllerVms`, `hardware.downtimes`, `hardware.maintenance`, `hardware.slowness` by host; `hardware.faults` by cluster or
 * host; `hardware.datastores` by `<host>/<name>`; others by id. Source: behaviour clustermgmt.md 3.
 */
import type { ClusterFormation } from '../cluster-formation.ts'
import {
  type BmcAccess,
  type ClusterSettings,
  type ContainerSpec,
  type DatastoreSpec,
  type Hardware,
  type HostDevice,
  mergedSections,
  secretDigest,
  withDigests,
} from '../hardware.ts'
import type { Nodes } from '../nodes.ts'
import { createClusterCertificates } from './cluster-certificates.ts'
import { createControllerVms } from './controller-vms.ts'
import { createDrives } from './drives.ts'
import { answering, hardwareFaults, type RequireAnswer } from './hardware-faults.ts'
import { createSystemAccounts } from './system-accounts.ts'
import type { SimulatedWorld } from './world.ts'

export interface ClusterFact {
  readonly settings: ClusterSettings
  /** Applied calls, newest last, with the replaced values. */
  readonly calls?: readonly { readonly key: string; readonly before: Readonly<Record<string, unknown>> }[]
}

export interface ContainerFact extends ContainerSpec {
  readonly calls?: readonly { readonly key: string; readonly before: ContainerSpec | null }[]
  /** Sizes of foreign files. */
  readonly files?: readonly number[]
}

export interface BmcFact {
  readonly address: string
  readonly username: string
  readonly passwordDigest: string
}

export const deviceFacts = (world: SimulatedWorld) => world.collection<HostDevice>('hardware.devices')

export const maintenanceFacts = (world: SimulatedWorld) =>
  world.collection<{ readonly since: number }>('hardware.maintenance')

/** Per cluster, for undo and repeated calls; one profile makes fewer calls on a cluster. */
const rememberedCalls = 16

export const bmcDigest = (hostExtId: string, password: string): string => secretDigest(`bmc/${hostExtId}`, password)

type Conditions = Pick<
  Hardware,
  'isReachable' | 'isHostUp' | 'conditionOf' | 'devicesOf' | 'foreignBytes' | 'watch' | 'probeBmc'
>
type Settings = Pick<Hardware, 'readSettings' | 'writeSettings' | 'takeBackSettings'>
type Maintenance = Pick<Hardware, 'enterMaintenance' | 'leaveMaintenance'>
type Containers = Pick<Hardware, 'putContainer' | 'takeBackContainer' | 'removeContainer' | 'leftoverFiles'>

const containerFacts = (world: SimulatedWorld) => world.collection<ContainerFact>('hardware.containers')

const placeOf = ({ hostExtId, address: { segment, bus, device, func } }: HostDevice): string =>
  [hostExtId, ...[segment, bus, device, func].map((part) => part.toString(16).padStart(4, '0'))].join('/')
const byPlace = (a: HostDevice, b: HostDevice): number => (placeOf(a) < placeOf(b) ? -1 : 1)

function createConditions(world: SimulatedWorld): Conditions {
  const containers = containerFacts(world)
  const bmcs = world.collection<BmcFact>('hardware.bmcs')
  const faults = hardwareFaults(world)
  const boots = world.collection<{ readonly at: number }>('hardware.boots')
  const devices = deviceFacts(world)
  return {
    isReachable: (clusterExtId) => faults.get(clusterExtId)?.isDown !== true,
    isHostUp: (hostExtId) => faults.get(hostExtId)?.isDown !== true,
    devicesOf: (clusterExtId) =>
      [...devices.all().values()].filter((device) => device.clusterExtId === clusterExtId).sort(byPlace),
    conditionOf(hostExtId) {
      const { isDown, since, slowdown } = faults.get(hostExtId) ?? {}
      return {
        isUp: isDown !== true,
        isDegraded: slowdown !== undefined,
        silentSince: isDown === true ? since : undefined,
        bootedAt: boots.get(hostExtId)?.at,
      }
    },
    foreignBytes: (containerExtId) =>
      (containers.get(containerExtId)?.files ?? []).reduce((sum, size) => sum + size, 0),
    watch: (changed) =>
      world.watch(
        ['hardware.bmcs', 'hardware.boots', 'hardware.clusters', 'hardware.drives', 'hardware.faults'],
        changed,
      ),

    async probeBmc(access: BmcAccess) {
      const bmc = bmcs.get(access.hostExtId)
      if (bmc === undefined || bmc.address !== access.address) return 'UNAVAILABLE'
      if (faults.get(access.hostExtId)?.isBmcSilent === true) return 'UNAVAILABLE'
      const fits =
        bmc.username === access.username && bmc.passwordDigest === bmcDigest(access.hostExtId, access.password)
      return fits ? 'VALID' : 'INVALID'
    },
  }
}

function createSettings(world: SimulatedWorld, requireAnswer: RequireAnswer): Settings {
  const clusters = world.collection<ClusterFact>('hardware.clusters')
  const clusterOf = (id: string): ClusterFact => clusters.get(id) ?? { settings: {} }
  return {
    async readSettings(clusterExtId) {
      requireAnswer(clusterExtId, 'readSettings')
      return clusterOf(clusterExtId).settings
    },

    async writeSettings(clusterExtId, change, callKey) {
      requireAnswer(clusterExtId, 'writeSettings')
      const { settings, calls = [] } = clusterOf(clusterExtId)
      if (calls.some(({ key }) => key === callKey)) return settings
      const next: Record<string, unknown> = { ...settings }
      const before: Record<string, unknown> = {}
      for (const [section, value] of Object.entries(withDigests(clusterExtId, change))) {
        before[section] = next[section] ?? null
        if (value === null || value === undefined) delete next[section]
        else if (mergedSections.has(section)) next[section] = { ...(next[section] as object), ...(value as object) }
        else next[section] = value
      }
      await clusters.put(clusterExtId, {
        settings: next,
        calls: [...calls, { key: callKey, before }].slice(-rememberedCalls),
      })
      return next
    },

    async takeBackSettings(clusterExtId, callKey) {
      const { settings, calls = [] } = clusterOf(clusterExtId)
      const call = calls.find(({ key }) => key === callKey)
      if (call === undefined) return
      requireAnswer(clusterExtId, 'takeBackSettings')
      const next: Record<string, unknown> = { ...settings, ...call.before }
      for (const [section, value] of Object.entries(call.before)) if (value === null) delete next[section]
      await clusters.put(clusterExtId, { settings: next, calls: calls.filter(({ key }) => key !== callKey) })
    },
  }
}

function createContainers(world: SimulatedWorld, requireAnswer: RequireAnswer): Containers {
  const containers = containerFacts(world)
  return {
    async putContainer(container, callKey) {
      requireAnswer(container.clusterExtId, 'putContainer')
      const { calls = [], files, ...before } = containers.get(container.extId) ?? { calls: [] }
      if (calls.some(({ key }) => key === callKey)) return
      const wasThere = containers.get(container.extId) !== undefined
      await containers.put(container.extId, {
        ...container,
        files,
        calls: [...calls, { key: callKey, before: wasThere ? (before as ContainerSpec) : null }].slice(
          -rememberedCalls,
        ),
      })
    },

    async takeBackContainer(clusterExtId, containerExtId, callKey) {
      const container = containers.get(containerExtId)
      const call = container?.calls?.find(({ key }) => key === callKey)
      if (call === undefined) return
      requireAnswer(clusterExtId, 'takeBackContainer')
      if (call.before === null) await containers.remove(containerExtId)
      else await containers.put(containerExtId, call.before)
    },

    async removeContainer(clusterExtId, containerExtId) {
      requireAnswer(clusterExtId, 'removeContainer')
      await containers.remove(containerExtId)
    },

    async leftoverFiles(clusterExtId, containerExtId) {
      requireAnswer(clusterExtId, 'leftoverFiles')
      return containers.get(containerExtId)?.files ?? []
    },
  }
}

function createMaintenance(world: SimulatedWorld, requireAnswer: RequireAnswer): Maintenance {
  const maintenance = maintenanceFacts(world)
  return {
    async enterMaintenance(clusterExtId, hostExtId) {
      for (const id of [clusterExtId, hostExtId]) requireAnswer(id, 'enterMaintenance')
      if (maintenance.get(hostExtId) !== undefined) return
      await maintenance.put(hostExtId, { since: world.clock.now() })
    },

    async leaveMaintenance(clusterExtId, hostExtId) {
      if (maintenance.get(hostExtId) === undefined) return
      for (const id of [clusterExtId, hostExtId]) requireAnswer(id, 'leaveMaintenance')
      await maintenance.remove(hostExtId)
    },
  }
}

export function createHardware(
  world: SimulatedWorld,
  { durations }: { readonly durations: 'instant' | 'natural' },
): Omit<Hardware, keyof ClusterFormation | keyof Nodes> {
  const datastores = world.collection<DatastoreSpec>('hardware.datastores')
  const requireAnswer = answering(world)

  return {
    ...createConditions(world),
    ...createSettings(world, requireAnswer),
    ...createContainers(world, requireAnswer),
    ...createMaintenance(world, requireAnswer),
    ...createClusterCertificates(world, requireAnswer),
    ...createSystemAccounts(world, requireAnswer, {
      isSilent: (hostExtId) => hardwareFaults(world).get(hostExtId)?.isBmcSilent === true,
      digest: bmcDigest,
    }),
    ...createDrives(world, durations === 'instant', requireAnswer),
    ...createControllerVms(world, requireAnswer),
    log: world.log.write,

    async mountDatastore(datastore) {
      requireAnswer(datastore.clusterExtId, 'mountDatastore')
      requireAnswer(datastore.hostExtId, 'mountDatastore')
      await datastores.put(`${datastore.hostExtId}/${datastore.datastoreName}`, datastore)
    },

    async unmountDatastore(clusterExtId, hostExtId, datastoreName) {
      const id = `${hostExtId}/${datastoreName}`
      if (datastores.get(id) === undefined) return
      requireAnswer(clusterExtId, 'unmountDatastore')
      requireAnswer(hostExtId, 'unmountDatastore')
      await datastores.remove(id)
    },
  }
}
