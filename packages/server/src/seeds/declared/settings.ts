import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ClusterProfile } from '@hyperplane/contract/clustermgmt/cluster-profile'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { ExternalStorage } from '@hyperplane/contract/platform/external-storage'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { writeAddress } from '../../core/ip-address.ts'
import { sparselyUpdated } from '../../core/updates.ts'
import { recordCompliance } from '../../domains/clustermgmt/compliance.ts'
import { inClusterRow } from '../../domains/clustermgmt/settings-sections.ts'
import { withDigests } from '../../drivers/hardware.ts'
import type { ClusterFact } from '../../drivers/simulated/hardware.ts'
import { placeSettings } from '../demo/clusters.ts'
import type { Declared } from '../format.ts'
import { addressIn, bodyOf } from '../readable.ts'
import { withRandomKeys } from './clusters.ts'
import type { ClusterEntity, Filling } from './filling.ts'

const GiB = 1024 ** 3

export const fillExternalStorages = (filling: Filling, storages: Declared['externalStorages']): Promise<void> =>
  filling.each('externalStorages', storages, async (item, path) => {
    const { name, extId = seedId(`external-storage/${name}`), providerType, totalCapacityGiB, address } = item
    const place = address === undefined ? {} : { address: writeAddress(addressIn(address, `${path}.address`, filling)) }
    const isFlashArray = providerType === 'PURE_STORAGE_FLASHARRAY'
    const foreign = isFlashArray ? 'storagePool' : 'pod'
    if (item[foreign] !== undefined)
      filling.refuse(`${path}.${foreign}`, `expected only of another provider than ${providerType}`)
    const idOf = (what: string): string => seedId(`external-storage/${name}/${what}`)
    const config = isFlashArray
      ? {
          $objectType: 'platform.v4.config.PureStorageFlashArrayConfig',
          ...place,
          id: idOf('array'),
          ...defined({ pod: item.pod && { ...item.pod, podId: idOf('pod') } }),
        }
      : {
          $objectType: 'platform.v4.config.DellPowerflexConfig',
          ...place,
          systemId: idOf('system'),
          ...defined({ storagePool: item.storagePool && { ...item.storagePool, storagePoolId: idOf('pool') } }),
        }
    await filling.ctx.store.insert(ExternalStorage, {
      extId,
      tenantId: filling.ctx.tenantId,
      name,
      providerType,
      config,
      totalCapacityBytes: totalCapacityGiB * GiB,
    })
  })

export const fillProfiles = (filling: Filling, profiles: Declared['clusterProfiles']): Promise<void> =>
  filling.each('clusterProfiles', profiles, async (item, path) => {
    const { name, clusters = [], count: _, ...fields } = item
    const extId = item.extId ?? seedId(`cluster-profile/${name}`)
    const [written, members] = await filling.all([
      () => bodyOf(ClusterProfile.schema.fields, { ...fields, extId: undefined }, path, filling),
      () => filling.all(clusters.map((one, index) => () => filling.cluster(one, `${path}.clusters[${index}]`))),
    ])
    await filling.perform(path, 'clustermgmt.createClusterProfile', {
      called: `cluster-profile/${name}`,
      extId,
      body: { ...withRandomKeys(written, filling), name },
    })
    if (members.length === 0) return
    await filling.perform(`${path}.clusters`, 'clustermgmt.applyClusterProfile', {
      called: `cluster-profile/${name}/clusters`,
      path: { extId },
      body: { clusters: members.map((one) => ({ uuid: one.extId })) },
    })
    filling.forget()
    for (const { extId: member } of members) await reapplySettings(filling, member)
  })

/** Such settings count as changed after the profile was applied: the cluster may have drifted. */
async function reapplySettings({ ctx, settings }: Filling, clusterExtId: string): Promise<void> {
  const own = settings.get(clusterExtId)
  if (own === undefined) return
  const facts = ctx.world.collection<ClusterFact>('hardware.clusters')
  const set = { ...facts.get(clusterExtId)?.settings, ...own }
  await placeSettings(ctx, clusterExtId, set, 'set back')
  const actual = withDigests(clusterExtId, set)
  const cluster = (await ctx.store.get(Cluster, clusterExtId)) as ClusterEntity
  await ctx.store.replace(Cluster, sparselyUpdated(cluster, inClusterRow(own), ['config', 'network']))
  const { secrets } = ctx.machinery
  await recordCompliance({ store: ctx.store, clock: ctx.clock, secrets }, clusterExtId, actual)
}

export const fillSwitches = (filling: Filling, switches: Declared['virtualSwitches']): Promise<void> =>
  filling.each('virtualSwitches', switches, async (item, path) => {
    const { name, description, hostNics, cluster: _, count: __, extId, ...fields } = item
    const cluster = await filling.clusterOr(item.cluster, path)
    const hosts = await filling.ctx.store.findWhere(Host, { 'cluster/uuid': cluster.extId })
    const present = await filling.ctx.store.findWhere(VirtualSwitch, { clusterExtId: cluster.extId })
    const taken = new Map(
      present.flatMap((each) => (each.uplinks ?? []).map((uplink) => [uplink.split('/')[1], each.name] as const)),
    )
    for (const [index, nic] of hostNics.entries())
      if (taken.has(nic))
        filling.refuse(`${path}.hostNics[${index}]`, `${nic} is an uplink of ${taken.get(nic)} already`)
    const more = await bodyOf(VirtualSwitch.schema.fields, fields, path, filling)
    const called = `virtual-switch/${cluster.name}/${name}`
    await filling.perform(path, 'networking.createVirtualSwitch', {
      called,
      extId,
      // VMs of a new world need not leave their hosts.
      body: {
        ...more,
        isQuickMode: true,
        ...defined({ description }),
        name,
        clusters: [
          { extId: cluster.extId, hosts: hosts.map((host) => ({ extId: host.extId, hostNics: [...hostNics] })) },
        ],
      },
    })
    const { isQuickMode = false } = item
    await filling.ctx.store.observe(VirtualSwitch, extId ?? seedId(called), { isQuickMode })
  })
