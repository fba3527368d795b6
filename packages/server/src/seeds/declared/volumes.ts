/** Described volume groups, with their disks and whoever uses them. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { VolumeGroupAttachment } from '@hyperplane/contract/volumes/attachment'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { seedId } from '../../domains/seed.ts'
import { fileOf } from '../../domains/vmm/vm/entity.ts'
import { type SeedVolumeGroup, seedIscsiClient, seedVolumeGroup } from '../../domains/volumes/seed.ts'
import type { DeclaredVolumeGroup } from '../format.ts'
import type { ClusterEntity, Filling } from './filling.ts'

const GiB = 1024 ** 3

export const fillVolumeGroups = (filling: Filling, groups: readonly DeclaredVolumeGroup[] | undefined): Promise<void> =>
  filling.each('volumeGroups', groups, async (item, path) => {
    const { ctx } = filling
    const { name, extId, description, sharingStatus, usageType, createdBy, disksGiB = [], fullPercent = 0 } = item
    const cluster = await clusterOf(filling, item, path)
    const own = {
      ...(description === undefined ? {} : { description }),
      ...(sharingStatus === undefined ? {} : { sharingStatus }),
      ...(usageType === undefined ? {} : { usageType }),
    }
    filling.judge(path, 'volumes.createVolumeGroup', { name, clusterReference: cluster.extId, ...own })
    const users = (item.vms ?? []).length + (item.iscsiClients ?? []).length
    if (users > 1 && sharingStatus !== 'SHARED')
      filling.refuse(path, `sharingStatus: expected SHARED for its ${users} users`)
    const container = await filling.container(cluster, item.container ?? 'default', `${path}.container`)
    const categoryIds = await filling.categories(item.categories, `${path}.categories`)
    await seedVolumeGroup(ctx, {
      name,
      key: extId ?? name,
      ...(extId === undefined ? {} : { extId }),
      clusterExtId: cluster.extId,
      containerExtId: container.extId,
      more: {
        ...own,
        ...(createdBy === undefined ? {} : { createdBy }),
        ...(categoryIds.length === 0 ? {} : { categoryIds }),
      },
      diskBytes: disksGiB.map((size) => size * GiB),
      fullPercent,
      vms: await vmsOf(filling, item, path, cluster),
      iscsiClients: await clientsOf(filling, item, cluster),
      nvmfClients: [],
    })
  })

/** The one that is named, else that of its first VM, else the only one. */
async function clusterOf(
  filling: Filling,
  { cluster, vms }: DeclaredVolumeGroup,
  path: string,
): Promise<ClusterEntity> {
  const [first] = vms ?? []
  if (cluster !== undefined || first === undefined) return filling.clusterOr(cluster, path)
  const vm = await filling.vm(first, `${path}.vms[0]`)
  return (await filling.ctx.store.get(Cluster, vm.cluster?.extId as string)) as ClusterEntity
}

/** Behind the disks that a VM has, and the groups that stand on its bus already. */
async function vmsOf(
  filling: Filling,
  { vms = [] }: DeclaredVolumeGroup,
  path: string,
  cluster: ClusterEntity,
): Promise<SeedVolumeGroup['vms']> {
  const found: { key: string; extId: string; scsiIndex: number }[] = []
  for (const [index, name] of vms.entries()) {
    const vm = await filling.vm(name, `${path}.vms[${index}]`)
    if (vm.cluster?.extId !== cluster.extId)
      filling.refuse(`${path}.vms[${index}]`, `expected a VM of the cluster ${cluster.name}; ${name} is on another one`)
    const taken = (vm.disks ?? []).flatMap((disk) =>
      disk.diskAddress?.busType === 'SCSI' && fileOf(disk) !== undefined ? (disk.diskAddress.index ?? []) : [],
    )
    const attached = await filling.ctx.store.findWhere(VolumeGroupAttachment, { vmExtId: vm.extId })
    const used = new Set([...taken, ...attached.flatMap(({ scsiIndex }) => scsiIndex ?? [])])
    let scsiIndex = 0
    while (used.has(scsiIndex)) scsiIndex++
    found.push({ key: name, extId: vm.extId, scsiIndex })
  }
  return found
}

/** Those of the cluster that are known by their names, and new ones. */
async function clientsOf(
  { ctx }: Filling,
  { iscsiClients = [] }: DeclaredVolumeGroup,
  cluster: ClusterEntity,
): Promise<SeedVolumeGroup['iscsiClients']> {
  const known = iscsiClients.length === 0 ? [] : await ctx.store.find(IscsiClient)
  const found: { key: string; extId: string }[] = []
  for (const iscsiInitiatorName of iscsiClients) {
    const client =
      known.find((each) => each.iscsiInitiatorName === iscsiInitiatorName && each.clusterReference === cluster.extId) ??
      (await seedIscsiClient(ctx, {
        extId: seedId(`iscsi-client/${cluster.name}/${iscsiInitiatorName}`),
        iscsiInitiatorName,
        clusterReference: cluster.extId,
      }))
    found.push({ key: iscsiInitiatorName, extId: client.extId })
  }
  return found
}
