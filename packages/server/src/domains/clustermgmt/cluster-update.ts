/** Updates the settings, then copies data in the background. Source: behaviour clustermgmt.md 1.1 (task shape), 1.2. */

import type { BodyOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Disk } from '@hyperplane/contract/clustermgmt/disk'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { defined } from '../../core/defined.ts'
import { sparselyUpdated } from '../../core/updates.ts'
import type { SecretReader } from '../../core/world.ts'
import type { ClusterSettings, SettingsChange } from '../../drivers/hardware.ts'
import type { Transaction } from '../../store/store.ts'
import { defineTask } from '../context.ts'
import { checkCluster } from '../registrations/reachability.ts'
import { requireFreeAddresses } from './cluster-addresses.ts'
import { requireFreeName } from './cluster-rules.ts'
import { clusterTask } from './cluster-task.ts'
import { recordCompliance } from './compliance.ts'
import { openSecrets } from './settings-sections.ts'

type Body = BodyOf<typeof Cluster>

interface Update {
  readonly clusterExtId: string
  readonly body: Body
  readonly change: SettingsChange
}

interface Copying {
  readonly clusterExtId: string
}

export const copyData = defineTask<Copying>({
  name: 'clustermgmt.copy-data',
  steps: [
    {
      name: 'copy data',
      seconds: [600, 1800],
      record: async (ctx, { clusterExtId }) => {
        const cluster = await ctx.store.get(Cluster, clusterExtId)
        if (cluster === undefined) return
        await ctx.store.observe(Cluster, clusterExtId, {
          achievedRedundancyFactor: cluster.config?.redundancyFactor ?? 2,
        })
      },
    },
  ],
})

export const updateCluster = defineTask<Update>({
  name: 'clustermgmt.update-cluster',
  steps: [
    checkCluster(({ clusterExtId }) => clusterExtId),
    {
      name: 'apply to the cluster',
      progress: 90,
      seconds: [1, 3],
      run: (ctx, { clusterExtId, change }) => ctx.drivers.hardware.writeSettings(clusterExtId, change, ctx.callKey),
      undo: (ctx, { clusterExtId }) => ctx.drivers.hardware.takeBackSettings(clusterExtId, ctx.callKey),
    },
    {
      name: 'record',
      record: async (ctx, { clusterExtId, body }) => {
        const stored = (await ctx.store.get(Cluster, clusterExtId)) as Cluster
        // Another cluster may have taken the name or an address since the request was accepted.
        await requireFreeAddresses(ctx.store, stored, body)
        if (body.name !== undefined) await requireFreeName(ctx.store, stored, body.name)
        const next = sparselyUpdated(stored, body, ['config', 'network'])
        const copies = next.config?.redundancyFactor
        const isCopying = copies !== (stored.config?.redundancyFactor ?? copies)
        const achievedRedundancyFactor = stored.achievedRedundancyFactor ?? stored.config?.redundancyFactor
        await ctx.store.replace(Cluster, { ...next, ...(isCopying && { achievedRedundancyFactor }) })
        if (next.name !== stored.name) await renameEverywhere(ctx.store, clusterExtId, next.name)
        // The monitor would report drift only at its next run.
        await recordCompliance(ctx, clusterExtId, ctx.outputs['apply to the cluster'] as ClusterSettings)
        if (!isCopying) return
        await ctx.startTask(
          copyData,
          { clusterExtId },
          {
            ...clusterTask('Update Cluster Redundancy', next),
            // Copying outlives this task, and later updates need not wait for it.
            locks: [],
            parent: ctx.taskExtId,
            background: true,
          },
        )
      },
    },
  ],
})

/** Plain secrets. An empty list of name servers or subnets becomes `null`. */
export function settingsChangeOf(secrets: SecretReader, clusterExtId: string, body: Body): SettingsChange {
  const opened = openSecrets(secrets, 'Cluster', clusterExtId, body)
  const { nameServerIpList, ntpServerIpList, ntpServerConfigList, smtpServer, nfsSubnetWhitelist, ...network } =
    opened.network ?? {}
  const { pulseStatus, ...config } = opened.config ?? {}
  const orNull = <T>(list: readonly T[]): readonly T[] | null => (list.length === 0 ? null : list)
  return {
    ...((ntpServerIpList ?? ntpServerConfigList) && {
      NTP_SERVER_CONFIG: defined({ ntpServerIpList, ntpServerConfigList }),
    }),
    ...(nameServerIpList && { NAME_SERVER_CONFIG: orNull(nameServerIpList) }),
    ...(smtpServer && { SMTP_SERVER_CONFIG: smtpServer }),
    ...(nfsSubnetWhitelist && { NFS_SUBNET_WHITELIST_CONFIG: orNull(nfsSubnetWhitelist) }),
    ...(pulseStatus && { PULSE_CONFIG: pulseStatus }),
    general: defined({ name: opened.name, ...network, ...config }),
  }
}

async function renameEverywhere(store: Transaction, clusterExtId: string, name: string): Promise<void> {
  for (const container of await store.findWhere(StorageContainer, { clusterExtId })) {
    await store.observe(StorageContainer, container.extId, { clusterName: name })
  }
  for (const disk of await store.findWhere(Disk, { clusterExtId }))
    await store.observe(Disk, disk.extId, { clusterName: name })
  for (const host of await store.findWhere(Host, { 'cluster/uuid': clusterExtId })) {
    await store.observe(Host, host.extId, { cluster: { ...host.cluster, name } })
  }
}
