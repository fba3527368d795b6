/**
 * Invariants of every world without running tasks: for tests that kill, fail, cancel or overload. Source: behaviour
 * conventions 18, 23 (invariants).
 */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { contract } from '@hyperplane/contract'
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Task } from '@hyperplane/contract/platform/task'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { derivedId, seedId } from '../../src/core/ids/named-id.ts'
import { pathOf } from '../../src/core/standard.ts'
import { unfinished } from '../../src/core/tasks/runner.ts'
import { brokenInvariants } from '../../src/domains/invariants/invariants.ts'
import { storeTables } from '../../src/domains/tables.ts'
import { filesOf, firmwareFilesOf, type VmEntity } from '../../src/domains/virtual-machines/entity.ts'
import type { InventoryRow } from '../../src/drivers/remote-managers.ts'
import { anyOf } from '../../src/odata/index.ts'
import { miscounted } from '../../src/store/sqlite/referrer-counts.ts'
import { factsById } from './facts.ts'
import type { TestApp } from './start-app.ts'
import { vpcFaults } from './vpcs.ts'

type Faults = string[]

/** Entities of one kind on clusters that are not registered. */
async function heldElsewhere(app: TestApp, kind: string): Promise<any[]> {
  const inventories = (await factsById(app)).get('remotes.inventories')?.values() ?? []
  return [...inventories]
    .flatMap((rows) => rows as InventoryRow[])
    .flatMap((row) => (row.kind === kind ? row.entity : []))
}

/** Hosts also carry the nodes of managers, which no list shows. */
const managerNodes = async (app: TestApp): Promise<string[]> =>
  (await app.store.find(DomainManager)).flatMap(({ nodeExtIds = [] }) => nodeExtIds)

/** Files on the demo's cluster without an image. */
const strayFiles = ['golden-2019.qcow2', 'rescue.iso'].map(
  (name) => `${seedId(`image/${name}`)}/${seedId('cluster/hp-native-01')}`,
)

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

/** Reads rows from the store file beside the running service. */
function inFile<T>(app: TestApp, look: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(join(app.folder, 'world.sqlite'), { readOnly: true })
  try {
    return look(database)
  } finally {
    database.close()
  }
}

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
function nothingIsPending(app: TestApp): Faults {
  return inFile(app, (database) =>
    entityTables(database).flatMap((table) =>
      (database.prepare(`SELECT ext_id FROM ${table} WHERE published = 0`).all() as { ext_id: string }[]).map(
        (row) => `${table} ${row.ext_id}`,
      ),
    ),
  )
}

/** Counters of referrers equal a recount. */
const referencesAreCounted = (app: TestApp): readonly string[] =>
  inFile(app, (database) => miscounted(database, storeTables()))

/** Every declared reference has a source and a target. */
async function referencesNameSomething(app: TestApp): Promise<Faults> {
  const resources = new Map(contract.flatMap(({ resources }) => resources).map((resource) => [resource.kind, resource]))
  const rows = inFile(app, (database) => database.prepare('SELECT * FROM reference').all()) as {
    to_kind: string
    to_id: string
    from_kind: string
    from_id: string
    path: string
  }[]
  const faults: Faults = []
  for (const row of rows) {
    for (const [kind, extId] of [
      [row.to_kind, row.to_id],
      [row.from_kind, row.from_id],
    ] as const) {
      const resource = resources.get(kind)
      if (resource === undefined || resource.derived === true) continue
      if ((await app.store.get(resource, extId)) === undefined) {
        faults.push(
          `${row.from_kind} ${row.from_id} ${row.path} -> ${row.to_kind} ${row.to_id}: there is no ${kind} ${extId}`,
        )
      }
    }
  }
  return faults
}

