/**
 * Invariants of every world without running tasks: for tests that kill, fail, cancel or overload. Source: behaviour
 * conventions 18, 23 (invariants).
 */

import assert from 'node:assert/strict'
import type { DatabaseSync } from 'node:sqlite'
import { contract } from '@hyperplane/contract'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Task } from '@hyperplane/contract/platform/task'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../src/core/ids/named-id.ts'
import { pathOf } from '../../src/core/standard.ts'
import { unfinished } from '../../src/core/tasks/runner.ts'
import { brokenInvariants } from '../../src/domains/invariants/invariants.ts'
import { storeTables } from '../../src/domains/tables.ts'
import { fileOf, type VmEntity } from '../../src/domains/virtual-machines/entity.ts'
import type { InventoryRow } from '../../src/drivers/remote-managers.ts'
import { type DiskFact, diskFacts } from '../../src/drivers/simulated/hypervisor/facts.ts'
import { contentBytes } from '../../src/drivers/simulated/hypervisor/layers.ts'
import { nodeFacts } from '../../src/drivers/simulated/nodes.ts'
import { anyOf } from '../../src/odata/index.ts'
import { missummed } from '../../src/store/sqlite/kept-sums.ts'
import { miscounted } from '../../src/store/sqlite/referrer-counts.ts'
import { factOwners } from '../kinds/collected.ts'
import type { EntityReader } from '../kinds/kind.ts'
import { factsById } from './facts.ts'
import type { TestApp } from './start-app.ts'
import { storeFile } from './store-file.ts'
import { vpcFaults } from './vpcs.ts'

type Faults = string[]

/** Reads this world's entities, with those on clusters that are not registered. */
async function entityReader(app: TestApp): Promise<EntityReader> {
  const inventories = [...((await factsById(app)).get('remotes.inventories')?.values() ?? [])]
  const remoteRows = inventories.flatMap((rows) => rows as InventoryRow[])
  const all: EntityReader['all'] = async (resource) => [
    ...(await app.store.find(resource)),
    ...remoteRows.flatMap((row) => (row.kind === resource.kind ? row.entity : [])),
  ]
  return {
    all,
    async ids(kind) {
      const resource = contract.flatMap(({ resources }) => resources).find((candidate) => candidate.kind === kind)
      return new Set((await all(resource!)).map(({ extId }) => extId as string))
    },
    managerNodes: async () =>
      (await app.store.find(DomainManager)).flatMap(({ nodeExtIds = [] }) => nodeExtIds as readonly string[]),
    async machines() {
      const free = [...nodeFacts(app.world).all().values()].filter(({ clusterExtId }) => clusterExtId === undefined)
      return new Set([
        ...(await all(Host)).map(({ extId }) => extId as string),
        ...free.map(({ nodeUuid }) => nodeUuid),
      ])
    },
  }
}

/** @throws AssertionError that lists all that does not hold */
export async function checkInvariants(app: TestApp): Promise<void> {
  await app.runner.idle()
  const rules = [
    tasksHaveEnded,
    nothingIsPending,
    referencesNameSomething,
    referencesAreCounted,
    rowsAgree,
    factsHaveOwners,
    layersHoldTogether,
    nodesAreHosts,
    policiesCountTheirVms,
    vpcFaults,
  ]
  const faults: string[] = []
  for (const rule of rules) for (const fault of await rule(app)) faults.push(`${rule.name}: ${fault}`)
  assert.deepEqual(faults, [])
}

/** No task is running, so none can explain a violation. */
async function tasksHaveEnded(app: TestApp): Promise<Faults> {
  const running = await app.store.find(Task, { filter: anyOf(pathOf(Task, 'status'), unfinished) })
  return running.map(({ operation, extId, status }) => `${operation} ${extId} is ${status}`)
}

const rowsAgree = (app: TestApp): Promise<readonly string[]> => brokenInvariants(app.store)

/** Names of the tables that hold entities. */
export const entityTables = (database: DatabaseSync): string[] =>
  (
    database
      .prepare(
        "SELECT m.name FROM sqlite_master m WHERE m.type = 'table' AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) c WHERE c.name = 'document') ORDER BY m.name",
      )
      .all() as { name: string }[]
  ).map(({ name }) => name)

