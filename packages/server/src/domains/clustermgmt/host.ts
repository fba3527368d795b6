/** Source: behaviour clustermgmt.md 1.4. */
import { BmcInfo } from '@hyperplane/contract/clustermgmt/bmc-info'
import { Disk } from '@hyperplane/contract/clustermgmt/disk'
import { Host, hostOperations } from '@hyperplane/contract/clustermgmt/host'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { Derivation } from '../../core/derivation.ts'
import { pathOf } from '../../core/standard.ts'
import { and, anyOf, equals } from '../../odata/index.ts'
import { implement, type ReadContext } from '../context.ts'
import type { DiskRow } from '../storage-space/disks.ts'
import { observeHosts } from './observe-hosts.ts'

export const host = implement(hostOperations, {}, { present: [[Host, withLoad]], schedules: [observeHosts] })

async function withLoad(ctx: ReadContext, hosts: readonly Host[]): Promise<readonly Host[]> {
  // With `$apply` or `$select` the rows may have no extId.
  if (hosts.some(({ extId }) => extId === undefined)) return hosts
  const shown: Host[] = []
  const disks = await disksOf(ctx, hosts)
  for (const host of hosts) {
    const bmc = await ctx.store.get(BmcInfo, host.extId)
    const running = and(equals(pathOf(Vm, 'host/extId'), host.extId), equals(pathOf(Vm, 'powerState'), 'ON'))
    const numberOfVms = await ctx.store.count(Vm, { filter: running })
    const own = disks.get(host.extId) ?? []
    shown.push(loaded.of(host, [bmc, numberOfVms, ...own], () => hostWith(host, bmc, numberOfVms, own)))
  }
  return shown
}

const loaded = new Derivation<Host, Host>()

function hostWith(host: Host, bmc: BmcInfo | undefined, numberOfVms: number, disks: readonly DiskRow[]): Host {
  return {
    ...host,
    hypervisor: { ...host.hypervisor, numberOfVms },
    disk: disks.map(referenceOf),
    ...(bmc && { ipmi: { ip: bmc.ipAddress, username: bmc.credential?.username } }),
  }
}

/** One query for a page of hosts; ordered by slot. */
async function disksOf(
  { store }: ReadContext,
  hosts: readonly Host[],
): Promise<ReadonlyMap<string | undefined, readonly DiskRow[]>> {
  const filter = anyOf(
    pathOf(Disk, 'nodeExtId'),
    hosts.map(({ extId }) => extId),
  )
  const disks = (await store.find(Disk, { filter })).toSorted((a, b) => (a.location ?? 0) - (b.location ?? 0))
  return Map.groupBy(disks, ({ nodeExtId }) => nodeExtId)
}

const tiers = {
  SSD_PCIE: 'PCIE_SSD',
  SSD_MEM_NVME: 'PCIE_SSD',
  SSD_SATA: 'SATA_SSD',
  DAS_SATA: 'HDD',
  CLOUD: undefined,
} as const

const referenceOf = (disk: DiskRow): NonNullable<Host['disk']>[number] => ({
  uuid: disk.extId,
  mountPath: disk.mountPath,
  serialId: disk.serialNumber,
  sizeInBytes: disk.diskSizeBytes,
  storageTier: tiers[disk.storageTier ?? 'CLOUD'],
})
