/**
 * What a cluster brings along when it is registered, and takes along when it leaves: its rows in every namespace, without
 * what belongs to this manager (categories, owners, profile). One line a kind.
 * Source: behaviour platform.md 4 (register, unregister).
 */

import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { AddressLease, AddressRun, AddressTally } from '@hyperplane/contract/networking/address-lease'
import { AwsSubnet } from '@hyperplane/contract/networking/aws-subnet'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { Image } from '@hyperplane/contract/vmm/image'
import { Vm } from '@hyperplane/contract/vmm/vm'
import { VolumeGroupAttachment } from '@hyperplane/contract/volumes/attachment'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { pathOf } from '../../core/standard.ts'
import type { InventoryRow } from '../../drivers/remote-managers.ts'
import { equals } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { HostAllocation } from '../scheduling/host-allocation.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'
import { PowerEvent } from '../virtual-machines/power-journal.ts'

interface Part {
  readonly resource: AnyResource
  /** Path of the id by which it belongs to the cluster, or to a row of `partOf`. */
  readonly by: string
  readonly partOf?: AnyResource
  /** Fields that stay with this manager. */
  readonly without?: readonly string[]
}

/** What is part of another comes behind it. */
const parts: readonly Part[] = [
  { resource: Cluster, by: 'extId', without: ['categories', 'clusterProfileExtId', 'compliance'] },
  { resource: Host, by: 'cluster/uuid', without: ['categories'] },
  { resource: BmcInfo, by: 'clusterExtId' },
  { resource: StorageContainer, by: 'clusterExtId', without: ['ownerExtId'] },
  { resource: DataStore, by: 'clusterExtId' },
  { resource: VirtualSwitch, by: 'clusterExtId', without: ['metadata'] },
  { resource: Subnet, by: 'clusterReference', without: ['metadata'] },
  { resource: AddressLease, by: 'subnetExtId', partOf: Subnet },
  { resource: AddressRun, by: 'subnetExtId', partOf: Subnet },
  { resource: AddressTally, by: 'extId', partOf: Subnet },
  { resource: AwsSubnet, by: 'clusterExtId' },
  { resource: Vm, by: 'cluster/extId', without: ['categories', 'ownershipInfo'] },
  { resource: MacLease, by: 'vmExtId', partOf: Vm },
  { resource: HostAllocation, by: 'clusterExtId' },
  { resource: PowerEvent, by: 'vmExtId', partOf: Vm },
  { resource: ExternVm, by: 'cluster/extId', without: ['categories', 'ownershipInfo'] },
  { resource: VolumeGroup, by: 'clusterReference', without: ['metadata'] },
  { resource: VolumeDisk, by: 'volumeGroupExtId', partOf: VolumeGroup },
  { resource: VolumeGroupAttachment, by: 'volumeGroupExtId', partOf: VolumeGroup },
  { resource: IscsiClient, by: 'clusterReference' },
  { resource: NvmfClient, by: 'clusterReference' },
]

/** Images belong to the manager and lie on clusters: one that lies nowhere else goes along. */
const imagePart = {
  resource: Image,
  by: 'clusterLocationExtIds',
  without: ['categoryExtIds', 'ownerExtId'],
} satisfies Part

const resourceOf = new Map([...parts, imagePart].map(({ resource }) => [resource.kind, resource as AnyResource]))

/** Kinds of which rows go with their cluster. */
export const inventoryKinds: ReadonlySet<string> = new Set(resourceOf.keys())

interface Found {
  readonly part: Part
  readonly entity: { readonly extId: string; readonly [field: string]: unknown }
}

/** Every row of the cluster, in the order of the parts. */
export async function rowsOf(store: Reader, clusterExtId: string): Promise<readonly Found[]> {
  const found: Found[] = []
  for (const part of parts) {
    const owners =
      part.partOf === undefined
        ? [clusterExtId]
        : found.filter((one) => one.part.resource === part.partOf).map(({ entity }) => entity.extId)
    for (const owner of owners) {
      for (const entity of await rowsBy(store, part, owner)) found.push({ part, entity: entity as Found['entity'] })
    }
  }
  return found
}

async function rowsBy(store: Reader, { resource, by }: Part, owner: string): Promise<EntityOf<AnyResource>[]> {
  if (by === 'extId') {
    const entity = await store.get(resource, owner)
    return entity === undefined ? [] : [entity]
  }
  return store.find(resource, { filter: equals(pathOf(resource, by), owner) })
}

/** Takes the rows of a cluster out of the store. @returns what the cluster keeps of them */
export async function takeOut(store: Transaction, clusterExtId: string): Promise<readonly InventoryRow[]> {
  const rows = await rowsOf(store, clusterExtId)
  const images = await imagesOn(store, clusterExtId)
  for (const { extId, clusterLocationExtIds = [] } of images) {
    const elsewhere = clusterLocationExtIds.filter((location) => location !== clusterExtId)
    if (elsewhere.length === 0) await store.remove(Image, extId)
    else await store.update(Image, extId, { clusterLocationExtIds: elsewhere })
  }
  for (const { part, entity } of rows.toReversed()) await store.remove(part.resource, entity.extId)
  const alone = images.map((image) => ({ ...image, clusterLocationExtIds: [clusterExtId] }))
  return [
    ...rows.map(({ part, entity }) => ({ kind: part.resource.kind, entity: outward(part, entity) })),
    ...alone.map((entity) => ({ kind: Image.kind, entity: outward(imagePart, entity) })),
  ]
}

/** Puts the rows of a cluster into the store, with the ids that they had. */
export async function bringIn(
  store: Transaction,
  rows: readonly InventoryRow[],
  { tenantId, ownerExtId }: { readonly tenantId: string; readonly ownerExtId: string },
): Promise<void> {
  for (const { kind, entity } of rows) {
    const known = kind === Image.kind ? await store.get(Image, entity.extId) : undefined
    if (known !== undefined) {
      // Other clusters hold it as well.
      const locations = [known.clusterLocationExtIds, entity['clusterLocationExtIds']].flat() as string[]
      await store.update(Image, known.extId, { clusterLocationExtIds: [...new Set(locations)] })
      continue
    }
    const resource = resourceOf.get(kind)
    if (resource === undefined) throw new Error(`no cluster brings rows of ${kind}`)
    const owned = kind === Vm.kind || kind === ExternVm.kind ? { ownershipInfo: { owner: { extId: ownerExtId } } } : {}
    await store.insert(resource, { ...entity, tenantId, ...owned })
  }
}

export const imagesOn = (store: Reader, clusterExtId: string): Promise<EntityOf<typeof Image>[]> =>
  store.find(Image, { filter: equals(pathOf(Image, 'clusterLocationExtIds'), clusterExtId) })

function outward({ without = [] }: Part, entity: Found['entity']): InventoryRow['entity'] {
  const dropped = new Set([...without, 'tenantId'])
  const kept = Object.entries(entity).filter(([name]) => !dropped.has(name))
  return Object.fromEntries(kept) as InventoryRow['entity']
}