/** No row is pending. */
function nothingIsPending({ folder }: TestApp): Faults {
  const pending = [...storeTables().values()].map(
    ({ name }) => `SELECT '${name} ' || ext_id AS row FROM ${name} WHERE published = 0`,
  )
  return pending.flatMap((sql) => storeFile(folder).all(sql)).map(({ row }) => row)
}

/** Counters of referrers equal a recount. */
function referencesAreCounted({ folder }: TestApp): readonly string[] {
  const { database } = storeFile(folder)
  return [...miscounted(database, storeTables()), ...missummed(database, storeTables())]
}

/** Every declared reference has a source and a target. */
function referencesNameSomething({ folder }: TestApp): Faults {
  const tables = storeTables()
  const file = storeFile(folder)
  const published = new Map<string, ReadonlySet<string>>()
  const exists = (kind: string, extId: string): boolean => {
    const table = tables.get(kind)
    if (table === undefined) return true
    let ids = published.get(kind)
    if (ids === undefined) {
      const rows = file.all(`SELECT ext_id FROM ${table.name} WHERE published = 1`)
      published.set(kind, (ids = new Set(rows.map(({ ext_id }) => ext_id))))
    }
    return ids.has(extId)
  }
  return file
    .all('SELECT * FROM reference')
    .flatMap(({ to_kind, to_id, from_kind, from_id, path }) =>
      [[to_kind, to_id] as const, [from_kind, from_id] as const]
        .filter(([kind, extId]) => !exists(kind, extId))
        .map(([kind, extId]) => `${from_kind} ${from_id} ${path} -> ${to_kind} ${to_id}: there is no ${kind} ${extId}`),
    )
}

/** Content of servers outside, which belongs to no entity. */
const serversOutside = /^(?:directory|objectStore|remotes|web)\./

/** A seed with `vms: 1000` makes no domains: a VM gets its own when it is switched on. */
const isOneOfMany = ({ extId, name, powerState }: VmEntity): boolean =>
  powerState === 'OFF' && /^vm-\d{7}$/.test(name) && extId === seedId(`vm/${name}`)

/** Every fact of the simulated world belongs to an entity; VMs run on the hosts of their rows. */
async function factsHaveOwners(app: TestApp): Promise<Faults> {
  const faults: Faults = []
  const entities = await entityReader(app)
  const vms = await entities.all(Vm)
  const factsOf = await factsById(app)
  for (const [collection, facts] of factsOf) {
    const owner = serversOutside.test(collection) ? 'nobody' : factOwners[collection]
    if (owner === undefined)
      faults.push(`${collection}: export its owner as "factOwners" from a file of packages/server/test/kinds`)
    if (owner === undefined || owner === 'nobody') continue
    const ids = await owner(entities)
    const parents = new Set([...facts.values()].map((fact) => (fact as { parentExtId?: string }).parentExtId))
    for (const [id, fact] of facts) {
      // A deleted layer stays as long as others lie over it.
      const isUnder = (fact as { isHidden?: boolean }).isHidden === true && parents.has(id)
      if (!ids.has(id) && !isUnder) faults.push(`${collection} ${id} belongs to nothing`)
    }
    if (collection !== 'domains') continue
    for (const vm of vms) {
      const fact = facts.get(vm.extId) as { state?: string; hostExtId?: string; domain?: WithPorts } | undefined
      if (fact === undefined && isOneOfMany(vm)) continue
      if (fact === undefined) faults.push(`"${vm.name}" has no domain`)
      // The state of a VM on a silent host is unknown.
      else if (vm.powerState !== 'UNDETERMINED' && (vm.powerState === 'OFF') !== (fact.state === 'OFF'))
        faults.push(`"${vm.name}" is ${vm.powerState}, its domain ${fact.state}`)
      else if (fact.state === 'ON' && vm.host?.extId !== fact.hostExtId)
        faults.push(`"${vm.name}" is on ${vm.host?.extId}, its domain on ${fact.hostExtId}`)
      if (portsIn(fact?.domain) !== portsIn(vm)) faults.push(`"${vm.name}" has other serial ports than its domain`)
      faults.push(...diskFaults(vm, fact?.domain, factsOf.get('virtualDisks')))
    }
  }
  return faults
}

