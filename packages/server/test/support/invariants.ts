/**
 * What is true of every world in which nothing runs, whatever happened to it before: for tests that kill, fail, cancel or
 * overload. Source: behaviour conventions 18, 23 (invariants).
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { contract } from '@hyperplane/contract'
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { AddressLease, AddressTally } from '@hyperplane/contract/networking/address-lease'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Task } from '@hyperplane/contract/platform/task'
import { Image } from '@hyperplane/contract/vmm/image'
import { Vm } from '@hyperplane/contract/vmm/vm'
import { VolumeGroupAttachment } from '@hyperplane/contract/volumes/attachment'
import { nameId } from '../../src/domains/platform/name-id.ts'
import { seedId } from '../../src/domains/seed.ts'
import { heldMemoryBytes } from '../../src/domains/vmm/placement.ts'
import { vcpusOf } from '../../src/domains/vmm/power-journal.ts'
import { HostAllocation, MacLease } from '../../src/domains/vmm/records.ts'
import { filesOf, firmwareFilesOf } from '../../src/domains/vmm/vm/entity.ts'
import type { InventoryRow } from '../../src/drivers/remote-managers.ts'
import { factsById } from './facts.ts'
import type { TestApp } from './start-app.ts'
import { recount } from './subnets.ts'

type Faults = string[]

/** What clusters hold that are in the world and not registered, of one kind. */
async function heldElsewhere(app: TestApp, kind: string): Promise<any[]> {
  const inventories = (await factsById(app)).get('remotes.inventories')?.values() ?? []
  return [...inventories]
    .flatMap((rows) => rows as InventoryRow[])
    .flatMap((row) => (row.kind === kind ? row.entity : []))
}

/** Managers run on hosts as well: those carry their nodes, no list shows them. */
const managerNodes = async (app: TestApp): Promise<string[]> =>
  (await app.store.find(DomainManager)).flatMap(({ nodeExtIds = [] }) => nodeExtIds)

/** Files that the demo's cluster holds from before: no image stands for them. */
const strayFiles = ['golden-2019.qcow2', 'rescue.iso'].map(
  (name) => `${seedId(`image/${name}`)}/${seedId('cluster/hp-native-01')}`,
)

/** @throws AssertionError that lists all that does not hold */
export async function checkInvariants(app: TestApp): Promise<void> {
  await app.runner.idle()
  const rules = [
    tasksAreWhole,
    nothingIsPending,
    referencesNameSomething,
    referencesAreCounted,
    addressesAreHeld,
    macsAreHeld,
    loadsAreThoseOfVms,
    attachmentsAreWhole,
    factsHaveOwners,
  ]
  const faults: string[] = []
  for (const rule of rules) for (const fault of await rule(app)) faults.push(`${rule.name}: ${fault}`)
  assert.deepEqual(faults, [])
  await recount(app)
}

/** Every task has ended, as its state says. */
async function tasksAreWhole(app: TestApp): Promise<Faults> {
  const faults: Faults = []
  const all = await app.store.find(Task)
  const known = new Map(all.map((task) => [task.extId, task]))
  for (const task of all) {
    const say = (fault: string): number => faults.push(`${task.operation} ${task.extId}: ${fault}`)
    const { status = '', progressPercentage = 0, errorMessages = [] } = task
    if (!['SUCCEEDED', 'FAILED', 'CANCELED'].includes(status)) say(`is ${status}`)
    if ((status === 'SUCCEEDED') !== (progressPercentage === 100)) say(`is ${status} at ${progressPercentage} %`)
    if (status !== 'SUCCEEDED' && errorMessages.length === 0) say(`is ${status} without a message`)
    if (task.completedTime === undefined) say('has no end')
    if (task.isCancelable === true) say('can be cancelled')
    for (const { extId } of task.subTasks ?? []) if (!known.has(extId as string)) say(`its part ${extId} is not there`)
  }
  return faults
}