/** Every fact of the simulated world belongs to an entity; VMs run on the hosts of their rows. */
async function factsHaveOwners(app: TestApp): Promise<Faults> {
  const faults: Faults = []
  const idsOf = async (kind: string): Promise<Set<string>> => {
    const resource = contract.flatMap(({ resources }) => resources).find((candidate) => candidate.kind === kind)
    const all = [...(await app.store.find(resource!)), ...(await heldElsewhere(app, kind))]
    return new Set(all.map(({ extId }) => extId as string))
  }
  const vms = [...(await app.store.find(Vm)), ...(await heldElsewhere(app, 'Vm'))]
  const nodes = await managerNodes(app)
  const owners: Readonly<Record<string, () => Promise<ReadonlySet<string>> | ReadonlySet<string>>> = {
    'blockStorage.disks': () => idsOf('VolumeDisk'),
    'blockStorage.targets': () => idsOf('VolumeGroup'),
    'content.files': async () =>
      new Set([
        ...strayFiles,
        ...[...(await app.store.find(Image)), ...(await heldElsewhere(app, 'Image'))].flatMap(
          ({ extId, clusterLocationExtIds = [] }) =>
            clusterLocationExtIds.map((cluster: string) => `${extId}/${cluster}`),
        ),
      ]),
    domains: async () => new Set([...(await idsOf('Vm')), ...nodes]),
    'extern.vms': () => idsOf('ExternVm'),
    'fabric.bgp-fault': () => idsOf('BgpSession'),
    'fabric.bgp-peer': () => idsOf('BgpSession'),
    'fabric.controller': () => idsOf('NetworkController'),
    'fabric.controller-fault': () => idsOf('NetworkController'),
    'fabric.dhcp': () => idsOf('Subnet'),
    'fabric.floating-ip': () => idsOf('FloatingIp'),
    'fabric.policy': () => idsOf('RoutingPolicy'),
    'fabric.router': () => idsOf('Vpc'),
    'fabric.subnet': () => idsOf('Subnet'),
    'hardware.bmcs': () => idsOf('Host'),
    'hardware.boots': () => idsOf('Host'),
    'hardware.clusters': () => idsOf('Cluster'),
    'hardware.containers': () => idsOf('StorageContainer'),
    'hardware.datastores': async () =>
      new Set(
        [...(await app.store.find(DataStore)), ...(await heldElsewhere(app, 'DataStore'))].map(
          ({ hostExtId, datastoreName }) => `${hostExtId}/${datastoreName}`,
        ),
      ),
    'hardware.downtimes': () => idsOf('Host'),
    'hardware.slowness': () => idsOf('Host'),
    virtualDisks: () =>
      new Set([
        ...vms.flatMap((vm) => [...filesOf(vm).flatMap(({ diskExtId }) => diskExtId ?? []), ...firmwareFilesOf(vm)]),
        ...nodes.map((node) => derivedId('manager disk', node)),
      ]),
  }
  // Facts that belong to no entity: content of servers, and faults.
  const free =
    /^(?:blockStorage\.guests|content\.(?:urls|faults)|directory\..*|extern\.(?:clusters|faults)|hardware\.(?:drives|faults)|objectStore\..*|remotes\..*|storage\.(?:full|stalls)|web\..*)$/
  for (const [collection, facts] of await factsById(app)) {
    if (free.test(collection)) continue
    const owner = owners[collection]
    if (owner === undefined) {
      faults.push(`nobody says who the facts of ${collection} belong to`)
      continue
    }
    const ids = await owner()
    const parents = new Set([...facts.values()].map((fact) => (fact as { parentExtId?: string }).parentExtId))
    for (const [id, fact] of facts) {
      // A deleted layer stays as long as others lie over it.
      const isUnder = (fact as { isHidden?: boolean }).isHidden === true && parents.has(id)
      if (!ids.has(id) && !isUnder) faults.push(`${collection} ${id} belongs to nothing`)
    }
    if (collection !== 'domains') continue
    for (const vm of vms) {
      const fact = facts.get(vm.extId) as { state?: string; hostExtId?: string; domain?: WithPorts } | undefined
      if (fact === undefined) faults.push(`"${vm.name}" has no domain`)
      // The state of a VM on a silent host is unknown.
      else if (vm.powerState !== 'UNDETERMINED' && (vm.powerState === 'OFF') !== (fact.state === 'OFF'))
        faults.push(`"${vm.name}" is ${vm.powerState}, its domain ${fact.state}`)
      else if (fact.state === 'ON' && vm.host?.extId !== fact.hostExtId)
        faults.push(`"${vm.name}" is on ${vm.host?.extId}, its domain on ${fact.hostExtId}`)
      if (portsIn(fact?.domain) !== portsIn(vm)) faults.push(`"${vm.name}" has other serial ports than its domain`)
    }
  }
  return faults
}

interface WithPorts {
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