/** Every layer has the one below it, and a disk never holds more than its size. Source: behaviour vmm.md 3.8 (invariant 5). */
function layersHoldTogether(app: TestApp): Faults {
  const disks = diskFacts(app.world)
  return [...disks.all()].flatMap(([extId, fact]) => {
    const { parentExtId, sizeBytes } = fact
    if (parentExtId !== undefined && disks.get(parentExtId) === undefined)
      return `the disk ${extId} lies over ${parentExtId}, which is not there`
    const held = contentBytes(disks, fact, app.clock.now())
    return held > sizeBytes ? `the disk ${extId} holds ${held} bytes in ${sizeBytes}` : []
  })
}

/** A machine is a host of the cluster that it is a member of. Source: behaviour clustermgmt.md 3 (Invariants). */
async function nodesAreHosts(app: TestApp): Promise<Faults> {
  const hosts = new Map((await (await entityReader(app)).all(Host)).map((host) => [host.extId, host]))
  return [...nodeFacts(app.world).all().values()].flatMap(({ nodeUuid, clusterExtId, pending }) => {
    const host = hosts.get(nodeUuid)
    if (pending !== undefined) return `the node ${nodeUuid} is still held by ${pending.holder}`
    return host?.cluster.uuid === clusterExtId
      ? []
      : `the node ${nodeUuid} is in ${clusterExtId ?? 'no cluster'}, its host in ${host?.cluster.uuid ?? 'none'}`
  })
}

/** Each VM of a policy is in one of its three counts. Source: behaviour vmm.md 3.8 (invariant 8). */
async function policiesCountTheirVms(app: TestApp): Promise<Faults> {
  const faults: Faults = []
  for (const kind of ['vm-anti-affinity-policies', 'vm-host-affinity-policies', 'vm-startup-policies']) {
    const path = `/vmm/v4.2/ahv/policies/${kind}`
    for (const policy of (await app.call('GET', `${path}?$limit=100`)).data ?? []) {
      const { name, extId, numCompliantVms = 0, numNonCompliantVms = 0, numVms } = policy
      const { total = 0 } = await app.call('GET', `${path}/${extId}/vm-compliance-states`)
      // Host affinity policies have no count of pending VMs.
      const { numPendingVms = total - numCompliantVms - numNonCompliantVms } = policy
      const counts = [numCompliantVms, numNonCompliantVms, numPendingVms]
      const counted = counts.reduce((sum, count) => sum + count, 0)
      if (counted !== total || (numVms ?? total) !== total || counts.some((count) => count < 0))
        faults.push(`"${name}" counts ${counts} of ${numVms} VMs, and lists ${total}`)
    }
  }
  return faults
}

/** The domain has the disks of the row, and each file has its size and container. */
function diskFaults(
  vm: VmEntity,
  domain: WithPorts | undefined,
  facts: ReadonlyMap<string, unknown> | undefined,
): Faults {
  const files = (vm.disks ?? []).flatMap((disk) => fileOf(disk) ?? [])
  const faults: Faults = []
  if (files.map(({ diskExtId }) => diskExtId).join() !== (domain?.diskExtIds ?? []).join())
    faults.push(`"${vm.name}" has other disks than its domain`)
  for (const { diskExtId = '', diskSizeBytes, storageContainer } of files) {
    const fact = facts?.get(diskExtId) as DiskFact | undefined
    if (fact?.sizeBytes !== diskSizeBytes || fact?.containerExtId !== storageContainer?.extId)
      faults.push(`the disk ${diskExtId} of "${vm.name}" differs from its file`)
  }
  if (vm.filesUnderWay !== undefined) faults.push(`"${vm.name}" has files under way without a task`)
  return faults
}

interface WithPorts {
  readonly diskExtIds?: readonly string[]
  readonly serialPorts?: VmEntity['serialPorts']
}
const portsIn = (machine: WithPorts | undefined): string =>
  (machine?.serialPorts ?? []).map(({ extId, index, isConnected }) => `${extId} ${index} ${isConnected}`).join()

/** Multiset difference of two lists. */
export function differences(found: readonly string[], expected: readonly string[]): Faults {
  const counts = new Map<string, number>()
  for (const item of expected) counts.set(item, (counts.get(item) ?? 0) - 1)
  for (const item of found) counts.set(item, (counts.get(item) ?? 0) + 1)
  return [...counts]
    .filter(([, count]) => count !== 0)
    .map(([item, count]) => `${count < 0 ? 'missing' : 'too much'}: ${item}`)
}