/** Rows as they lie in the file, beside the running service. */
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

/** No row is half made. */
function nothingIsPending(app: TestApp): Faults {
  return inFile(app, (database) =>
    entityTables(database).flatMap((table) =>
      (database.prepare(`SELECT ext_id FROM ${table} WHERE published = 0`).all() as { ext_id: string }[]).map(
        (row) => `${table} ${row.ext_id}`,
      ),
    ),
  )
}

/** What is kept of how many name one is what a recount finds. */
function referencesAreCounted(app: TestApp): Faults {
  const counted = contract.flatMap(({ resources }) => resources).filter((resource) => resource.counted === true)
  const kinds = [...new Set(counted.map(({ kind }) => `'${kind}'`))].join()
  const recounted = `SELECT to_kind, to_id, from_kind, COUNT(DISTINCT from_id),
    COUNT(DISTINCT CASE WHEN published = 1 THEN from_id END)
    FROM reference WHERE to_kind IN (${kinds}) GROUP BY 1, 2, 3`
  const kept = 'SELECT * FROM referrer_count'
  const wrong = `SELECT * FROM (${kept} EXCEPT ${recounted}) UNION SELECT * FROM (${recounted} EXCEPT ${kept})`
  return inFile(app, (database) => database.prepare(wrong).all()).map((row) => Object.values(row).join(' '))
}

/** Every declared reference leads to an entity, and comes from one. */
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

/** Leases are those of subnets, and held by what is there; NICs hold the addresses that they show. */
async function addressesAreHeld(app: TestApp): Promise<Faults> {
  const faults: Faults = []
  const subnets = new Set((await app.store.find(Subnet)).map(({ extId }) => extId))
  const holders = new Set([...subnets, ...(await app.store.find(DomainManager)).map(({ extId }) => extId as string)])
  for (const resource of contract.find(({ name }) => name === 'networking')!.resources) {
    if (resource.derived !== true) for (const { extId } of await app.store.find(resource)) holders.add(extId as string)
  }
  for (const vm of await app.store.find(Vm)) for (const nic of vm.nics ?? []) holders.add(nic.extId as string)
  const held = new Set<string>()
  for (const lease of await app.store.find(AddressLease)) {
    held.add(`${lease.holderExtId} ${lease.subnetExtId}`)
    if (!subnets.has(lease.subnetExtId!)) faults.push(`lease ${lease.extId} is of a subnet that is not there`)
    if (lease.holderExtId !== undefined && !holders.has(lease.holderExtId)) {
      faults.push(`lease ${lease.extId} (${lease.kind}) is held by ${lease.holderExtId}, which is not there`)
    }
  }
  for (const { extId } of await app.store.find(AddressTally)) {
    if (!subnets.has(extId)) faults.push(`tally of the subnet ${extId}, which is not there`)
  }
  for (const vm of await app.store.find(Vm)) {
    for (const nic of vm.nics ?? []) {
      const network = nic.networkInfo as
        | { subnet?: { extId?: string }; ipv4Config?: { ipAddress?: object } }
        | undefined
      if (network?.ipv4Config?.ipAddress === undefined) continue
      if (!held.has(`${nic.extId} ${network.subnet?.extId}`))
        faults.push(`NIC ${nic.extId} of "${vm.name}" shows an address without a lease`)
    }
  }
  return faults
}

async function macsAreHeld(app: TestApp): Promise<Faults> {
  const expected = (await app.store.find(Vm)).flatMap((vm) =>
    (vm.nics ?? []).map(
      (nic) =>
        `${(nic.backingInfo as { macAddress?: string } | undefined)?.macAddress} ${nic.extId} ${vm.extId} ${nic.networkInfo?.subnet?.extId}`,
    ),
  )
  const found = (await app.store.find(MacLease)).map(
    ({ macAddress, nicExtId, vmExtId, subnetExtId }) => `${macAddress} ${nicExtId} ${vmExtId} ${subnetExtId}`,
  )
  return differences(found, expected)
}

/** A host holds exactly what its VMs that are on take. */
async function loadsAreThoseOfVms(app: TestApp): Promise<Faults> {
  const on = (await app.store.find(Vm)).filter((vm) => vm.host !== undefined)
  const expected = on.map(
    (vm) => `${vm.extId} on ${vm.host?.extId}: ${heldMemoryBytes(vm)} bytes, ${vcpusOf(vm)} vCPUs`,
  )
  const nodes = await managerNodes(app)
  const found = (await app.store.find(HostAllocation))
    .filter(({ vmExtId }) => !nodes.includes(vmExtId))
    .map((held) => `${held.vmExtId} on ${held.hostExtId}: ${held.memoryBytes} bytes, ${held.vcpus} vCPUs`)
  return differences(found, expected)
}

/** An attachment has a group and one consumer; which of them are there, the references say. */
async function attachmentsAreWhole(app: TestApp): Promise<Faults> {
  const faults: Faults = []
  for (const attachment of await app.store.find(VolumeGroupAttachment)) {
    const consumers = [attachment.vmExtId, attachment.iscsiClientExtId, attachment.nvmfClientExtId].filter(
      (extId) => extId !== undefined,
    )
    if (consumers.length !== 1) faults.push(`attachment ${attachment.extId} has ${consumers.length} consumers`)
    if ((attachment.vmExtId !== undefined) !== (attachment.scsiIndex !== undefined))
      faults.push(`attachment ${attachment.extId} has a wrong place`)
  }
  return faults
}

/** The outside holds nothing that no entity stands for; VMs run where their rows say. */
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
    'fabric.dhcp': () => idsOf('Subnet'),
    'fabric.subnet': () => idsOf('Subnet'),
    'hardware.bmcs': () => idsOf('Host'),
    'hardware.clusters': () => idsOf('Cluster'),
    'hardware.containers': () => idsOf('StorageContainer'),
    'hardware.datastores': async () =>
      new Set(
        [...(await app.store.find(DataStore)), ...(await heldElsewhere(app, 'DataStore'))].map(
          ({ hostExtId, datastoreName }) => `${hostExtId}/${datastoreName}`,
        ),
      ),
    virtualDisks: () =>
      new Set([
        ...vms.flatMap((vm) => [...filesOf(vm).flatMap(({ diskExtId }) => diskExtId ?? []), ...firmwareFilesOf(vm)]),
        ...nodes.map((node) => nameId('manager disk', node)),
      ]),
  }
  // Facts about the world outside that nobody asked for: what servers offer, and what is wrong.
  const free =
    /^(?:blockStorage\.guests|content\.(?:urls|faults)|directory\..*|extern\.(?:clusters|faults)|hardware\.faults|objectStore\..*|remotes\..*|storage\.stalls)$/
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
      const fact = facts.get(vm.extId) as { state?: string; hostExtId?: string } | undefined
      if (fact === undefined) faults.push(`"${vm.name}" has no domain`)
      else if ((vm.powerState === 'ON') !== (fact.state === 'ON'))
        faults.push(`"${vm.name}" is ${vm.powerState}, its domain ${fact.state}`)
      else if (fact.state === 'ON' && vm.host?.extId !== fact.hostExtId)
        faults.push(`"${vm.name}" is on ${vm.host?.extId}, its domain on ${fact.hostExtId}`)
    }
  }
  return faults
}

/** What one list has and the other has not, each as often as it stands there. */
export function differences(found: readonly string[], expected: readonly string[]): Faults {
  const counts = new Map<string, number>()
  for (const item of expected) counts.set(item, (counts.get(item) ?? 0) - 1)
  for (const item of found) counts.set(item, (counts.get(item) ?? 0) + 1)
  return [...counts]
    .filter(([, count]) => count !== 0)
    .map(([item, count]) => `${count < 0 ? 'missing' : 'too much'}: ${item}`)
}
